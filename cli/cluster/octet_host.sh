#!/bin/sh
# The part of octet cluster ssh that runs on each host. Plain sh: nothing but coreutils is needed there.
# usage: octet_host.sh COMMAND FOLDER OWNER [ARGUMENT]
#        check MIB        makes FOLDER; fails with a reason where there is no room for so much, or where another's run or daemons are
#        saved            prints the time of the newest checkpoint of FOLDER/run, if there is one
#        ready [PROGRAM]  fails with a reason where the programs do not run, or this one as well
#        start            starts what FOLDER/daemons.sh names, under systemd-run --user where that works
#        follow [NAME...] prints what the daemons log, and the exit code of each that has ended, or "lost"; until one of these
#                         has ended, or all, or nobody reads
#        stop             ends all that was started in FOLDER; as long as something changes in FOLDER/run, a daemon saves, and is
#                         waited for
#        holds            prints which of log and run have something to collect
#        remove           removes FOLDER
#        tidy             removes it unless it is another's, or is used or has a run that nobody has collected: prints "kept"
# OWNER is "WORD HOST:RUN_DIR": a word that the run folder has, and where that is, for people. A FOLDER that another check has taken
# since is left as it is.
# FOLDER is below the home unless it begins with a slash. In it: .owner, bin/, certs/, run/, run.new/ whose files take the place of those in
# run/ at a start, once all of them are there, the names of what was started last in
# started, stopped once that was ended, and of each daemon log/, pid/, exit/ and seen/NAME.
# Environment: OCTET_STOP_S: seconds without a change in run/ until stop kills what does not end (60).
command=$1
folder=$2
owner=$3
case "$folder" in
/*) ;;
*) folder=$HOME/$folder ;;
esac

fail() {
    echo "$*" >&2
    exit 1
}

# runs PID WORDS: it runs, and has these words in its command line.
runs() {
    [ -n "$1" ] && { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null | grep -qF -e "$2"
}

# alive NAME...: of what was started here and has not ended: who keeps the daemon; the daemon where that one has gone.
alive() {
    for name in "$@"; do
        keeper='' daemon=''
        { read -r keeper daemon <"$folder/pid/$name"; } 2>/dev/null
        if runs "$keeper" "octet_keep.sh $folder/"; then
            echo "$keeper"
        elif runs "$daemon" "--follow-parent $keeper "; then
            echo "$daemon"
        fi
    done
}

# Whether the folder is another's, theirs.
is_another() {
    theirs=$(cat "$folder/.owner" 2>/dev/null)
    [ -n "$theirs" ] && [ "${theirs%% *}" != "${owner%% *}" ]
}

# Whether there is a run that nobody has collected, or something that was started.
is_used() {
    # shellcheck disable=SC2046 # names are words
    [ -n "$(ls -A "$folder/run" 2>/dev/null)$(alive $(ls "$folder/pid" 2>/dev/null))" ]
}

check() {
    umask 077
    mkdir -p "$folder/run" 2>/dev/null || fail "cannot make the folder $folder: $(mkdir -p "$folder/run" 2>&1)"
    chmod 700 "$folder"
    if is_another && is_used; then
        fail "$folder has the run of ${theirs#* }: give --run-dir that folder, or a folder with another name"
    fi
    echo "$owner" >"$folder/.owner" || fail "cannot write to $folder"
    rm -rf "$folder/run.new" && mkdir "$folder/run.new" || exit
    : >"$folder/.room" || fail "cannot write to $folder"
    room=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$room" -ge "$1" ] || fail "no room: $room MiB are free in $folder, $1 MiB are needed"
    uname -sm
}

saved() {
    stat -c %Y "$folder"/run/checkpoint*.oct 2>/dev/null | sort -n | tail -n 1
}

ready() {
    cd "$folder" || fail "the folder $folder does not exist"
    rm -rf stopped pid exit
    mkdir pid exit
    PATH=$folder/bin:$PATH
    for name in octet-replay octet-learner octet-actor "$@"; do
        program=$(command -v "$name") || fail "$name is neither copied nor on the PATH"
        said=$("$program" --version 2>&1) && continue
        lacks=$(ldd "$program" 2>/dev/null | awk '/not found/ { printf "%s%s", n++ ? ", " : "", $1 }')
        [ -z "$lacks" ] || fail "$name lacks the libraries $lacks"
        fail "$name does not run here: $said"
    done
}

# Whether a service manager of this user's answers, and stays when the user logs out.
has_systemd() {
    [ "${OCTET_SYSTEMD-1}" = 1 ] && command -v systemd-run >/dev/null &&
        [ "$(loginctl show-user "$(id -un)" -p Linger --value 2>/dev/null)" = yes ] &&
        systemd-run --user --quiet --collect true >/dev/null 2>&1
}

# Runs as a process of its own: PID_FILE LOG_FILE KEEP FOLDER/NAME PROGRAM [ARGUMENT...]. Of two, one that stops and one that
# starts, either sees the other's file.
# shellcheck disable=SC2016 # it is another shell that expands it
launch='echo $$ >"$1"; [ ! -e stopped ] || exit 0; exec >>"$2" 2>&1 </dev/null; shift 2; exec sh "$@"'

# daemon NAME ENVIRONMENT PROGRAM [ARGUMENT...]: of daemons.sh
daemon() {
    name=$1
    environment=$2
    shift 2
    set -- "$folder/pid/$name" "$folder/log/$name.log" "$folder/octet_keep.sh" "$folder/$name" "$@"
    : >>"$folder/log/$name.log"
    echo "$name" >>"$folder/started"
    if [ -n "$systemd" ]; then
        systemd-run --user --quiet --collect --unit="$unit-$name" --working-directory="$folder" \
            -p KillMode=mixed -E PATH="$PATH" ${environment:+-E "$environment"} sh -c "$launch" sh "$@" ||
            fail "systemd-run could not start $name"
    else
        # The folder of XDG_RUNTIME_DIR ends with the session.
        env -u XDG_RUNTIME_DIR ${environment:+"$environment"} setsid sh -c "$launch" sh "$@" </dev/null >/dev/null 2>&1 &
    fi
}

start() {
    umask 077
    cd "$folder" || fail "the folder $folder does not exist"
    mkdir -p run log
    if [ -n "$(ls -A run.new 2>/dev/null)" ]; then
        rm -rf run && mv run.new run || exit
    fi
    : >started
    PATH=$folder/bin:$PATH
    systemd=
    ! has_systemd || systemd=1
    unit=octet-$(basename "$folder" | tr @ -) # '@' is of templates
    # shellcheck source=/dev/null
    . "$folder/daemons.sh"
    tries=0
    while read -r name; do
        until [ -n "$(alive "$name")" ] || [ -s "exit/$name" ] || [ -e stopped ]; do
            tries=$((tries + 1))
            [ "$tries" -lt 1200 ] || fail "$name does not start"
            sleep 0.05
        done
    done <started
    if [ -n "$systemd" ]; then echo "systemd-run --user"; else echo setsid; fi
}

stop() {
    [ -d "$folder/pid" ] || return 0
    : >"$folder/stopped"
    for signal in TERM KILL; do
        tries=0 quiet=0 asked='' seen=''
        while [ "$quiet" -lt "${OCTET_STOP_S-60}" ]; do
            # shellcheck disable=SC2046 # names are words
            left=$(alive $(ls "$folder/pid"))
            [ -n "$left" ] || return 0
            if [ "$left" != "$asked" ] || [ $((tries % 50)) -eq 0 ]; then
                # shellcheck disable=SC2086 # they are words
                kill -"$signal" $left 2>/dev/null
                asked=$left
            fi
            if [ $((tries % 5)) -eq 0 ]; then
                now=$(ls -lAR --full-time "$folder/run" 2>/dev/null)
                [ "$now" = "$seen" ] && quiet=$((quiet + 1)) || quiet=0
                seen=$now
            fi
            tries=$((tries + 1))
            sleep 0.2
        done
    done
    fail "a process that was started in $folder does not end"
}

# news NAME: what its log has beyond what was printed; of others than the learner only what is wrong.
news() {
    size=$(wc -c <"log/$1.log")
    seen=$(cat "seen/$1" 2>/dev/null || echo 0)
    [ "$size" -ge "$seen" ] || seen=0 # the daemon has emptied it since
    [ "$size" -gt "$seen" ] || return 0
    drop='^[^ ]* [^ ]* [DIN] '
    [ "$1" != learner ] || drop='^[^ ]* [^ ]* D '
    tail -c "+$((seen + 1))" "log/$1.log" | head -c $((size - seen)) | sed "/$drop/d; s/^/$1: /" || exit 1
    echo "$size" >"seen/$1"
}

# has WORDS WORD
has() {
    case " $1 " in
    *" $2 "*) return 0 ;;
    esac
    return 1
}

# look: of what is to run, who does not, in absent; who did not the time before either, in lost. (A process that becomes another program
# has no command line for a moment.)
look() {
    before=$absent absent=
    for name in $(cat started) $awaited; do
        [ -z "$(alive "$name")" ] || continue
        absent="$absent $name"
        ! has "$before" "$name" || lost="$lost $name"
    done
}

# tell NAME HOW: it has ended, which is told once.
tell() {
    ! has "$told" "$1" || return 0
    told="$told $1"
    echo "@ended $1 $2"
    ! has "$awaited" "$1" || exit 0
}

is_over() {
    for name in $(cat started) $awaited; do
        has "$told" "$name" || return 1
    done
}

# follow [NAME...]
follow() {
    cd "$folder" || fail "the folder $folder does not exist"
    mkdir -p seen
    awaited=$* told='' absent='' rounds=0
    while echo @alive; do
        # Who ends in order has said so before it is gone: what is said is read after this.
        lost=
        [ $((rounds % 10)) -ne 0 ] || look
        rounds=$((rounds + 1))
        ended=$(cd exit 2>/dev/null && ls)
        while read -r name; do
            news "$name"
        done <started
        for name in $ended; do
            [ "${name%.new}" != "$name" ] || tell "$name" "$(cat "exit/$name")"
        done
        for name in $lost; do
            tell "$name" lost
        done
        if is_over; then
            echo @over
            exit 0
        fi
        sleep 0.5
    done
    exit 1
}

holds() {
    for name in log run; do
        [ -z "$(ls "$folder/$name" 2>/dev/null)" ] || echo "$name"
    done
}

remove() {
    cd / && rm -rf "$folder"
}

tidy() {
    if is_another; then
        return
    fi
    if is_used; then
        echo kept
    else
        remove
    fi
}

shift 3
case "$command" in
check | tidy) "$command" "$@" ;;
saved | ready | start | follow | stop | holds | remove)
    ! is_another || fail "$folder now belongs to ${theirs#* }"
    "$command" "$@"
    ;;
*) fail "octet_host.sh: unknown command '$command'" ;;
esac
