"""An installed wheel: what is in it, what it needs, and that it trains. Run by script/test-wheel, by the Python that
the wheel was just installed for, in a folder with dist/octet_rl-….whl and run/, which octet train made."""

import hashlib
import http.client
import importlib.metadata
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys

import numpy as np
import octet
import pytest

PACKAGE = pathlib.Path(octet.__file__).parent
MEGABYTES_MAX = 9
SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)\.so\.\d+")


def test_the_wheel_is_what_is_tested():
    assert "OCTET_LIBRARY" not in os.environ and "PYTHONPATH" not in os.environ
    assert PACKAGE.is_relative_to(sys.prefix) and (PACKAGE / "py.typed").is_file()
    wheel, = pathlib.Path("dist").glob("octet_rl-*.whl")
    assert wheel.stat().st_size <= MEGABYTES_MAX * 1e6
    assert re.fullmatch(rf"octet_rl-{octet.__version__}-py3-none-manylinux_2_28_\w+\.whl", wheel.name)
    assert importlib.metadata.version("octet-rl") == octet.__version__


def test_it_requires_numpy_and_gymnasium_alone():
    required = {re.match(r"\w+", line)[0] for line in importlib.metadata.requires("octet-rl")}
    assert required == {"numpy", "gymnasium"}


def native_files():
    files = [path for path in (PACKAGE / "_prefix").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) > 10
    return files


# What manylinux_2_28 allows of glibc and gcc. Symbols without a version are those of python/wheel/old_versions.py.
def test_every_symbol_is_one_of_an_old_system():
    newest = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
    seen = set()
    for path in native_files():
        said = subprocess.run(["objdump", "-p", "-T", path], capture_output=True, text=True, check=True).stdout
        for name, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\w[\w.]*)", said):
            assert tuple(map(int, version.split("."))) <= newest[name], f"{path}: {name}_{version}"
            seen.add(name)
    assert "GLIBC" in seen


def test_every_library_is_its_own_or_the_systems():
    lister = os.environ.get("OCTET_TEST_LDD", "ldd").split() # where another machine's loader has to be asked
    for path in native_files():
        for line in subprocess.run([*lister, path], capture_output=True, text=True, check=True).stdout.splitlines():
            name, _, found = line.strip().partition(" => ")
            if name.startswith("("): # the kernel's vdso, which has no name under qemu-user
                continue
            ours = found.startswith(str((PACKAGE / "_prefix").resolve())) or found.startswith(str(PACKAGE))
            assert ours or SYSTEM.match(pathlib.Path(name.split()[0]).name), f"{path}: {line}"


def test_every_library_has_its_licence():
    names = {pathlib.Path(str(file)).name for file in importlib.metadata.files("octet-rl") if "licenses" in str(file)}
    assert {"LICENSE", "NOTICE"} <= names == set(importlib.metadata.metadata("octet-rl").get_all("License-File"))
    assert all(any(name.startswith(part) for name in names) for part in ("libnng", "libopenblas", "libssl"))


def test_its_list_names_every_file_and_the_package_of_every_library():
    files = {str(file): file for file in importlib.metadata.files("octet-rl")}
    said = json.loads(next(file for name, file in files.items() if name.endswith(".spdx.json")).read_text())
    listed = {one["fileName"][2:]: {each["algorithm"]: each["checksumValue"] for each in one["checksums"]}["SHA256"] for one in said["files"]}
    assert {name for name in files if name.startswith("octet/") and "__pycache__" not in name} <= set(listed)
    for name, digest in listed.items():
        assert hashlib.sha256((PACKAGE.parent / name).read_bytes()).hexdigest() == digest, name
    packages = {one["name"] for one in said["packages"] if one.get("supplier") == "Organization: Debian"}
    assert {"libnng1", "libuv1", "libjs-dygraphs"} <= packages


def test_the_command_is_that_of_the_wheel():
    command = pathlib.Path(sys.executable).parent / "octet"
    for start in ([command], [sys.executable, "-m", "octet"]):
        said = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True).stdout
        assert octet.__version__ in said
    failed = subprocess.run([command, "env", "info", "nothing"], capture_output=True, text=True, check=False)
    assert failed.returncode != 0 and "octet" in failed.stderr


def test_all_daemons_are_commands():
    for name in ("octet-actor", "octet-learner", "octet-relay", "octet-replay"):
        said = subprocess.run([pathlib.Path(sys.executable).parent / name, "--version"], capture_output=True, text=True, check=True)
        assert said.stdout.startswith(f"{name} {octet.__version__}")


def test_the_command_runs_the_python_that_it_is_installed_for():
    command = pathlib.Path(sys.executable).parent / "octet"
    environ = {key: value for key, value in os.environ.items() if key != "OCTET_PYTHON"}
    said = subprocess.run([command, "env", "check", "gym:CartPole-v1"], capture_output=True, text=True, check=False,
                          env={**environ, "PATH": "/nowhere"})
    assert said.returncode == 0, said.stderr
    named = subprocess.run([command, "env", "check", "gym:CartPole-v1"], capture_output=True, text=True, check=False,
                           env={**environ, "OCTET_PYTHON": "/nowhere/python"})
    assert named.returncode != 0 and "/nowhere/python cannot be started" in named.stdout


def test_presets_are_found_by_name():
    assert octet.preset("dmc/cheetah_run").is_file()
    with pytest.raises(octet.OctetError, match="no preset 'cartpool'; did you mean 'cartpole'?"):
        octet.preset("cartpool")


def test_what_it_trained_balances_the_pole():
    policy = octet.Policy("run/policy.oct")
    assert policy.info.env_id == "CartPole-v1" and policy.info.precision == "int8"
    env = octet.make_vec("CartPole-v1", 20)
    obs, _ = env.reset(seed=5)
    returns = []
    for _ in range(501):
        obs, _, _, _, infos = env.step(policy.act(obs))
        if infos:
            returns += infos["episode_return"][infos["_episode_return"]].tolist()
    assert np.mean(returns) >= 400


def test_the_control_suite_is_there():
    if not (PACKAGE / "_prefix/lib/octet/env_dmc.so").exists():
        pytest.skip("this wheel has no Control Suite: its build was configured without MuJoCo")
    env = octet.make_vec("dmc:cheetah_run", 4)
    obs, _ = env.reset(seed=1)
    assert obs.shape == (4, 17) and np.isfinite(env.step(np.zeros((4, 6), np.float32))[0]).all()
    listed = subprocess.run([pathlib.Path(sys.executable).parent / "octet", "env", "list"], capture_output=True, text=True, check=True)
    assert "dmc:cheetah_run" in listed.stdout


def test_a_replay_is_served_by_the_wheel(tmp_path):
    with octet.Replay(tmp_path, observation=((2,), "float32"), action=((), "int32"), capacity=1000, streams=1) as replay:
        with replay.writer() as writer:
            writer.append([1, 2], 3, 4, True, False, [5, 6])
        assert replay.sample(1).next_observations.tolist() == [[5, 6]]
    with open("/proc/self/maps", encoding="utf-8") as maps:
        ours = {line.split()[-1] for line in maps if "liboctet-replay" in line}
    assert ours == {str(PACKAGE / "_prefix" / "lib" / "liboctet-replay.so")}


# The wheel has neither GnuTLS nor X11 nor FreeType, which libmicrohttpd and cairo could ask.
def test_pages_are_served_over_https(tmp_path):
    command = pathlib.Path(sys.executable).parent / "octet"
    for arguments in (["init"], ["issue", "learner", "learner", "--host", "localhost"], ["issue", "operator", "anna"]):
        subprocess.run([command, "certs", *arguments], cwd=tmp_path, check=True, capture_output=True)
    for _ in range(5): # another process may take the port
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen([command, "dash", pathlib.Path("run").resolve(), "--listen", f"https://127.0.0.1:{port}", "--tls",
                               "octet-certs/learner"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as child:
            if "shows 1 run" not in child.stdout.readline():
                continue
            trust = ssl.create_default_context(cafile=tmp_path / "octet-certs/learner/ca.crt")
            trust.load_cert_chain(tmp_path / "octet-certs/anna/node.crt", tmp_path / "octet-certs/anna/node.key")
            link = http.client.HTTPSConnection("localhost", port, context=trust, timeout=60)
            link.request("GET", "/runs")
            answer = link.getresponse()
            assert answer.status == 200 and b'"rows"' in answer.read()
            link.close()
            child.terminate()
            return
    pytest.fail("octet dash does not start")


def test_pictures_are_drawn():
    env = octet.make("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    assert len(np.unique(env.render().reshape(-1, 3), axis=0)) > 2
