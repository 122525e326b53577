"""What python/make_wheel.py writes and asks for, without a build: script/test-wheel makes a whole one."""

import ast
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))

import make_wheel

FILES = {"octet/__init__.py": b"text\n", "octet/_prefix/bin/octet": b"\x7fELF", "octet/py.typed": b"", "octet-1.0.dist-info/METADATA": b"M"}


def tree_at(folder):
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o700 if "bin" in name else 0o600)
    return folder


def test_a_wheel_is_its_tree_with_a_record_of_it(tmp_path):
    make_wheel.write_wheel(tree_at(tmp_path / "tree"), tmp_path / "octet.whl")
    with zipfile.ZipFile(tmp_path / "octet.whl") as wheel:
        *names, last = wheel.namelist()
        assert wheel.testzip() is None and sorted(names) == sorted(FILES) and last == "octet-1.0.dist-info/RECORD"
        assert {name: wheel.read(name) for name in FILES} == FILES
        modes = {name: wheel.getinfo(name).external_attr >> 16 for name in FILES}
        record = list(csv.reader(io.TextIOWrapper(wheel.open("octet-1.0.dist-info/RECORD"), encoding="utf-8")))
    assert modes == {name: stat.S_IFREG | (0o755 if "bin" in name else 0o644) for name in FILES}
    assert record.pop() == ["octet-1.0.dist-info/RECORD", "", ""]
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=") for name, content in FILES.items()}
    assert sorted(record) == sorted([name, f"sha256={digests[name]}", str(len(content))] for name, content in FILES.items())


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    for number in (1, 2):
        tree = tree_at(tmp_path / str(number))
        for path in tree.rglob("*"):
            os.utime(path, (10**9 * number, 10**9 * number))
        make_wheel.write_wheel(tree, tmp_path / f"{number}.whl")
    assert (tmp_path / "1.whl").read_bytes() == (tmp_path / "2.whl").read_bytes()


def program_for(path, number):
    path.write_bytes(b"\x7fELF" + bytes(14) + number.to_bytes(2, "little") + bytes(44))
    return path


def test_a_wheel_is_for_the_machine_of_its_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(make_wheel, "ROOT", tmp_path)
    monkeypatch.setattr(make_wheel.platform, "machine", lambda: "x86_64")
    own = make_wheel.Machine(program_for(tmp_path / "own", 62))
    assert (own.name, own.sysroot) == ("x86_64", None)
    with pytest.raises(SystemExit, match="build/tools/aarch64: script/setup aarch64 makes it$"):
        make_wheel.Machine(program_for(tmp_path / "other", 183))
    (tmp_path / "build/tools/aarch64").mkdir(parents=True)
    other, ran = make_wheel.Machine(program_for(tmp_path / "other", 183)), []
    monkeypatch.setattr(make_wheel, "run", lambda *command: ran.append(command) or "libz.so.1\n")
    assert (other.name, other.sysroot) == ("aarch64", tmp_path / "build/tools/aarch64")
    with pytest.raises(SystemExit, match="no libz.so.1 is found"):  # gcc answers the name alone
        other.library("libz.so.1")
    own.gcc("-O2")
    assert ran == [("aarch64-linux-gnu-gcc", f"--sysroot={other.sysroot}", "-print-file-name=libz.so.1"), ("gcc", "-O2")]
    with pytest.raises(SystemExit, match="/arm is for none of x86_64, aarch64$"):
        make_wheel.Machine(program_for(tmp_path / "arm", 40))


class Objdump:
    """A machine whose files ask for versions of glibc, by their names."""

    def run(self, tool, option, path):
        assert (tool, option) == ("objdump", "-T")
        return "".join(f"0 DF *UND* 0 (GLIBC_2.{minor}) f\n" for minor in path.name.split("-"))


def test_the_tag_is_the_newest_glibc_that_a_program_or_library_asks_for(tmp_path):
    for name, mode in (("4-17", 0o755), ("9-34", 0o755), ("38", 0o644)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    assert make_wheel.glibc_of(Objdump(), tmp_path) == 34


def test_what_every_system_has_is_left_out():
    for name in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libresolv.so.2"):
        assert make_wheel.FROM_SYSTEM.fullmatch(name)
    for name in ("libcrypto.so.3", "libcap.so.2", "libcairo.so.2", "libmvec.so.1", "libz.so.1", "libopenblas.so.0"):
        assert not make_wheel.FROM_SYSTEM.fullmatch(name)


@pytest.mark.parametrize(("user", "name", "made", "is_original"), [
    ("octet-learner", "libopenblas.so.0", "blas", True), ("libmicrohttpd-octet-0123abcd.so.12", "libgnutls.so.30", "unused", False),
    ("libnng-octet-0123abcd.so.1", "libmbedtls.so.14", "unused", False), ("libcairo-octet-0123abcd.so.2", "libX11.so.6", "unused", False),
    ("libcairo-octet-0123abcd.so.2", "libpixman-1.so.0", None, True), ("octet-learner", "libgnutls.so.30", None, True)])
def test_a_library_is_replaced_where_its_user_never_calls_it(monkeypatch, user, name, made, is_original):
    class Machine:
        def library(self, name):
            return pathlib.Path("/usr/lib") / name

    done = []
    monkeypatch.setattr(make_wheel, "blas_make", lambda machine, target: done.append("blas"))
    monkeypatch.setattr(make_wheel, "unused_make", lambda machine, user, library, target: done.append("unused"))
    library = pathlib.Path("/usr/lib") / name
    source, original = make_wheel.replacement(Machine(), pathlib.Path(user), name, "/made")
    assert done == ([made] if made else []) and source == (pathlib.Path("/made") / name if made else library)
    assert original == (library if is_original else None)


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_the_functions_of_a_library_that_is_never_called_end_the_process(tmp_path):
    """With the symbols and versions that its user asks for, and those alone."""
    machine = make_wheel.Machine(pathlib.Path(sys.executable).resolve())
    own, user, stub = (tmp_path / name for name in ("libown.so", "libuser.so", "libown.so.1"))
    make_wheel.link(machine, "int gone(void) { return 3; }\nint table[4] = {1};\nint more(void) { return 1; }\n", own, "libown.so.1",
                    {"OWN_1": ["gone", "table"], "OWN_2": ["more"]})
    (tmp_path / "user.c").write_text("int gone(void);\nextern int table[4];\nint *use(void) { return gone() ? table : 0; }\n")
    make_wheel.run("gcc", "-shared", "-fPIC", "-o", user, tmp_path / "user.c", own)
    make_wheel.unused_make(machine, user, own, stub)
    symbols = make_wheel.run("nm", "-D", "--defined-only", stub)
    assert set(re.findall(r" [TBDR] (\S+)", symbols)) == {"gone@@OWN_1", "table@@OWN_1"}
    said = make_wheel.subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(stub)!r}).gone()"], capture_output=True,
                                     text=True, check=False)
    assert said.returncode == -6 and "octet: gone is not in this package\n" in said.stderr


def test_the_code_is_of_the_oldest_python_that_is_promised():
    oldest = re.search(r"^Requires-Python: >=3\.(\d+)$", make_wheel.METADATA, re.M)[1]
    assert f"every Python from 3.{oldest} on" in (ROOT / "docs/python.md").read_text() and f"every Python from 3.{oldest} on" in make_wheel.__doc__
    sources = [*(ROOT / "python/octet").glob("*.py"), ROOT / "envs/gym/env_gym_worker.py",
               *(ROOT / name for name in make_wheel.SCRIPTS if name.endswith(".py"))]
    for path in sources:
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, int(oldest)))
