#!/bin/sh
# Runs one daemon of Octet until it is done: a daemon that dies is started again, one that refuses its options, its
# configuration or its files (exit codes 2 and 3), or whose learner has ended (5), is not. What time can heal (1), such as a wrong
# clock, is tried again for any time, after a minute at most; ten other deaths in a short time are the end. SIGTERM ends it, and so
# does the end of this program. OCTET_RESTARTS of the daemon's environment: how often it was started again.
# usage: octet_keep.sh FOLDER/NAME PROGRAM [ARGUMENT...]   FOLDER/pid/NAME gets this program's process and the daemon's,
#        octet_keep.sh - PROGRAM [ARGUMENT...]             FOLDER/exit/NAME the last exit code; "-": nothing is written
# octet_ssh.sh and octet_slurm.sh read this file for its first functions, with OCTET_KEEP_IS_READ set.

# has_links FOLDER: of a run folder, which may be another person's: no log is appended through a link, and no pipe is waited for.
# odd is the first link or pipe.
has_links() {
    odd=$(find "$1/" -mindepth 1 \( -type l ! -name .plan -o -type p \) -print -quit 2>/dev/null)
    [ -n "$odd" ]
}

# may_restart CODE SECONDS: after a program that ran for these seconds has exited with that code. pause is the time to wait before.
deaths=0
longer=1
may_restart() {
    case "$1" in
    0 | 2 | 3 | 5 | 126 | 127) return 1 ;;
    esac
    [ "$2" -lt 60 ] || deaths=0 longer=1
    if [ "$1" -eq 1 ]; then
        pause=$longer
        [ "$((longer *= 2))" -le 60 ] || longer=60
        report "died (exit code 1), and starts again in $pause s"
    else
        deaths=$((deaths + 1))
        pause=1
        report "died (exit code $1), $deaths times in a short time"
        [ "$deaths" -lt 10 ]
    fi
}
[ -z "${OCTET_KEEP_IS_READ-}" ] || return 0

record=$1
shift
program=$1
pid=
stopping=
export OCTET_RESTARTS=0

report() {
    echo "octet_keep: $program $*" >&2
}

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
    if [ -n "$stopping" ] || ! may_restart "$code" $(($(date +%s) - begun)); then
        finish "$code"
    fi
    OCTET_RESTARTS=$((OCTET_RESTARTS + 1))
    rest "$pause"
done
finish "$code"
