#!/usr/bin/env bash
# An actor of a run under Slurm that comes and goes, one for each task of an array: sbatch --array=0-15 RUN/actors.sh. It waits for the
# run's job, follows it when that is requeued elsewhere, and ends when it is over, or with an actor that refuses to run.
# The job prints what this reads before it: #SBATCH lines, run, job.
set -uo pipefail
umask 077
: "${run:?}" "${job:?}"
pid=
stopping=

# shellcheck disable=SC2317 # by a trap
stop() {
    stopping=1
    [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null
}
trap stop TERM INT

# over: the run's job is known no more. While its folder is there, it is asked for twice a minute alone; a job that starts again makes
# the folder anew. What cannot be asked is not over.
over() {
    rounds=$((rounds + 1))
    [ ! -d "$run/job" ] || [ $((rounds % 15)) -eq 0 ] || return 1
    local state
    state=$(squeue --noheader --jobs="$job" --format=%T 2>&1) && [ -z "$state" ] && return 0
    case "$state" in
    *"Invalid job id"*) return 0 ;;
    esac
    return 1
}

rounds=0
current=
since=$run/log/.actor-$SLURM_JOB_ID
while [ -z "$stopping" ] && ! over; do
    words=$(cat "$run/job/actor" 2>/dev/null)
    if [ -n "$words" ] && { [ "$words" != "$current" ] || [ "$run/job/actor" -nt "$since" ]; }; then
        [ -z "$pid" ] || {
            kill -TERM "$pid" 2>/dev/null
            wait "$pid"
        }
        current=$words
        touch -r "$run/job/actor" "$since"
        eval "argv=($words)"
        # The job's folder goes with the job, this does not.
        keep=$(cat "$run/job/keep.sh")
        # shellcheck disable=SC2154 # of eval
        sh -c "$keep" keep - "${argv[@]}" &
        pid=$!
    elif [ -n "$words" ] && [ -n "$pid" ] && ! kill -0 "$pid" 2>/dev/null; then
        # It refuses what the job has given it: it would only keep others from this place.
        wait "$pid"
        code=$?
        echo "the actor has exited (code $code)" >&2
        rm -f "$since"
        exit "$code"
    fi
    sleep 2 &
    wait $!
done
stop
[ -z "$pid" ] || wait "$pid"
rm -f "$since"
exit 0
