#!/bin/sh
# Runs one daemon of Octet until it is done: a daemon that dies is started again, one that refuses its options, its
# configuration or its files (exit codes 2 and 3) is not. SIGTERM ends it, and so does the end of this program.
# usage: octet_keep.sh EXIT_FILE PROGRAM [ARGUMENT...]     the last exit code is written to EXIT_FILE ("-": nowhere)
exit_file=$1
shift
pid=
stopping=
deaths=0

# finish CODE
finish() {
    if [ "$exit_file" != - ]; then
        echo "$1" >"$exit_file.new" && mv "$exit_file.new" "$exit_file"
    fi
    exit "$1"
}

# shellcheck disable=SC2317 # by a trap
stop() {
    stopping=1
    [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null
}
trap stop TERM INT HUP

while [ -z "$stopping" ]; do
    begun=$(date +%s)
    "$@" --follow-parent $$ &
    pid=$!
    [ -z "$stopping" ] || kill -TERM "$pid" 2>/dev/null
    wait "$pid"
    code=$?
    # A signal ends a wait before the daemon does; what the daemon said is known to the next wait.
    while [ -n "$stopping" ] && [ "$code" -gt 128 ]; do
        last=$code
        wait "$pid" 2>/dev/null
        code=$?
        if [ "$code" -eq 127 ]; then
            code=$last
            break
        fi
        [ "$code" -ne "$last" ] || kill -0 "$pid" 2>/dev/null || break
    done
    pid=
    case "$code" in
    0 | 2 | 3 | 126 | 127) finish "$code" ;;
    esac
    [ -z "$stopping" ] || finish "$code"
    [ $(($(date +%s) - begun)) -lt 60 ] || deaths=0
    deaths=$((deaths + 1))
    echo "octet_keep: $1 died (exit code $code), $deaths times in short order" >&2
    [ "$deaths" -lt 10 ] || finish "$code"
    sleep 1 &
    wait $!
done
finish 0
