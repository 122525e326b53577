#!/bin/sh
# Runs one daemon of Octet until it is done: a daemon that dies is started again, one that refuses its options, its
# configuration or its files (exit codes 2 and 3), or whose learner has ended (5), is not. What time can heal (1), such as a wrong
# clock, is tried again for any time, after a minute at most; ten other deaths in a short time are the end. SIGTERM ends it, and so
# does the end of this program. OCTET_RESTARTS of the daemon's environment: how often it was started again.
# usage: octet_keep.sh FOLDER/NAME PROGRAM [ARGUMENT...]   FOLDER/pid/NAME gets this program's process and the daemon's,
#        octet_keep.sh - PROGRAM [ARGUMENT...]             FOLDER/exit/NAME the last exit code; "-": nothing is written
record=$1
shift
pid=
stopping=
deaths=0
pause=1
export OCTET_RESTARTS=0

# note WHAT TEXT: of this daemon, in FOLDER/WHAT/NAME.
note() {
    [ "$record" != - ] || return 0
    file=${record%/*}/$1/${record##*/}
    echo "$2" >"$file.new" && mv "$file.new" "$file"
}

# finish CODE
finish() {
    note exit "$1"
    exit "$1"
}

# shellcheck disable=SC2317 # by a trap
stop() {
    stopping=1
    [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null
}

# rest SECONDS: or until it is stopped.
rest() {
    sleep "$1" &
    wait $!
    kill $! 2>/dev/null
}
trap stop TERM INT HUP

code=143 # of a daemon that was stopped before it began
while [ -z "$stopping" ]; do
    begun=$(date +%s)
    "$@" --follow-parent $$ &
    pid=$!
    note pid "$$ $pid"
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
    0 | 2 | 3 | 5 | 126 | 127) finish "$code" ;;
    esac
    [ -z "$stopping" ] || finish "$code"
    [ $(($(date +%s) - begun)) -lt 60 ] || deaths=0 pause=1
    OCTET_RESTARTS=$((OCTET_RESTARTS + 1))
    if [ "$code" -eq 1 ]; then
        echo "octet_keep: $1 died (exit code 1), and starts again in $pause s" >&2
        rest "$pause"
        [ "$((pause *= 2))" -le 60 ] || pause=60
    else
        deaths=$((deaths + 1))
        echo "octet_keep: $1 died (exit code $code), $deaths times in a short time" >&2
        [ "$deaths" -lt 10 ] || finish "$code"
        rest 1
    fi
done
finish "$code"
