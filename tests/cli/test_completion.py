#!/usr/bin/env python3
"""octet completion: what it offers where, and what bash, and fish and zsh where they are installed, make of it.

usage: test_completion.py OCTET
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

OCTET = pathlib.Path(sys.argv[1]).resolve()
# The shell's own part of completion, so that no terminal is needed: what is offered is printed.
BASH = """
compopt() { echo "compopt $*"; }
. <("$1" completion bash)
COMP_LINE=$2 COMP_POINT=${#2}
word=${2##* }
[[ $COMP_WORDBREAKS == *[=:]* ]] && word=${word##*[=:]}
_octet "$1" "$word" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """
$argv[1] completion fish | source
complete -C $argv[2] | cut -f1
"""
ZSH = """
compdef() { : }
compset() { print -r -- compset "$@" }
compadd() { while [[ $1 != -- ]] { shift }; shift; print -rl -- "$@" }
_files() { print -r -- FILES }
octet() { "$program" "$@" }
program=$1
. <(octet completion zsh)
words=("${(@s: :)2}") CURRENT=${#words} PREFIX=${words[-1]}
_octet
"""


def octet(*words):
    return subprocess.run([OCTET, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)


def offered(line):
    """The candidates for the last word of a command line."""
    done = octet("completion", "words", "--", *line.split(" ")[1:])
    assert done.returncode == 0 and done.stderr == "", f"{line}: exit {done.returncode}\n{done.stderr}"
    return done.stdout.splitlines()


def test_words_are_commands_options_presets_keys_and_values():
    assert offered("octet tra") == ["train", "track"]
    assert "--seed" in offered("octet train --s") and "--actors" not in offered("octet train --s")
    assert offered("octet train dmc/hopper_h") == ["dmc/hopper_hop", ":files"]
    assert offered("octet plan dmc/hopper_h") == offered("octet doctor dmc/hopper_h") == ["dmc/hopper_hop", ":files"]
    assert offered("octet plan cartpole --set algo.na") == ["algo.name="] and "--actors" in offered("octet plan --a")
    assert offered("octet train --set algo.na") == ["algo.name="]
    assert offered("octet train cartpole --set algo.name=re") == ["algo.name=reinforce"]
    assert offered("octet sweep --set=learner.bf16=") == ["--set=learner.bf16=true", "--set=learner.bf16=false"]
    assert offered("octet train --set env.id=CartP") == ["env.id=CartPole-v1"]
    assert offered("octet config --check=acro") == ["--check=acrobot", ":files"]
    assert offered("octet train --set algo.name=rai") == ["algo.name=rainbow"]
    assert offered("octet config --explain ra") == ["rainbow"] and "ppo" in offered("octet config --explain ")
    assert offered("octet config learner.ba") == ["learner.batch_size", "learner.batches_per_request"]
    assert offered("octet env ch") == ["check"]
    assert offered("octet env check Pend") == ["Pendulum-v1", ":files"]
    assert offered("octet eval pol") == [":files"]
    assert offered("octet --v") == ["--version"]
    assert offered("octet quantize --range ") == ["absmax", "percentile", "mse"]  # words of an option, and no files
    assert offered("octet cluster k8s --pull=If") == ["--pull=IfNotPresent"]
    assert offered("octet train --seed ") == [] and offered("octet train --run-dir ") == [":files"]
    assert offered("octet train --dash acro") == ["acrobot", ":files"]  # the value of --dash stands behind "="


def test_nothing_is_offered_after_what_octet_does_not_know():
    assert offered("octet trian ") == []
    assert offered("octet env chekc ") == []
    assert offered("octet train --set algo.nmae=d") == []


def commands(*family):
    shown = octet(*family, "--help").stdout
    return [name for name in re.findall(r"^  ([a-z0-9]+) ", shown, re.MULTILINE) if name != "octet"]  # the last line is about all


def test_every_command_tells_its_options_and_does_nothing():
    families = {"cluster", "data", "certs", "env", "run"}
    lines = [[name, *sub] for name in commands() for sub in ([[at] for at in commands(name)] if name in families else [[]])]
    assert len(lines) > 35 and ["certs", "init"] in lines and ["cluster", "slurm"] in lines
    for line in lines:
        assert offered(f"octet {' '.join(line)} --hel") == ["--help"], line
        assert ":files" in offered(f"octet {' '.join(line)} ") or line[0] in ("presets", "config", "completion"), line


def test_wrong_shells_are_named():
    done = octet("completion", "tcsh")
    assert done.returncode == 2 and "SHELL is 'tcsh'; allowed is bash, zsh or fish" in done.stderr
    done = octet("completion")
    assert done.returncode == 2 and "name a shell" in done.stderr


def shell(argv, line, folder):
    done = subprocess.run([*argv, line], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, cwd=folder, timeout=60)
    assert done.stderr == "", done.stderr
    return done.stdout.splitlines()


def test_bash(folder):
    def offers(line, setup=""):
        return shell(["bash", "--norc", "-c", setup + BASH, "bash", OCTET], line, folder)
    assert offers("octet tra") == ["train", "track"]
    assert offers("octet train --set algo.na") == ["compopt -o nospace", "algo.name="]
    assert offers("octet train --set algo.name=rei") == ["reinforce"]  # bash completes what is behind "="
    assert offers("octet train --set=env.id=CartP") == ["CartPole-v1"]
    assert offers("octet train --set algo.name=rei", "COMP_WORDBREAKS=' '\n") == ["algo.name=reinforce"]
    assert offers("octet train qu") == ["compopt -o filenames", "quick one.yaml"]
    assert offers("octet config --check=qu") == ["compopt -o filenames", "quick one.yaml"]
    assert offers("octet train acrob") == ["compopt -o filenames", "acrobot"]


def test_fish(folder):
    def offers(line):
        return shell(["fish", "--no-config", "-c", FISH, OCTET], line.replace("octet", str(OCTET), 1), folder)
    assert sorted(offers("octet tra")) == ["track", "train"]
    assert offers("octet train --set algo.na") == ["algo.name="]
    assert offers("octet train --set=algo.name=rei") == ["--set=algo.name=reinforce"]
    assert offers("octet config --check=qu") == ["--check=quick one.yaml"]
    assert offers("octet train acrob") == ["acrobot"]


def test_zsh(folder):
    def offers(line):
        return [said for said in shell(["zsh", "-f", "-c", ZSH, "zsh", OCTET], line, folder) if said]
    assert offers("octet tra") == ["train", "track"]
    assert offers("octet train --set algo.na") == ["algo.name="]
    assert offers("octet train --set=algo.name=rei") == ["--set=algo.name=reinforce"]
    assert offers("octet config --check=acro") == ["--check=acrobot", "compset -P --*=", "FILES"]


def is_installed(program):
    if not shutil.which(program):
        print(f"{program} is not installed: its script was not run")
        return False
    return True


def main():
    test_words_are_commands_options_presets_keys_and_values()
    test_nothing_is_offered_after_what_octet_does_not_know()
    test_every_command_tells_its_options_and_does_nothing()
    test_wrong_shells_are_named()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "quick one.yaml").touch()
        test_bash(folder)
        if is_installed("fish"):
            test_fish(folder)
        if is_installed("zsh"):
            test_zsh(folder)


if __name__ == "__main__":
    main()
