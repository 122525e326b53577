#!/usr/bin/env bash
# octet cluster ssh: copies programs and certificates to hosts, starts the daemons there, follows them, collects the run
# folder, and ends everything. octet_host.sh is its part on each host. octet cluster ssh makes the folder PLAN and runs this.
# usage: octet_ssh.sh PLAN        PLAN/plan.sh and PLAN/experiment.yaml; PLAN is removed, at the next start if this one is killed
# Exit codes: the learner's, or that of a replay which ended before it; 143 when either was stopped before the end of the run; 1: a host
# failed, or began anew; 130: Ctrl-C.
# shellcheck disable=SC2317 # functions that each calls by their name
set -uo pipefail
shopt -s extglob
umask 077
here=${1:?}
# What plan.sh sets; plan is a function that sets an array for each daemon.
octet=
hosts=()
learner_host=
head=
ssh_options=()
programs=()
modules=()
certs=
insecure=
owner=
remote=
room=
run_dir=
resume=
daemons=()
keep=
lock=
port=
relay_count=0
relay_index=
# shellcheck source=/dev/null
. "$here/plan.sh"
# shellcheck disable=SC2034
OCTET_KEEP_IS_READ=1
# shellcheck source=cli/cluster/octet_keep.sh
. "$keep/octet_keep.sh"

# Those of the learner's host without which the run ends.
needed=()
for daemon in "${daemons[@]}"; do
    case "$daemon" in
    learner | replay* | data) needed+=("$daemon") ;;
    esac
done

# Of two that say the same the first counts.
quick=("${ssh_options[@]}" -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 -o LogLevel=ERROR)
collected=$run_dir/.collect
started_in=$run_dir/.plan # a link to PLAN
owned=$run_dir/.owner     # the word by which hosts know the run folder, as long as they may have something of it
stopping=
started=
broken= # ended by a daemon that cannot go on

# What a host says may control the terminal.
say() {
    local words="octet cluster ssh: $*"
    printf '%s\n' "${words//[[:cntrl:]]/?}"
}

wrong() {
    local words="octet cluster ssh: error: $*"
    printf '%s\n' "${words//[[:cntrl:]]/?}" >&2
}

# quoted WORD...: for a shell on a host, whichever that is.
quoted() {
    local word
    for word in "$@"; do
        printf " '%s'" "${word//\'/\'\\\'\'}"
    done
}

# folder_of HOST: of the run there. Each host has its own, since several may have one home.
folder_of() {
    echo "$remote.$1"
}

# on HOST COMMAND [ARGUMENT...]: of octet_host.sh, in the run's folder there. Nothing of Octet need be there before: it comes by
# standard input. A session of its own: Ctrl-C is for this program, which then ends things in order.
on() (
    speak_to "$1"
    become "$@"
)

# speak_to HOST: this process does, until the end that somebody asks for.
speak_to() {
    echo "$BASHPID" >"$here/speaks.$(number_of "$1")"
    [ ! -e "$here/broken" ] || exit 1
}

become() {
    local host=$1
    shift
    exec setsid --wait ssh "${quick[@]}" -- "$host" "sh -s --$(quoted "$1" "$(folder_of "$host")" "$owner" "${@:2}")" <"$keep/octet_host.sh"
}

# copy HOST FILE... FOLDER: below the run's folder there.
copy() {
    fetch "$1" "${@:2:$#-2}" "$1:$(folder_of "$1")/${*: -1}"
}

# fetch HOST FROM... TO
fetch() (
    speak_to "$1"
    exec setsid --wait scp -q -r -p "${quick[@]}" -- "${@:2}" </dev/null
)

# each WHAT FUNCTION HOST...: FUNCTION HOST for these hosts at once; each host's reason where it fails, the others in good. It is
# broken off when somebody asks for an end.
each() {
    local host number pids=()
    good=()
    for host in "${@:3}"; do
        number=$(number_of "$host")
        "$2" "$host" >"$here/said.$number" 2>"$here/wrong.$number" &
        pids[number]=$!
    done
    for number in "${!pids[@]}"; do
        # A signal to this program ends a wait, and not what is waited for.
        until wait "${pids[number]}"; do
            kill -0 "${pids[number]}" 2>/dev/null || break
        done
        wait "${pids[number]}" && good+=("${hosts[number]}")
        if [ -z "$stopping" ] && [ -s "$here/wrong.$number" ]; then
            while read -r line; do
                wrong "${hosts[number]}: $1: $line"
            done <"$here/wrong.$number"
        fi
    done
    rm -f "$here"/speaks.*
    [ ${#good[@]} -eq $(($# - 2)) ]
}

is_good() {
    [[ " ${good[*]} " = *" $1 "* ]]
}

check() {
    local need=32
    [ "$1" != "$learner_host" ] || need=$room
    on "$1" check "$need"
}

# machines_differ: programs of this machine run on machines of its kind.
machines_differ() {
    local number mine
    mine=$(uname -sm)
    for number in "${!hosts[@]}"; do
        if [ "$(cat "$here/said.$number")" != "$mine" ]; then
            wrong "${hosts[number]} is a $(cat "$here/said.$number"), this machine is a $mine, whose programs do not run there;" \
                "install Octet on all hosts and use --installed"
            return 0
        fi
    done
    return 1
}

# certificates: of the run, or those that were given; a role each.
certificates() {
    [ -z "$insecure" ] || return 0
    if [ -n "$certs" ]; then
        mkdir "$here/certs" && cp -r "$certs"/{learner,replay,actor,evaluator} "$here/certs/" || return
        [ "$relay_count" -eq 0 ] || cp -r "$certs/relay" "$here/certs/"
        return
    fi
    "$octet" certs init --dir "$here/certs" --days 3650 >/dev/null || return
    local role roles=(actor evaluator operator)
    [ "$relay_count" -eq 0 ] || roles+=(relay)
    for role in learner replay; do
        "$octet" certs issue "$role" "$role" --host "${head//[\[\]]/}" --dir "$here/certs" >/dev/null || return
    done
    for role in "${roles[@]}"; do
        "$octet" certs issue "$role" "$role" --dir "$here/certs" >/dev/null || return
    done
    rm -rf "$run_dir/certs/operator" && mkdir -p "$run_dir/certs" && cp -r "$here/certs/operator" "$run_dir/certs/"
}

# host_of NAME: the number of the host where the daemon runs that is the NAMEth actor, relay or evaluator. Actors go round the hosts but
# the learner's, which has all else, unless there is no other; and so do relays, of which each host has one at most.
host_of() {
    local others=() number
    for number in "${!hosts[@]}"; do
        [ "${hosts[number]}" = "$learner_host" ] || others+=("$number")
    done
    case "$1" in
    actor-* | relay-*)
        [ ${#others[@]} -eq 0 ] || {
            echo "${others[${1##*-} % ${#others[@]}]}"
            return
        }
        ;;
    esac
    for number in "${!hosts[@]}"; do
        [ "${hosts[number]}" != "$learner_host" ] || echo "$number"
    done
}

# share_out: what goes to each host, as it will lie there, in PLAN/host.NUMBER.
share_out() {
    local number daemon role count i id words environment
    for number in "${!hosts[@]}"; do
        mkdir -p "$here/host.$number/certs"
        cp "$keep/octet_keep.sh" "$here/experiment.yaml" "$here/host.$number/" || return
        : >"$here/host.$number/daemons.sh"
        if [ ${#programs[@]} -gt 0 ]; then
            mkdir -p "$here/host.$number/bin" && cp -L "${programs[@]}" "$here/host.$number/bin/" || return
        fi
        if [ ${#modules[@]} -gt 0 ]; then
            mkdir -p "$here/host.$number/envs/dmc" && cp -L "${modules[@]}" "$here/host.$number/envs/dmc/" || return
        fi
    done
    for daemon in "${daemons[@]}"; do
        id=${daemon//-/_}
        count=${id}_count environment=${id}_env role=${id}_role
        local -n words=$id
        for ((i = 0; i < ${!count}; i++)); do
            id=$daemon
            case "$daemon" in
            actor | relay) id=$daemon-$i ;;
            evaluator) [ "${!count}" -eq 1 ] || id=evaluator-$i ;;
            esac
            number=$(host_of "$id")
            # Of that host's relay, which plan puts into command lines.
            # shellcheck disable=SC2034
            relay_index=$((relay_count > 0 ? i % relay_count : 0))
            plan
            echo "daemon$(quoted "$id" "${!environment}" "${words[@]}")" >>"$here/host.$number/daemons.sh"
            [ -n "$insecure" ] || cp -r "$here/certs/${!role}" "$here/host.$number/certs/" || return
        done
        unset -n words
    done
}

number_of() {
    local number
    for number in "${!hosts[@]}"; do
        [ "${hosts[number]}" != "$1" ] || echo "$number"
    done
}

# put HOST: what it needs. An earlier start may have left a run that is nowhere else: the learner goes on with that.
put() {
    local from there
    from=$here/host.$(number_of "$1")
    # What an earlier start left may still run there.
    on "$1" stop && there=$(on "$1" saved) || return
    if [ -n "$there" ] && [ "$there" != "$saved" ]; then
        if [ "$1" != "$learner_host" ] || [ "$there" -lt "${saved:-0}" ]; then
            echo "$(folder_of "$1")/run has a checkpoint that the run here lacks and that would be lost; copy it or remove it" >&2
            return 1
        fi
    fi
    copy "$1" "$from"/* . || return
    if [ "$1" = "$learner_host" ] && [ -n "$there" ]; then
        echo "continuing the run in $(folder_of "$1")"
    elif [ "$1" = "$learner_host" ] && [ ${#resumed[@]} -gt 0 ]; then
        copy "$1" "${resumed[@]}" run.new || return
    fi
    if [ "$relay_count" -eq 0 ]; then
        on "$1" ready
    else
        on "$1" ready octet-relay
    fi
}

start() {
    on "$1" start
}

stop() {
    on "$1" stop
}

remove() {
    on "$1" remove
}

tidy() {
    on "$1" tidy 2>/dev/null
}

# settle FILE...: each takes its place in the run folder.
settle() {
    local file there
    for file in "$@"; do
        there=$run_dir/${file##*/}
        [ -e "$file" ] || continue
        [ ! -d "$file" ] || rm -rf "$there"
        mv -fT "$file" "$there" || return
    done
}

# append LOG: what the log of that name here does not end with: a host that could not be cleared still has what was collected before.
append() {
    local log=$run_dir/log/${1##*/} size=0 known=0 at
    [ ! -e "$log" ] || size=$(stat -c %s "$log") || return
    while read -r at; do
        if cmp -s -n $((size - at)) -i "$at:0" "$log" "$1"; then
            known=$((size - at))
            break
        fi
    done < <(head -n 1 "$1" | grep -sabxF -f - "$log" | cut -d : -f 1)
    tail -c "+$((known + 1))" "$1" >>"$log"
}

# collect HOST: the learner's run folder, and the logs of all, which go on where those of an earlier start ended; what was moved from
# a large log takes the place of what was moved before. Nothing takes its
# place before all is here; what tells that there is a run comes last, so that whoever is killed meanwhile can begin again.
collect() {
    local name there from
    from=$collected/$(number_of "$1")
    there=$(on "$1" holds) && mkdir -p "$from" || return
    for name in $there; do
        [ "$name" = log ] || [ "$1" = "$learner_host" ] || continue
        mkdir "$from/$name" && fetch "$1" "$1:$(folder_of "$1")/$name/*" "$from/$name/" || return
    done
    for name in "$from"/log/*.log; do
        case "$name" in
        *.first.log | *.previous.log) mv -fT "$name" "$run_dir/log/${name##*/}" || return ;;
        *) [ ! -e "$name" ] || append "$name" || return ;;
        esac
    done
    settle "$from"/run/config.yaml "$from"/run/!(config.yaml|checkpoint*|policy*) "$from"/run/checkpoint* "$from"/run/policy*
}

# described HOW: how a daemon has ended, of octet_host.sh follow.
described() {
    if [ "$1" = lost ]; then
        echo "killed, or its host was restarted"
    else
        echo "exit code $1"
    fi
}

# orphaned: the command was killed, and this process was not.
orphaned() {
    local parent
    read -r _ _ _ parent _ <"/proc/$BASHPID/stat"
    [ "$parent" != "$$" ]
}

# follow HOST: prints what is logged there, until one that is needed has ended or this program ends, which locks the run folder, and
# not this process. What connects it may break.
follow() {
    local line name how until=()
    exec {lock}>&-
    [ "$1" != "$learner_host" ] || until=("${needed[@]}")
    while [ ! -e "$here/done" ]; do
        while read -r line; do
            ! orphaned || break 2
            case "$line" in
            @alive) ;;
            @over) return ;;
            '@ended '*)
                read -r _ name how <<<"$line"
                if [[ " ${until[*]} " = *" $name "* ]]; then
                    echo "$name $how" >"$here/end" && : >"$here/done"
                elif [ ! -e "$here/done" ]; then
                    wrong "$1: $name has ended ($(described "$how")); the others continue"
                fi
                ;;
            *) printf '%s\n' "${line//[[:cntrl:]]/?}" ;;
            esac
        done < <(echo "$BASHPID" >"$here/ssh.$(number_of "$1")" && become "$1" follow "${until[@]}" 2>/dev/null)
        if [ -e "$here/done" ] || orphaned; then
            break
        fi
        wrong "$1: the connection was lost; connecting again"
        sleep 2
    done
    # It has private keys.
    ! orphaned || rm -rf "$here"
}

# unfollow: what is followed has ended, and the followers with it; they are not waited for where a host is silent.
unfollow() {
    local file tries=0
    while [ -n "$(jobs -pr)" ] && [ "$tries" -lt 50 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    for file in "$here"/ssh.*; do
        kill "$(cat "$file")" 2>/dev/null
    done
    wait
}

# finish CODE: what was started ends; the run is collected, then the hosts hold nothing more of it.
finish() {
    local code=${stopping:-$1} host left="" held=""
    trap '' INT TERM HUP
    stopping=
    rm -f "$here/broken"
    : >"$here/done"
    if [ -n "$started" ]; then
        say "stopping the daemons"
        each "cannot end its daemons" stop "${hosts[@]}"
        unfollow
        rm -rf "$collected"
        each "cannot copy the run from this host" collect "${good[@]}"
        is_good "$learner_host" || left=$learner_host:$(folder_of "$learner_host")
        each "cannot remove the run's folder" remove "${good[@]}"
        for host in "${hosts[@]}"; do
            is_good "$host" || { held=1 && wrong "$host:$(folder_of "$host") still exists"; }
        done
    else
        each "" tidy "${hosts[@]}" 2>/dev/null
        for host in "${hosts[@]}"; do
            [ ! -s "$here/said.$(number_of "$host")" ] || { held=1 && say "$host:$(folder_of "$host") still has a run"; }
        done
    fi
    if [ -z "$certs$insecure" ]; then # made for this run
        rm -rf "$run_dir/certs/operator"
        rmdir "$run_dir/certs" 2>/dev/null
    fi
    rm -rf "$collected" "$here" "$started_in"
    [ -n "$held" ] || rm -f "$owned"
    if [ -n "$left" ]; then
        wrong "the run is in $left: the same command with --run-dir $run_dir continues it"
        [ "$code" -ne 0 ] || code=1
    else # a folder in which nothing came to be goes as well
        [ -z "$broken" ] || ! compgen -G "$run_dir/checkpoint*.oct" >/dev/null || say "--resume continues from what was saved"
        rmdir "$run_dir/log" 2>/dev/null
        [ "$(ls -A "$run_dir")" != .lock ] || rm -rf "$run_dir"
    fi
    exit "$code"
}
interrupted() {
    local file
    stopping=$1
    : >"$here/broken"
    : >"$here/done"
    for file in "$here"/speaks.*; do
        kill "$(cat "$file" 2>/dev/null)" 2>/dev/null
    done
}
# A reader of what this prints may leave; the run goes on.
trap '' PIPE
trap 'interrupted 130' INT
trap 'interrupted 143' TERM
trap 'interrupted 129' HUP

# quit_if_asked: between two steps.
quit_if_asked() {
    [ -z "$stopping" ] || finish "$stopping"
}

if has_links "$run_dir"; then
    wrong "$odd is a link or a pipe, which a run folder may not have; remove it"
    rm -rf "$here"
    exit 1
fi
# A start that was killed has left its folder here, with private keys.
earlier=$(readlink "$started_in")
if [[ $earlier = */octet-ssh-?????? ]] && [ -O "$earlier" ]; then
    rm -rf "$earlier"
fi
ln -sfT "$(realpath "$here")" "$started_in" || finish 1
if [ ! -s "$owned" ]; then
    od -An -N8 -tx8 /dev/urandom | tr -d ' ' >"$owned" || finish 1
fi
owner="$(cat "$owned") $(uname -n):$run_dir"

# By which address other hosts reach the learner's: what ssh's configuration makes of its name.
if [ -z "$head" ]; then
    head=$(ssh "${quick[@]}" -G -- "$learner_host" 2>/dev/null | awk '$1 == "hostname" { print $2 }')
fi
case "$head" in
*:*) head="[$head]" ;; # IPv6, as it stands in a URL; certificates have it without brackets
esac
resumed=()
saved=
if [ -n "$resume" ]; then
    saved=$(stat -c %Y "$run_dir"/checkpoint*.oct | sort -n | tail -n 1)
    mapfile -d '' -t resumed < <(find "$run_dir" -mindepth 1 -maxdepth 1 ! -name log ! -name .lock ! -name .collect ! -name .plan ! -name .owner ! -name certs \
        ! -name job ! -name actors.sh -print0)
fi
say "checking ${#hosts[@]} hosts"
each "cannot be used" check "${hosts[@]}" || finish 1
if [ ${#programs[@]} -gt 0 ] && machines_differ; then
    finish 1
fi
if ! certificates || ! share_out; then
    finish 1
fi
quit_if_asked
say "copying to ${hosts[*]}"
if ! each "cannot be prepared" put "${hosts[@]}"; then
    grep -qs "lacks the libraries" "$here"/wrong.* && say "hosts need the libraries of Octet's programs: apt-get install libnng1 libuv1 libprotobuf-c1 libyaml-0-2 libzstd1 libjansson4" \
        "libssl3 libmicrohttpd12 libopenblas0-pthread libopenmpi3 (Debian 12)"
    finish 1
fi
grep -s . "$here/said.$(number_of "$learner_host")" | while read -r line; do
    say "$learner_host: $line"
done
rm -rf "$here/certs" "$here"/host.*/certs # the hosts have them
quit_if_asked
started=1 # also what is broken off meanwhile
each "cannot start its daemons" start "${hosts[@]}" || finish 1
for number in "${!hosts[@]}"; do
    say "${hosts[number]}: started $(grep -c . "$here/host.$number/daemons.sh") daemons under $(cat "$here/said.$number")"
done
[ -n "$insecure" ] || [ -n "$certs" ] ||
    say "to watch the run: octet status --learner tls+tcp://$head:$port --tls $run_dir/certs/operator"
for host in "${hosts[@]}"; do
    follow "$host" &
done
while [ ! -e "$here/done" ]; do
    sleep 0.2
done
quit_if_asked
read -r name code <"$here/end"
[ "$name" = learner ] || [ "$code" != 0 ] || code=143 # of the run, which has not finished
if [ "$code" = 143 ]; then
    wrong "$learner_host: $name was stopped there, before the end of the run"
elif [ "$name" != learner ] || [ "$code" = lost ]; then
    wrong "$learner_host: $name has ended ($(described "$code")), which ends the run"
    broken=1
fi
[ "$code" != lost ] || code=1
finish "$code"
