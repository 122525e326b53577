#!/usr/bin/env python3
"""octet cluster without hosts: what it refuses before anything is started, and what it would start.
What runs over ssh and under Slurm is in tests/ssh and tests/slurm.

usage: test_cluster.py OCTET
"""

import pathlib
import subprocess
import sys
import tempfile


def octet(*arguments, status=None):
    result = subprocess.run([OCTET, "cluster", *[str(a) for a in arguments]], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=120, check=False)
    assert status is None or result.returncode == status, (arguments, result)
    return result


def test_refusals():
    """Wrong options and experiments end it with words that name them, before any host is spoken to."""
    refused = {
        (): "Usage: octet cluster COMMAND",
        ("shh",): "did you mean 'ssh'?",
        ("ssh", "cartpole"): "no --hosts",
        ("ssh", "cartpole", "--hosts", "a,b,a"): "--hosts has 'a' twice",
        ("ssh", "cartpole", "--hosts", "a,-oProxyCommand=x"): "--hosts has '-oProxyCommand=x'",
        ("ssh", "cartpole", "--hosts", "a,b", "--learner-host", "c"): "--learner-host is 'c', which --hosts does not have",
        ("ssh", "cartpole", "--hosts", "a", "--actors", "0"): "--actors is '0'",
        ("ssh", "cartpole", "--hosts", "a", "--port", "80"): "--port is '80'",
        ("ssh", "cartpole", "--hosts", "a", "--name", "No_label"): "--name is 'No_label'",
        ("ssh", "cartpole", "--hosts", "a", "--address", "a b"): "--address is 'a b'",
        ("ssh", "cartpole", "--hosts", "a", "--resume"): "--resume needs --run-dir",
        ("ssh", "cartpole", "--hosts", "a", "--certs", "x", "--insecure"): "one of both is allowed",
        ("ssh", "cartpol", "--hosts", "a"): "did you mean 'cartpole'?",
        ("ssh", "cartpole", "--hosts", "a", "--set", "algo.n_stp=3"): "did you mean algo.n_step?",
    }
    for arguments, words in refused.items():
        result = octet(*arguments, status=2)
        assert words in result.stderr, (arguments, result)
    result = octet("ssh", "pendulum", "--hosts", "a", "--set", "algo.name=dqn", status=1)
    assert "--set algo.name=dqn: error: algo.name: dqn needs discrete actions" in result.stderr, result
    result = octet("ssh", "cartpole", "--hosts", "a", "--certs", "/nowhere", status=1)
    assert "/nowhere/learner/ca.crt: octet certs issue learner learner --dir /nowhere makes it" in result.stderr, result


def test_no_run():
    """--resume of a folder without a checkpoint is refused, and the folder left as it is."""
    with tempfile.TemporaryDirectory() as folder:
        result = octet("ssh", "cartpole", "--hosts", "a", "--resume", "--run-dir", folder, status=1)
        assert "has no checkpoint to resume from" in result.stderr, result
        assert not list(pathlib.Path(folder).iterdir())


if __name__ == "__main__":
    OCTET = str(pathlib.Path(sys.argv[1]).resolve())
    test_refusals()
    test_no_run()
