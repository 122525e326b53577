#!/usr/bin/env python3
"""The job that octet cluster slurm prints, with programs in the place of Slurm's. With a slurmctld: tests/slurm.

usage: test_cluster_slurm.py OCTET
"""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from cluster import OCTET, SHELL, octet, program, runs  # noqa: E402
from daemons import wait_for  # noqa: E402


def test_slurm():
    """The job is a script for bash; options, the experiment, and paths with odd characters are in it as they are."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "it's $HOME \"here\""
        result = octet("slurm", "cartpole", "--actors", 7, "--evaluators", 2, "--run-dir", run, "--set", "run.seed=5", "--sbatch",
                       "--partition=long", "--sbatch-actors", "--partition=spot", "--set", "learner.threads=3", status=0)
        script = result.stdout
        subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=60)
        head, _, body = script.partition("\nexport PATH")
        lines = head.splitlines()
        at = lines.index("#SBATCH hetjob")
        assert "#SBATCH --partition=long" in lines[:at] and "#SBATCH --partition=spot" in lines[at:], head
        assert any("--cpus-per-task=7 " in line for line in lines[:at]), head  # 3 + 1, replay, 2 evaluators
        assert any("--ntasks=7 " in line for line in lines[at:]), head
        assert "  seed: 5\n" in body and "learner_cpus=4\n" in body
        # What bash makes of it.
        asked = body[body.index("\nrun="):body.index("write_files()")]
        asked += '\nhead=h learner_host=h port=1 work=/w; plan; printf "%s\\n" "$run" "${learner[@]}" -- "${actor[@]}"\n'
        words = subprocess.run(["bash", "-u"], input=asked, text=True, capture_output=True, check=True).stdout.splitlines()
        assert words[0] == str(run), words
        assert words[1:] == ["octet-learner", "/w/experiment.yaml", "--run-dir", str(run), "--resume", "--exit-when-stopped", "143", "--await-evaluator", "60",
                             "--set", "net.learner=tls+tcp://*:1", "--set", "net.replay=tls+tcp://h:6",
                             "--tls", "/w/certs/learner", "--", "octet-actor", "--learner", "tls+tcp://h:1", "--exit-when-stuck", "auto",
                             "--give-up-after", "86400", "--tls", "/w/certs/actor"], words
        # Shards of replay: a step, a port and a file for each.
        result = octet("slurm", "cartpole", "--set", "replay.shards=3", status=0).stdout
        asked = result[result.index("\ndaemons="):result.index("write_files()")]
        asked += '\nhead=h learner_host=h port=1 work=/w run=/r; plan; printf "%s\\n" "${daemons[*]}" "${replay_2[*]}" "${learner[*]}"\n'
        words = subprocess.run(["bash", "-u"], input=asked, text=True, capture_output=True, check=True).stdout.splitlines()
        assert words[0] == "replay replay-1 replay-2 learner evaluator actor", words
        assert "--listen tls+tcp://*:21 --path /r/replay-2.oct" in words[1] and words[1].endswith("--tls /w/certs/replay"), words
        assert "net.replay=tls+tcp://h:6,tls+tcp://h:16,tls+tcp://h:21 " in words[2], words
        assert octet("slurm", "cartpole", "--insecure", status=0).stdout.count("tls+tcp") == 0
        # Without --port the job takes one that its node has free.
        for port, given in ((0, []), (5555, ["--port", 5555]), (7000, ["--port", 7000])):
            assert f"\nport={port}\n" in octet("slurm", "cartpole", *given, status=0).stdout, port


def test_slurm_memory_is_what_the_experiment_needs():
    def memory(*options):
        script = octet("slurm", *options, status=0).stdout
        found = dict(re.findall(r"^(learner|replay|actor)_memory=(\d+)$", script, re.M))
        return [int(found[role]) for role in ("learner", "replay", "actor")]

    learner, replay, actor = memory("cartpole")
    assert max(learner, replay, actor) < 512, (learner, replay, actor)
    assert memory("cartpole", "--replay-memory", 700, "--actor-memory", 90) == [learner, 700, 90]
    # A row of CartPole has 36 bytes; a table of 100 million is more than a fixed default would hold.
    assert memory("cartpole", "--set", "replay.capacity=100000000")[1] > 2048
    assert memory("cartpole", "--set", "network.hidden=[2048, 2048, 2048]")[0] > learner


def test_slurm_learners():
    """Learners of several nodes have a component of their own, and all but MPI has TLS."""
    script = octet("slurm", "cartpole", "--actors", 3, "--learners", 4, "--learner-nodes", 2, "--insecure-mpi", "--learner-memory", 1000,
                   "--set", "learner.threads=3", "--sbatch", "--partition=long", "--sbatch-actors", "--partition=spot", status=0).stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=60)
    components = [part.splitlines() for part in script.partition("\noctet_path=")[0].split("#SBATCH hetjob")]
    assert len(components) == 3, components
    assert any("--nodes=1 --ntasks=1 --cpus-per-task=2 " in line for line in components[0]), components  # replay and an evaluator
    assert "#SBATCH --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=4 --mem-per-cpu=250M" in components[1], components
    assert any("--ntasks=3 " in line for line in components[2]), components
    assert ["long" in str(part) for part in components] == [True, True, False], components
    asked = script[script.index("\ndaemons="):script.index("write_files()")]
    asked += '\nhead=h learner_host=l port=1 work=/w run=/r; plan; printf "%s\\n" "${learner[*]}" "${actor[*]}"\n'
    learner, actor = subprocess.run(["bash", "-u"], input=asked, text=True, capture_output=True, check=True).stdout.splitlines()
    assert learner.endswith("net.replay=tls+tcp://h:6 --tls /w/certs/learner --insecure"), learner
    assert actor == "octet-actor --learner tls+tcp://l:1 --exit-when-stuck auto --give-up-after 86400 --tls /w/certs/actor", actor
    # On one node they are copies of one process, in the first component.
    script = octet("slurm", "cartpole", "--actors", 3, "--learners", 4, status=0).stdout
    assert script.count("#SBATCH hetjob") == 1 and "--cpus-per-task=7 " in script and "learner_nodes=1\n" in script
    assert "--insecure" not in script.partition("write_files()")[0]


def test_places_for_actors():
    """All actors share one certificate, also those of arrays: it may hold as many places as can connect with it."""
    def places(*arguments):
        out = octet("slurm", "cartpole", *arguments, status=0).stdout
        return int(out.partition("actors_per_certificate: ")[2].split()[0])
    assert places() == places("--actors", 2048) == 2048
    assert places("--set", "learner.actors_per_certificate=0", "--actors", 2048) == 0
    assert places("--set", "learner.actors_per_certificate=8", "--actors", 8) == 8
    assert places("--insecure", "--actors", 16000) == 1024, "without TLS it has no effect"


def slurm_tools(folder):
    """A folder of programs in Slurm's place; those that are here do nothing."""
    tools = folder / "tools"
    tools.mkdir()
    for tool in ("scontrol", "scancel"):
        program(tools / tool, "#!/bin/sh\n")
    return tools


def slurm_job(folder, **variables):
    """Runs job.sh as job 2, with the folder's tools."""
    return subprocess.run(["bash", folder / "job.sh"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
                          env={**os.environ, "PATH": f"{folder}/tools:{os.environ['PATH']}", "SLURM_JOB_ID": "2", **variables})


def test_slurm_run_that_is_taken():
    """A job that finds its run folder in use by another one leaves it alone; one that Slurm has forgotten uses it no more."""
    running, gone = "echo RUNNING", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, tools = folder / "run", slurm_tools(folder)
        program(tools / "srun", f"#!/bin/sh\necho begun >>{folder}/begun\n")
        (folder / "job.sh").write_text(octet("slurm", "cartpole", "--insecure", "--run-dir", run, status=0).stdout, encoding="utf-8")
        for owner, squeue, status, says in (
                ("", running, 0, "ended: "), ("2", running, 0, "ended: "), ("1", gone, 0, "ended: "), ("1", "", 0, "ended: "),
                ("1", "[ -e $0.asked ] || { : >$0.asked; echo COMPLETING; }", 0, "ended: "),
                ("1", "echo COMPLETING", 1, "(COMPLETING)"),
                ("1", running, 1, f"job 1 is using {run} (RUNNING); wait for it to end, or scancel 1"),
                ("1", "echo PENDING; echo PENDING", 1, "(PENDING)"),
                ("1", "echo 'Unable to contact slurm controller' >&2; exit 1", 1, "(Unable to contact slurm controller)")):
            (run / "job").mkdir(parents=True)
            (run / "log").mkdir(exist_ok=True)
            (run / "log/.job").write_text(owner, encoding="utf-8")
            (run / "job/theirs").touch()
            (folder / "begun").unlink(missing_ok=True)
            program(tools / "squeue", f"#!/bin/sh\n{squeue}\n")
            done = slurm_job(folder, OCTET_COMPLETING_TRIES="2")
            assert done.returncode == status and says in done.stdout + done.stderr, (owner, squeue, done)
            is_alone = [(run / "job/theirs").exists(), not (folder / "begun").exists()]
            owner_now = (run / "log/.job").read_text(encoding="utf-8").strip()
            assert (run / "log/.job").stat().st_mode & 0o7777 == 0o600
            assert is_alone == [status == 1] * 2 and owner_now == (owner if status else "2"), (owner, squeue, is_alone, owner_now)
            shutil.rmtree(run / "job", ignore_errors=True)


def test_slurm_steps_that_end():
    """A replay or a data set that is not started again is the end of its job, which saves; steps that begin late end as well."""
    waits = "until [ -s {0}/told ]; do sleep 0.1; done"
    late = f"{waits}; : >{{0}}/told; {waits}"
    finished, stopped = f"{waits}; exit 0", f"{waits}; exit 143"
    for replay, learner, actor, status, says in (
            ("exit 3", stopped, waits, 3, "replay-1 has exited (code 3), and the learner cannot continue without it"),
            ("exit 0", stopped, waits, 143, "replay-1 has exited (code 0), and the learner cannot continue without it"),
            ("exit 1", finished, waits, 0, "replay-1 has exited (code 1), and the learner cannot continue without it"),
            (waits, "exit 3", late, 3, "the learner has exited (code 3)")):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run, tools = folder / "run", slurm_tools(folder)
            program(tools / "scancel", f"#!/bin/sh\necho \"$*\" >>{folder}/told\n")
            program(tools / "srun", "#!/bin/sh\ncase \"$*\" in\n"
                                    f"*--job-name=replay-1*) {replay} ;;\n*--job-name=learner*) {learner} ;;\n"
                                    f"*--job-name=actor*) {actor} ;;\n*) {waits} ;;\nesac\n".replace("{0}", str(folder)))
            (folder / "job.sh").write_text(octet("slurm", "cartpole", "--insecure", "--run-dir", run, "--set", "replay.shards=2",
                                                 status=0).stdout, encoding="utf-8")
            done = slurm_job(folder)
            assert done.returncode == status and says in done.stdout and done.stdout.count("has exited") == 1, (status, done)
            assert done.stderr == "" and not (run / "job").exists(), done


def slurm_ports(folder, run, job, shards=1):
    """Those that a job takes on its node."""
    script = octet("slurm", "cartpole", "--insecure", "--run-dir", run, "--set", f"replay.shards={shards}", status=0).stdout
    (folder / "job.sh").write_text(script, encoding="utf-8")
    done = slurm_job(folder, SLURM_JOB_ID=str(job))
    assert done.returncode == 0, done
    first = int(re.search(r"ports from (\d+),", done.stdout)[1])
    return range(first, first + int(re.search(r"^ports=(\d+)$", script, re.MULTILINE)[1]))


def test_slurm_ports():
    """Jobs of one node have ports of their own, whatever else each has; what others listen at there is passed over."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tools = slurm_tools(folder)
        for tool in ("srun", "squeue"):
            program(tools / tool, "#!/bin/sh\n")
        ports = slurm_ports(folder, folder / "run", 2)
        with socket.socket() as other:
            other.bind(("127.0.0.1", ports[7]))
            other.listen()
            assert ports[7] not in slurm_ports(folder, folder / "run", 2), ports
        program(tools / "awk", "#!/bin/sh\n")  # a node on which nobody listens
        jobs = {(job, shards): slurm_ports(folder, folder / "run", job, shards)
                for job, shards in ((4711, 1), (4731, 2), (4732, 2), (4733, 16), (5634, 1))}
        taken = [port for ports in jobs.values() for port in ports]
        assert len(taken) == len(set(taken)) and min(taken) >= 20000 and max(taken) < 32000, jobs


def test_slurm_keys_of_a_job():
    """While the steps run, the key of the run's authority is gone; they have those of their roles."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, tools = folder / "run", slurm_tools(folder)
        (tools / "octet").symlink_to(OCTET)
        program(tools / "srun", f"#!/bin/sh\ncd {run}/job/certs && find . -name '*.key' >>{folder}/keys\n")
        (folder / "job.sh").write_text(octet("slurm", "cartpole", "--run-dir", run, status=0).stdout, encoding="utf-8")
        done = slurm_job(folder)
        assert done.returncode == 0, done
        keys = set((folder / "keys").read_text(encoding="utf-8").split())
        assert keys == {f"./{role}/node.key" for role in ("learner", "replay", "actor", "evaluator", "operator")}, keys


@contextlib.contextmanager
def slurm_array(actor):
    """A task of an array beside a job that is running, whose actor is that script for sh; gives the run's folder and the task."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, tools = folder / "run", slurm_tools(folder)
        program(tools / "srun", "#!/bin/sh\n")
        program(tools / "squeue", f"#!/bin/sh\n[ -e {folder}/over ] || echo RUNNING\n")
        (folder / "job.sh").write_text(octet("slurm", "cartpole", "--insecure", "--run-dir", run, status=0).stdout, encoding="utf-8")
        assert slurm_job(folder).returncode == 0 and not (run / "job").exists()
        (run / "job").mkdir()
        shutil.copy(SHELL / "octet_keep.sh", run / "job/keep.sh")
        program(folder / "actor", f"#!/bin/sh\necho \"$1 $$\" >>{folder}/begun\n{actor}\n")
        (run / "job/actor").write_text(f"{folder}/actor first ", encoding="utf-8")
        task = subprocess.Popen(["bash", run / "actors.sh"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "3"})
        try:
            yield folder, task
        finally:
            task.terminate()
            task.communicate(timeout=60)


def begun(folder, count):
    """What has begun, when so many have: (word, process)."""
    def look():
        lines = (folder / "begun").read_text(encoding="utf-8").splitlines() if (folder / "begun").exists() else []
        return [line.split() for line in lines] if len(lines) >= count else None
    return wait_for("an actor", look)


def test_slurm_actors_of_an_array():
    """Each follows the run's job, and ends with it, with what Slurm tells it, and with an actor that refuses to run."""
    waits = "trap 'echo drained; exit 0' TERM\nwhile :; do sleep 0.1; done"
    with slurm_array(waits) as (folder, task):
        (_, first), = begun(folder, 1)
        (folder / "run/job/next").write_text(f"{folder}/actor second ", encoding="utf-8")  # the job began again, elsewhere
        (folder / "run/job/next").rename(folder / "run/job/actor")
        (_, second), = [line for line in begun(folder, 2) if line[0] == "second"]
        assert not runs(first) and runs(second)
        (folder / "over").touch()
        shutil.rmtree(folder / "run/job")
        out, _ = task.communicate(timeout=60)
        assert task.returncode == 0 and out == "drained\ndrained\n" and not runs(second), out
        assert not list((folder / "run/log").glob(".actor-*"))
    with slurm_array(waits) as (folder, task):
        (_, actor), = begun(folder, 1)
        task.terminate()
        out, _ = task.communicate(timeout=60)
        assert task.returncode == 0 and out == "drained\n" and not runs(actor), out
    with slurm_array("exit 3") as (folder, task):
        out, _ = task.communicate(timeout=60)
        assert task.returncode == 3 and out == "the actor has exited (code 3)\n" and len(begun(folder, 1)) == 1, out


if __name__ == "__main__":
    test_slurm()
    test_slurm_memory_is_what_the_experiment_needs()
    test_slurm_learners()
    test_places_for_actors()
    test_slurm_run_that_is_taken()
    test_slurm_steps_that_end()
    test_slurm_ports()
    test_slurm_keys_of_a_job()
    test_slurm_actors_of_an_array()
