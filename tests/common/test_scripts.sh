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

# A package that comes after a build folder was made is picked up; nothing happens without one.
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/project" "$room/later"
printf "project('p', 'c')\nmessage('found: ' + find_program('octet-late', required: false).found().to_string())\n" \
    >"$room/project/meson.build"
printf '#!/bin/sh\n' >"$room/later/octet-late" && chmod +x "$room/later/octet-late"
cat >"$room/configured" <<'END'
root=$1 pretended=$3 PATH=$4$PATH
. script/lib.sh
root=$2
packages_state() { echo "$pretended"; }
rm -f "$2/build.configure.log"
configure "$2/build" && cat "$2/build.configure.log" 2>/dev/null || echo 'left as it is'
END
# shellcheck disable=SC2317 # called by expect
configured() {
    bash "$room/configured" "$PWD" "$room/project" "$@"
}
expect 0 'found: false' configured one ''
expect 0 'left as it is' configured one "$room/later:"
expect 0 'found: true' configured two "$room/later:"

# Tests that fail run again, and those that pass only then are named; a script of scenarios likewise.
mkdir "$room/unsteady" && cat >"$room/unsteady/meson.build" <<'END'
project('unsteady')
test('second time', find_program('bash'), suite: 's', args: ['-c', 'test -e @0@/tried || { touch @0@/tried; exit 1; }'.format(meson.current_build_dir())])
test('never', find_program('bash'), suite: 's', args: ['-c', 'exit 1'])
test('always', find_program('bash'), suite: 's', args: ['-c', 'echo "SKIPPED: half of it"; exit 0'])
END
cat >"$room/whole" <<'END'
#!/bin/bash
[ -e "$1" ] || { touch "$1"; echo "it broke off"; exit 1; }
echo "2 passed, 0 failed"
END
cat >"$room/late" <<'END'
#!/bin/bash
printf '%s\n' "a process is left" "2 passed, 0 failed, 0 skipped"
exit 1
END
# Of three scenarios two fail, and one of them the second time, too.
cat >"$room/scenarios" <<'END'
#!/bin/bash
printf 'ran:%s\n' "${*:2}" >>"$1"
case "${*:2}" in
'')
    printf '%s\n' 'good: first' '    ok    it is good' 'good: passed, 1 s' 'bad: second' '    FAIL  waited 120 s for an end' \
        '--- bad.log' 'a line of bad' 'bad: FAILED, 120 s' 'odd: third' '    FAIL  it is odd' 'odd: FAILED, 1 s'
    printf '%s\n' 'again: --only bad odd' '1 passed, 2 failed, 1 skipped'
    ;;
'--only bad odd') printf '%s\n' 'odd: passed, 1 s' '    FAIL  again' 'bad: FAILED, 1 s' 'again: --only bad' '1 passed, 1 failed, 0 skipped' ;;
esac
exit 1
END
cat >"$room/again" <<'END'
root=$PWD folder=$1
. script/lib.sh
passed=0 failed=0 skipped=0 unsteady=() untested=() broken=()
declare -A early=() playing=()
# shellcheck source=/dev/null
. <(sed -n '/^# count PASSED/,/^}/p; /^count_meson/,/^}/p; /^was_unsteady/,/^}/p; /^breaks/,/^}/p; /^why_not/,/^}/p; /^build()/,/^}/p; /^again_max=/p; /^run_meson/,/^}/p; /^run_suites/,/^}/p; /^again_of/,/^}/p; /^play_early/,/^}/p; /^play_faults/,/^}/p; /^run_faults/,/^}/p' script/test)
meson setup "$folder/build" "$folder/unsteady" >/dev/null
run_suites "$folder/build"
run_suites "$folder/build" always # and nothing runs again
root=$folder
play() { bash "$folder/$1" "$folder/$1.tried" "${@:2}" >"$folder/build/$1.test.log" 2>&1; }
plays_to_come=(scenarios late) # and whole has not been begun
run_faults whole '^never'
run_faults scenarios '^[a-z]*: passed'
run_faults late '^never'
# A build that fails in the background alone, and a build that always fails.
compile_late() { [ -e "$folder/built" ] || { touch "$folder/built"; return 3; }; }
compile_never() { echo 'x.c:1:2: error: it is wrong' >"$folder/build/never.log"; return 1; }
for name in late never; do
    : >"$folder/build/$name.log"
    "compile_$name" 2>"$folder/build/$name.early.log" &
    early[$name]=$!
    build "$name"
done
build never
printf 'unsteady: %s;' "${unsteady[@]}"
printf ' failed: %s;' "${broken[@]}"
printf ' skipped: %s;' "${untested[@]}"
echo " $passed passed, $failed failed, $skipped skipped"
END
bash "$room/again" "$room" >"$room/said" 2>&1 </dev/null
expect 0 'unsteady: build: second time;unsteady: whole;unsteady: scenarios: odd;unsteady: build/late; failed: build: never; failed: scenarios.test.log: --only bad; failed: late.test.log; failed: build/never: x.c:1:2: error: it is wrong; failed: build/never: x.c:1:2: error: it is wrong; skipped: build: half of it (always); skipped: build: half of it (always); 9 passed, 5 failed, 3 skipped' cat "$room/said"
expect 0 $'it broke off\n' cat "$room/said"
expect 0 $'a process is left\n' cat "$room/said"
expect 0 $'\ngood: passed, 1 s\nbad: second\n    FAIL  waited 120 s for an end\n--- bad.log\na line of bad\nbad: FAILED, 120 s\nodd: third\n' \
    cat "$room/said"
expect 0 $'ran:\nran:--only bad odd' cat "$room/scenarios.tried"
cat >"$room/scenarios.py" <<'END'
import sys
sys.path.insert(0, "tests/support")
from scenarios import main

def good(check, folder):
    check.that(True, "it is")

def bad(check, folder):
    check.that(False, "it is not")

sys.exit(main("usage: scenarios.py", [bad, good], 0, lambda: None))
END
expect 1 $'again: bad\n1 passed, 1 failed, 0 skipped' python3 "$room/scenarios.py"
expect 1 $'again: bad\n0 passed, 1 failed, 0 skipped' python3 "$room/scenarios.py" bad
expect 0 $' s\n1 passed, 0 failed, 0 skipped' python3 "$room/scenarios.py" good
rm -rf "$room"

# Nothing here installs, builds or trains: a script that is about to finds these instead, and fails.
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/bin"
for tool in meson ninja apt-get sudo; do
    printf '#!/bin/sh\necho "the test must not run %s"\nexit 1\n' "$tool" >"$room/bin/$tool"
done
chmod +x "$room"/bin/*
PATH=$room/bin:$PATH

expect 2 'there is neither a preset for none nor' script/train none
expect 2 $'\n  cartpole ' script/train none
expect 2 'CartPole-v1' script/train none
expect 2 'the file none/x.yaml does not exist' script/train none/x.yaml
expect 0 'usage: script/train' script/train --help
expect 2 'usage: script/test' script/test nonsense
expect 2 'usage: script/test' script/test gcc nonsense
expect 0 'usage: script/test' script/test --help
expect 2 'usage: script/setup' script/setup nonsense
expect 2 'usage: script/test-compose' script/test-compose nonsense
expect 0 'usage: script/test-compose' script/test-compose --help
expect 2 'usage: script/package-debian' script/package-debian
expect 2 'usage: script/package-debian' script/package-debian sid "$room"
expect 0 'usage: script/package-debian' script/package-debian --help
expect 2 'usage: script/test-package-debian' script/test-package-debian sid "$room"
expect 2 'usage: script/test-debian' script/test-debian --nonsense
expect 0 'usage: script/test-debian' script/test-debian --help
expect 2 'usage: script/package' script/package sdist nonsense
expect 0 'usage: script/package' script/package --help
expect 2 'usage: script/test-package' script/test-package nonsense
expect 0 'usage: script/test-package' script/test-package --help

# Packages are made from a commit: a tree with changes is refused, the changed files are named, and nothing is made.
mkdir -p "$room/packaged/script" && cp script/{package,lib.sh,packages.sh,wheel.sh} "$room/packaged/script/"
expect 1 'is not a git repository with a commit' "$room/packaged/script/package"
git -c init.defaultBranch=main init --quiet "$room/packaged"
git -C "$room/packaged" add .
git -C "$room/packaged" -c user.name=a -c user.email=a@example.org commit --quiet --message one
expect 1 'build/tools/package is missing: script/setup package makes it' "$room/packaged/script/package"
echo '# more' >>"$room/packaged/script/lib.sh"
expect 1 $'the tree differs from its commit:\n M script/lib.sh\n' "$room/packaged/script/package"
expect 1 'build/tools/package is missing: script/setup package makes it' "$room/packaged/script/package" --dirty
[ ! -e "$room/packaged/dist" ] || { echo "script/package made dist/" && failed=1; }

# quick has the form check, which looks at files that are not added yet, too, and knows scripts by their first line.
mkdir -p "$room/form/script" "$room/form/build" "$room/form/a" && cp script/{test,lib.sh,packages.sh} "$room/form/script/"
git -c init.defaultBranch=main init --quiet "$room/form"
for name in script/setup a/shell a/sourced a/snake a/added.c a/deleted.c; do
    case $name in
    a/sourced) echo '# shellcheck shell=bash' ;;
    *.c) echo ;;
    a/snake) printf '%s\n' '#!/usr/bin/env python3' '#!/bin/sh' ;;
    *) echo '#!/bin/sh' ;;
    esac >"$room/form/$name"
done
chmod +x "$room/form/script/setup"
echo build >"$room/form/.gitignore"
git -C "$room/form" add . && rm "$room/form/a/deleted.c"
touch "$room/form/a/new.c" "$room/form/a/new.h" "$room/form/build/made.c"
for tool in clang-format shellcheck; do
    printf '#!/bin/sh\necho "%s $*"\n' $tool >"$room/bin/$tool"
    chmod +x "$room/bin/$tool"
done
"$room/form/script/test" quick >"$room/said" 2>&1 </dev/null
expect 0 $'\n2 passed, 2 failed, 0 skipped' cat "$room/said"
expect 0 $'\ntidy      2 passed, 1 failed, 0 skipped' cat "$room/said"
expect 0 $'\ngcc       0 passed, 1 failed, 0 skipped' cat "$room/said"
expect 0 ' --style=file a/new.c a/new.h a/added.c' cat "$room/said"
expect 0 'shellcheck -x a/shell a/sourced script/lib.sh script/packages.sh script/setup script/test' cat "$room/said"
rm "$room"/bin/{clang-format,shellcheck}

# A system without apt: what is missing is named as it calls it. These programs are all that it has; its cc finds no library.
mkdir "$room/elsewhere"
for tool in bash basename dirname sed; do
    ln -s "$(command -v $tool)" "$room/elsewhere/$tool"
done
# elsewhere SYSTEM [ARGUMENT]: script/setup there, with /etc/os-release of SYSTEM.
# shellcheck disable=SC2317 # called by expect
elsewhere() {
    printf '%s\n' "$1" >"$room/os-release"
    OCTET_OS_RELEASE=$room/os-release PATH=$room/elsewhere bash script/setup "${@:2}"
}
expect 1 'cc and pkg-config are needed to look for libraries' elsewhere ID=fedora
expect 1 'missing: cc, meson, ninja, pkg-config, python3, protoc-c. As root: dnf install gcc meson ninja-build pkgconf-pkg-config python3 protobuf-c-compiler' \
    elsewhere ID=fedora
expect 1 'As root: pacman -S gcc meson ninja pkgconf python protobuf-c' elsewhere $'ID=manjaro\nID_LIKE=arch'
expect 1 'As root: dnf install gcc' elsewhere $'ID="rocky"\nID_LIKE="rhel centos fedora"'
expect 1 'protoc-c. This system is neither Debian, Fedora nor Arch' elsewhere ID=void
for tool in meson ninja python3 protoc-c; do
    printf '#!/bin/sh\n' >"$room/elsewhere/$tool"
done
printf '#!/bin/sh\ncase "$*" in *%s) exit 1 ;; esac\n' nng >"$room/elsewhere/cc"
# shellcheck disable=SC2016 # for the program
printf '#!/bin/sh\ncase "$2" in libuv | cairo) exit 1 ;; esac\n' >"$room/elsewhere/pkg-config"
chmod +x "$room"/elsewhere/*
expect 1 $'setup: missing: libuv, nng/nng.h nng. As root: dnf install libuv-devel nng-devel' elsewhere ID=fedora
expect 1 $'setup: missing: libuv, nng/nng.h nng. As root: pacman -S libuv nng' elsewhere ID=arch
# shellcheck disable=SC2016 # for the program
printf '#!/bin/sh\ncase "$2" in cmocka | cairo) exit 1 ;; esac\n' >"$room/elsewhere/pkg-config"
printf '#!/bin/sh\n' >"$room/elsewhere/cc"
expect 0 'not found, and optional: cairo, for pictures and videos (dnf install cairo-devel)' elsewhere ID=fedora
expect 0 'not found, and optional: cmocka, for tests (pacman -S cmocka)' elsewhere ID=arch
expect 1 'missing: cmocka. As root: pacman -S cmocka' elsewhere ID=arch test
expect 1 "package needs Debian's packages" elsewhere ID=arch package

# Headers of all folders are compiled.
mkdir -p "$room"/headers/{tools,bench,config,include/octet} && cp tools/{tidy.py,header_check.sh} "$room/headers/tools/"
touch "$room"/headers/{bench/b.h,config/a.h,include/octet/c.h}
expect 1 $'alone: bench/b.h\ndoes not compile alone: config/a.h\ndoes not compile alone: include/octet/c.h' \
    "$room/headers/tools/header_check.sh" "$room/headers" false
expect 0 '3 headers' "$room/headers/tools/header_check.sh" "$room/headers" true

# A new machine: dpkg-query knows none of the packages, and fails.
printf '#!/bin/sh\nexit 1\n' >"$room/bin/dpkg-query" && chmod +x "$room/bin/dpkg-query"
# shellcheck disable=SC2016
expect 0 'goes on' bash -c 'set -euo pipefail; root=$PWD; . script/lib.sh
    state=$(packages_state) && echo "goes on with $state"'
rm "$room/bin/dpkg-query"

log=$room/log
printf '{"name": "t%s", "result": "%s"}\n' 1 OK 2 FAIL 3 SKIP 4 TIMEOUT 5 EXPECTEDFAIL \
    6 UNEXPECTEDPASS 7 ERROR 8 OK >"$log"
expect 0 '3 4 1' python3 tools/test_counts.py "$log"
expect 0 'TIMEOUT: t4' python3 tools/test_counts.py "$log"
expect 0 $'t2\nt4\nt6\nt7' python3 tools/test_counts.py --failed "$log"
# Of those that ran again the second result counts.
printf '{"name": "t%s", "result": "%s"}\n' 2 OK 4 FAIL 6 OK 7 SKIP >"$log.again"
expect 0 '5 1 2' python3 tools/test_counts.py "$log" "$log.again"
expect 0 'FAIL: t4' python3 tools/test_counts.py "$log" "$log.again"
: >"$log"
expect 0 '0 0 0' python3 tools/test_counts.py "$log"
expect 1 '' python3 tools/test_counts.py none.json
# What pytest, unittest, cmocka and words say of skips inside a test counts, and is told by its reason.
cat >"$log" <<'END'
{"name": "octet:python / python a", "result": "OK", "stdout": "..s [100%]\nSKIPPED [2] tests/a.py:7: could not import 'torch'\nSKIPPED [1] tests/a.py:9: SKIPPED: no moviepy\n9 passed, 3 skipped\n"}
{"name": "octet:e2e / b", "result": "OK", "stdout": "", "stderr": ".s\nSKIPPED [1] test_b (__main__.B.test_b): could not import 'torch'\nOK (skipped=1)\n"}
{"name": "octet:unit / c", "result": "OK", "stdout": "[ RUN      ] test_c\n[  SKIPPED ] test_c\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] test_c\n"}
{"name": "octet:e2e / d", "result": "OK", "stdout": "    SKIPPED: needs root\n    SKIPPED: needs root\n"}
{"name": "octet:e2e / e", "result": "SKIP", "stdout": "SKIPPED: needs root\nSKIPPED: needs qemu\n"}
{"name": "octet:e2e / f", "result": "SKIP", "stdout": ""}
END
expect 0 '4 0 8' python3 tools/test_counts.py "$log"
expect 0 "could not import 'torch' (2 of python a, b)
needs qemu (e)
needs root (d, e)
no moviepy (python a)
no reason given (f)
test_c (c)" python3 tools/test_counts.py --skipped "$log"

# Build folders. This meson makes what configure looks at, and writes down how it was called.
cat >"$room/bin/meson" <<'END'
#!/bin/bash
echo "$*" >>calls
[ -z "$BREAKS" ] || exit 1
[ "$2" != --reconfigure ] || shift
mkdir -p "$2/meson-info"
touch "$2/build.ninja"
printf '{"directories": {"source": "%s"}}' "$3" >"$2/meson-info/meson-info.json"
END
# configured ROOT ARGUMENTS...: configure, as a script of ROOT calls it.
configured() {
    # shellcheck disable=SC2016
    expect "$wanted" "$says" bash -c 'root=$1; shift; . "$0"; configure "$@"' \
        "$tree/script/lib.sh" "$@"
}
# file_is THERE FILE: whether it is there (1) or not (0).
file_is() {
    [ "$1" -eq "$([ -e "$2" ] && echo 1 || echo 0)" ] || { echo "$2: wanted $1" && failed=1; }
}
calls_are() {
    [ "$(cat calls)" = "$1" ] || { printf 'wanted calls:\n%s\ngot:\n%s\n' "$1" "$(cat calls)" && failed=1; }
    : >calls
}
tree=$PWD
cd "$room" || exit 1
: >calls
wanted=0 says=
configured /tree own --buildtype=release
configured /tree own --buildtype=release
calls_are 'setup own /tree --buildtype=release' # once
touch own/object
configured /moved own --buildtype=release
calls_are 'setup own /moved --buildtype=release'
file_is 0 own/object
wanted=1 says=failed BREAKS=1 configured /moved own --buildtype=debug
touch own/half
wanted=0 says='' configured /moved own --buildtype=debug # an attempt of ours that broke off
file_is 0 own/half
: >calls

meson setup hand /tree && touch hand/object && : >calls
wanted=0 says='configured by hand' configured /tree hand --buildtype=release
wanted=0 says='' configured /tree hand --buildtype=release
calls_are 'setup --reconfigure hand /tree --buildtype=release' # once
file_is 1 hand/object
wanted=1 says='is not a build folder of /moved' configured /moved hand --buildtype=release
mkdir mine && touch mine/thesis
wanted=1 says='is not a build folder of' configured /tree mine
file_is 1 mine/thesis
calls_are ''

# The release before is the commit that the tree names, or the argument.
mkdir -p release/{script,tests/config} && cp "$tree"/script/{test-upgrade,lib.sh,packages.sh} release/script/ && cd release || exit 1
# shellcheck disable=SC2317 # called by expect
in_git() {
    git -c user.name=test -c user.email=test@example.org -c init.defaultBranch=main "$@"
}
in_git init --quiet . && in_git add . && in_git commit --quiet -m first && in_git tag v0.1.0
printf '%s\n' '# words' "# commit $(git rev-parse HEAD)" 'run.name | text' >tests/config/last_release.txt
in_git commit --quiet --allow-empty -m second
expect 1 'builds v0.1.0' script/test-upgrade --build .
expect 1 'builds v0.1.0-1-g' script/test-upgrade --build . HEAD
printf '%s\n' "# commit $(printf '0%.0s' {1..40})" >tests/config/last_release.txt
expect 77 'is not in this clone' script/test-upgrade --build .
expect 77 'v0.3.0 is not in this clone' script/test-upgrade --build . v0.3.0

exit $failed
