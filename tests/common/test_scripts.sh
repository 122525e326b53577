#!/usr/bin/env bash
# What the scripts answer to wrong input, and that results are counted right.
# usage: test_scripts.sh ROOT
set -u
cd "$1" || exit 1
failed=0

# expect CODE TEXT COMMAND...: the exit code, and a text that the output holds.
expect() {
    local code=$1 text=$2 output
    shift 2
    output=$("$@" 2>&1 </dev/null)
    local got=$?
    if [ $got -ne "$code" ] || [[ $output != *"$text"* ]]; then
        printf 'wanted code %s and "%s", got code %s:\n%s\n' "$code" "$text" $got "$output"
        failed=1
    fi
}

expect 2 'there is no preset for pendulum yet' script/train pendulum
expect 2 $'\n  cartpole ' script/train pendulum
expect 2 'there is no file none/x.yaml' script/train none/x.yaml
expect 0 'usage: script/train' script/train --help
expect 2 'usage: script/test' script/test nonsense
expect 2 'usage: script/test' script/test gcc nonsense
expect 0 'usage: script/test' script/test --help
expect 2 'usage: script/setup' script/setup nonsense

log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '{"name": "t%s", "result": "%s"}\n' 1 OK 2 FAIL 3 SKIP 4 TIMEOUT 5 EXPECTEDFAIL \
    6 UNEXPECTEDPASS 7 ERROR 8 OK >"$log"
expect 0 '3 4 1' python3 tools/test_counts.py "$log"
expect 0 'TIMEOUT: t4' python3 tools/test_counts.py "$log"
: >"$log"
expect 0 '0 0 0' python3 tools/test_counts.py "$log"
expect 1 '' python3 tools/test_counts.py none.json

exit $failed
