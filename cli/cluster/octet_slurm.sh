#!/usr/bin/env bash
# The end of a job of octet cluster slurm, which prints what this reads before it: #SBATCH lines, variables, plan, keep and experiment.
# The first component has learner, replay and evaluators, each a step with CPUs and memory of its own; the last one, if there are
# actors, has these. Learners over several nodes are a step of a component between them, connected by MPI. More actors may come and go: sbatch --array=0-15 RUN/actors.sh.
# A requeued job goes on with its run. SIGTERM, which comes before the time limit, ends it with a checkpoint. The exit code is the
# learner's: 0 of a finished run, 143 of one that was stopped before; or that of a replay that gave up, which ends the run as well.
# shellcheck disable=SC2154,SC2034,SC2317 # what is read before, and by plan, and called by a trap
set -uo pipefail
umask 077
if [ -z "${SLURM_JOB_ID-}" ]; then
    echo "this is a job script; start it with sbatch $0" >&2
    exit 2
fi
stopping=
ending=
# shellcheck disable=SC2034
OCTET_KEEP_IS_READ=1
# shellcheck source=/dev/null
. <(keep_text)
declare -A steps=() codes=()

say() {
    printf '%s octet: %s\n' "$(date -u +%FT%TZ)" "$*"
}

# holder JOB: its state, where Slurm still knows it; the end of one that is just ending is waited for, but not for ever: Slurm has a
# state that lasts when a node of it does not answer. What cannot be asked may run.
holder() {
    local state tries=0
    while :; do
        state=$(squeue --noheader --jobs="$1" --format=%T 2>&1) || case "$state" in
        *"Invalid job id"*) return ;;
        esac
        state=${state%%$'\n'*}
        if [ "$state" != COMPLETING ] || [ "$tries" -ge "${OCTET_COMPLETING_TRIES-150}" ]; then
            break
        fi
        [ "$tries" -ne 0 ] || say "waiting for job $1 to end" >&2
        tries=$((tries + 1))
        sleep 2
    done
    echo "$state"
}

# take: the run folder is this job's; it is another's as long as that one may go on with it.
take() {
    local owner state file=$run/log/.job lock
    (umask 077 && : >>"$file") && chmod 600 "$file" || return # whoever can read it could lock it
    exec {lock}>>"$file" || return
    flock "$lock" 2>/dev/null # of two jobs that begin at once; some file systems have no locks
    owner=$(cat "$file")
    if [ -n "$owner" ] && [ "$owner" != "$SLURM_JOB_ID" ]; then
        state=$(holder "$owner")
        if [ -n "$state" ]; then
            say "job $owner is using $run ($state); wait for it to end, or scancel $owner" >&2
            return 1
        fi
    fi
    echo "$SLURM_JOB_ID" >"$file" && exec {lock}>&-
}

# In the job's private folder: keys, the experiment, what actors of arrays need to know.
work=$run/job
if has_links "$run"; then
    say "$odd is a link or a pipe, which a run folder may not have; remove it" >&2
    exit 1
fi
mkdir -p "$run/log" && take || exit
rm -rf "$work"
mkdir -m 700 "$work" || exit
# Two jobs on one node must not meet: without --port each takes ports by its number, which are others than those of jobs that begin
# with it, or the next ones where something on this node has those.
free_port() {
    local used count=$((12000 / port_stride)) tried first at hex
    used=" $(awk 'FNR > 1 { sub(/.*:/, "", $2); printf "%s ", $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null)"
    for ((tried = 0; tried < count; tried++)); do
        first=$((20000 + (SLURM_JOB_ID + tried) % count * port_stride))
        for ((at = first; at < first + ports; at++)); do
            printf -v hex %04X "$at"
            [[ $used != *" $hex "* ]] || continue 2
        done
        echo "$first"
        return
    done
    say "no $ports consecutive ports are free between 20000 and 32000" >&2
    return 1
}
if [ "$port" -eq 0 ]; then
    port=$(free_port) || exit
fi

# address NODE: by which other nodes reach it, as it stands in a URL: IPv6 in brackets, which certificates do not have.
address() {
    local found
    found=$(scontrol show node "$1" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p' | head -n 1)
    found=${found:-$1}
    case "$found" in
    *:*) found="[$found]" ;;
    esac
    echo "$found"
}

head=$(address "${SLURMD_NODENAME:-$(hostname -s)}")
learner_host=$head
components=1
if [ "$learner_nodes" -gt 1 ]; then # rank 0 is on the first of them
    components=2
    learner_host=$(address "$(scontrol show hostnames "${SLURM_JOB_NODELIST_HET_GROUP_1:?}" | head -n 1)")
fi
[ "$actors" -eq 0 ] || components=$((components + 1))
write_files

if [ -n "$certs" ]; then
    mkdir "$work/certs" && cp -r "$certs"/{learner,replay,actor,evaluator} "$work/certs/" || exit
elif [ -z "$insecure" ]; then
    octet certs init --dir "$work/certs" >/dev/null || exit
    octet certs issue learner learner --host "${learner_host//[\[\]]/}" --dir "$work/certs" >/dev/null || exit
    octet certs issue replay replay --host "${head//[\[\]]/}" --dir "$work/certs" >/dev/null || exit
    for role in actor evaluator operator; do
        octet certs issue "$role" "$role" --dir "$work/certs" >/dev/null || exit
    done
    rm "$work/certs/ca.key" || exit # nothing more is issued
fi
plan

# run_step GROUP NAME TASKS CPUS MIB WORD...: a step: tasks with so many CPUs, and MiB for each CPU.
run_step() {
    local group=()
    [ "$components" -eq 1 ] || group=(--het-group="$1")
    srun "${group[@]}" --job-name="$2" --ntasks="$3" --cpus-per-task="$4" --mem-per-cpu="$5" --exact --input=none \
        --output="$run/log/$2-%t.log" --open-mode=append "${@:6}"
}

# step GROUP NAME TASKS CPUS MIB WORD...: the same, and a task's program is started again when it dies (keep.sh).
step() {
    run_step "${@:1:5}" --kill-on-bad-exit=0 sh "$work/keep.sh" - "${@:6}"
}

report() {
    say "a learner $*; all of them start together"
}

# learners WORD...: those of several nodes. MPI begins once: when one dies, so do the others, and all are started again. The exit
# code is that of their last step.
learners() {
    local code=143 begun
    while [ ! -e "$work/stopping" ]; do
        begun=$SECONDS
        run_step 1 learner "$learners" "$learner_cpus" $((learner_memory / learner_cpus)) --nodes="$learner_nodes" \
            --ntasks-per-node=$((learners / learner_nodes)) --mpi="${SLURM_MPI_TYPE:-pmix}" --kill-on-bad-exit=1 "$@"
        code=$?
        if [ -e "$work/stopping" ] || ! may_restart "$code" $((SECONDS - begun)); then
            break
        fi
        for ((; pause > 0; pause--)); do
            [ -e "$work/stopping" ] || sleep 1
        done
    done
    return "$code"
}

# begin NAME COMMAND...: in the background; its exit code is told by a file.
begin() {
    {
        "${@:2}"
        echo $? >"$work/ended.$1"
    } &
    steps[$1]=$!
}

# has_ended NAME: what was begun has, just now; its exit code is in codes. (A wait that a signal ends may lose it.)
has_ended() {
    local code
    if [ -z "${steps[$1]-}" ] || kill -0 "${steps[$1]}" 2>/dev/null; then
        return 1
    fi
    unset "steps[$1]"
    read -r code 2>/dev/null <"$work/ended.$1" || code=143 # it was killed before it could tell
    codes[$1]=$code
}

# What runs in all components is to end, and this script then.
end() {
    ending=1
    touch "$work/stopping"
}

stop() {
    say "SIGTERM: saving everything before the job ends"
    stopping=1
    end
}
trap stop TERM INT

say "job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): learner on $learner_host, replay on $head, ports from $port, run folder $run"
for daemon in "${daemons[@]}"; do
    id=${daemon//-/_}
    declare -n words=$id
    count=${id}_count environment=${id}_env
    case "$daemon" in
    replay* | data) begin "$daemon" step 0 "$daemon" 1 1 "$replay_memory" "${words[@]}" ;;
    learner)
        words=(env ${!environment:+"${!environment}"} "${words[@]}")
        if [ "$learner_nodes" -gt 1 ]; then
            begin learner learners "${words[@]}"
        else
            begin learner step 0 learner 1 "$learner_cpus" $((learner_memory / learner_cpus)) "${words[@]}"
        fi
        ;;
    evaluator) begin evaluator step 0 evaluator "${!count}" 1 "$actor_memory" "${words[@]}" ;;
    actor) begin actor step $((components - 1)) actor "${!count}" 1 "$actor_memory" "${words[@]}" ;;
    esac
    unset -n words
done
# Whoever waits for a start of this job finds a whole file.
if [ "$actors" -gt 0 ]; then
    {
        printf '%q ' "${actor[@]}"
        echo
    } >"$work/actor.new" && mv "$work/actor.new" "$work/actor"
fi

# Until all steps have ended, which they are to do with the learner, or with one that it would wait for without end.
lost=
told=0
while [ ${#steps[@]} -gt 0 ]; do
    for name in learner "${daemons[@]}"; do
        if ! has_ended "$name" || [ -n "$ending" ]; then
            continue
        fi
        case "$name" in
        learner)
            say "the learner has exited (code ${codes[learner]})"
            end
            ;;
        replay* | data)
            say "$name has exited (code ${codes[$name]}), and the learner cannot continue without it: saving everything before the job ends"
            lost=$name
            end
            ;;
        esac
    done
    # The signal does not reach this script, nor steps that Slurm has yet to begin, so that it is repeated. While Slurm itself ends the
    # job, scancel waits: nobody waits for it.
    if [ -n "$ending" ] && [ "$SECONDS" -ge "$told" ]; then
        timeout 60 scancel --quiet --signal=TERM "$SLURM_JOB_ID" 2>/dev/null &
        told=$((SECONDS + 5))
    fi
    sleep 1
done
code=${codes[learner]}
if [ -n "$lost" ] && [ "$code" -ne 0 ] && [ "${codes[$lost]}" -ne 0 ]; then # a run that has finished has lost nothing
    code=${codes[$lost]}
fi
# Of a run that is over, actors of arrays need no more, and nobody needs its keys.
[ -n "$stopping" ] || rm -rf "$work"
say "ended: $run"
exit "$code"
