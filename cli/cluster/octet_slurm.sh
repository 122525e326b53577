#!/usr/bin/env bash
# The end of a job of octet cluster slurm, which prints what this reads before it: #SBATCH lines, variables, plan, keep and experiment.
# The first component has learner, replay and evaluators, each a step with CPUs and memory of its own; the second one, if there is
# one, has the actors. More actors may come and go: sbatch --array=0-15 RUN/actors.sh.
# A requeued job goes on with its run. SIGTERM, which comes before the time limit, ends it with a checkpoint.
# shellcheck disable=SC2154,SC2034,SC2317 # what is read before, and by plan, and called by a trap
set -uo pipefail
umask 077
if [ -z "${SLURM_JOB_ID-}" ]; then
    echo "this is a job: sbatch $0" >&2
    exit 2
fi
stopping=
steps=()

say() {
    printf '%s octet: %s\n' "$(date -u +%FT%TZ)" "$*"
}

# In the job's private folder: keys, the experiment, what actors of arrays need to know.
work=$run/job
mkdir -p "$run/log" || exit
rm -rf "$work"
mkdir -m 700 "$work" || exit
# Two jobs on one node must not meet, so that without --port each job has ports of its own.
[ "$port" -ne 0 ] || port=$((20000 + SLURM_JOB_ID % (12000 / ports) * ports))
head=$(scontrol show node "${SLURMD_NODENAME:-$(hostname -s)}" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p' | head -n 1)
head=${head:-$(hostname)}
write_files

if [ -n "$certs" ]; then
    mkdir "$work/certs" && cp -r "$certs"/{learner,replay,actor,evaluator} "$work/certs/" || exit
elif [ -z "$insecure" ]; then
    octet certs init --dir "$work/certs" >/dev/null || exit
    for role in learner replay; do
        octet certs issue "$role" "$role" --host "$head" --dir "$work/certs" >/dev/null || exit
    done
    for role in actor evaluator operator; do
        octet certs issue "$role" "$role" --dir "$work/certs" >/dev/null || exit
    done
fi
plan

# step GROUP NAME TASKS CPUS MIB WORD...: a step, in the background: tasks with so many CPUs, and MiB for each CPU. A task's program is
# started again when it dies (keep.sh).
step() {
    local group=()
    [ "$actors" -eq 0 ] || group=(--het-group="$1")
    srun "${group[@]}" --job-name="$2" --ntasks="$3" --cpus-per-task="$4" --mem-per-cpu="$5" --exact --kill-on-bad-exit=0 --input=none \
        --output="$run/log/$2-%t.log" --open-mode=append sh "$work/keep.sh" - "${@:6}" &
    steps+=($!)
}

# gone PID: waits for it, whatever signals this job gets meanwhile; its exit code.
gone() {
    local code last
    while :; do
        wait "$1"
        code=$?
        kill -0 "$1" 2>/dev/null || break
    done
    # A wait that a signal ended says nothing of the process; the next one does, where it was not told yet.
    wait "$1" 2>/dev/null
    last=$?
    [ "$last" -eq 127 ] || code=$last
    return "$code"
}

# To what runs in all components, not to this script. While Slurm itself ends the job, scancel waits: nobody waits for it.
end_all() {
    timeout 60 scancel --quiet --signal=TERM "$SLURM_JOB_ID" 2>/dev/null &
}

stop() {
    say "SIGTERM: everything is saved, then the job ends"
    stopping=1
    end_all
}
trap stop TERM INT

say "job $SLURM_JOB_ID, start $((${SLURM_RESTART_COUNT:-0} + 1)): learner and replay on $head, ports from $port, run folder $run"
for daemon in "${daemons[@]}"; do
    id=${daemon//-/_}
    declare -n words=$id
    count=${id}_count environment=${id}_env
    case "$daemon" in
    replay* | data) step 0 "$daemon" 1 1 "$replay_memory" "${words[@]}" ;;
    learner)
        step 0 learner 1 "$learner_cpus" $((learner_memory / learner_cpus)) env ${!environment:+"${!environment}"} "${words[@]}"
        learner_step=$!
        ;;
    evaluator) step 0 evaluator "${!count}" 1 "$actor_memory" "${words[@]}" ;;
    actor) step 1 actor "${!count}" 1 "$actor_memory" "${words[@]}" ;;
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

gone "$learner_step"
code=$?
if [ -z "$stopping" ]; then
    say "the learner has ended (exit code $code)"
    end_all
fi
for step in "${steps[@]}"; do
    gone "$step"
done
# Of a run that is over, actors of arrays need no more, and nobody needs its keys.
[ -n "$stopping" ] || rm -rf "$work"
say "ended: $run"
exit "$code"
