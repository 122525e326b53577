"""Binds programs and libraries to older versions of glibc and libstdc++.

A file that is linked on a newer system asks for the newest version of each function, such as exp@GLIBC_2.29 and
pthread_create@GLIBC_2.34. The loader of an older system refuses the file, although its libraries define the same functions with
older versions. rebind removes the version from such a symbol, and from the list of versions that the file asks for.

For a symbol without a version the loader takes the definition with the first version of a library, else the definition that is not
hidden. For the functions in REBOUND that is the only definition on an old system. A newer system keeps it for old programs, and its
code is the same. Functions that old systems lack are defined in SHIMS. A symbol that is too new and not in REBOUND is an error.

Results have the same bits: exp, exp2, log, log2 and pow of GLIBC_2.2.5 and 2.29 share their code and differ in how they report
errors. Only the sign of the NaN that log and log2 return for a negative number differs."""

import re
import struct

# The newest versions that manylinux_2_28 allows.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}

# Built from old_glibc.c and old_stdcxx.c.
SHIMS = "liboctet-glibc.so", "liboctet-stdcxx.so"
# The library that defines each function on an older system.
REBOUND = {symbol: library for library, symbols in {
    "libm.so.6": "exp exp2 hypot log log2 pow",
    "libdl.so.2": "dladdr dladdr1 dlclose dlerror dlopen dlsym",
    "libpthread.so.0": """pthread_attr_setstacksize pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait
        pthread_condattr_setclock pthread_create pthread_detach pthread_getaffinity_np pthread_getspecific pthread_join
        pthread_key_create pthread_key_delete pthread_mutex_trylock pthread_mutexattr_destroy pthread_mutexattr_init
        pthread_mutexattr_settype pthread_once pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock
        pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock pthread_rwlock_wrlock pthread_setaffinity_np
        pthread_setname_np pthread_setspecific pthread_sigmask sem_destroy sem_init sem_post sem_timedwait sem_trywait sem_wait""",
    SHIMS[0]: "__libc_start_main fstat fstat64 fstatat fstatat64 lstat lstat64 stat stat64",
    SHIMS[1]: "_ZSt28__throw_bad_array_new_lengthv _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev",
}.items() for symbol in symbols.split()}

DYNAMIC, DYNSYM, VERNEED, VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF  # types of sections
DT_VERNEEDNUM, SHN_UNDEF, VER_NDX_GLOBAL, VERSION_BITS = 0x6FFFFFFF, 0, 1, 0x7FFF


class VersionError(Exception):
    """The file cannot be bound to older versions."""


def is_too_new(version):
    """version: such as GLIBC_2.34. One without a number, such as GLIBC_PRIVATE, is too new."""
    name, _, number = version.partition("_")
    if name not in NEWEST:
        return False
    return not re.fullmatch(r"[\d.]+", number) or tuple(map(int, number.split("."))) > NEWEST[name]


class Elf:
    """The dynamic symbols and versions of a 64-bit little-endian ELF file. Its bytes are changed in place."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise VersionError("not a 64-bit little-endian ELF file")
        self.data = bytearray(data)
        offset, = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
        self.sections = {one[1]: one for one in sections}
        self.header = {one[1]: offset + i * size for i, one in enumerate(sections)}
        strings = self.sections.get(DYNSYM)
        self.strings = sections[strings[6]][4] if strings else 0

    def _text(self, at):
        at += self.strings
        return self.data[at:self.data.index(0, at)].decode()

    def needed(self):
        """The libraries whose versions the file asks for: (name, offsets of the records of its versions) by the offset of the library's
        record."""
        found, at = {}, self.sections[VERNEED][4] if VERNEED in self.sections else None
        while at is not None:
            _, count, file, aux, following = struct.unpack_from("<HHIII", self.data, at)
            one, versions = at + aux, []
            for _ in range(count):
                versions.append(one)
                one += struct.unpack_from("<I", self.data, one + 12)[0]
            found[at] = self._text(file), versions
            at = at + following if following else None
        return found

    def version(self, at):
        """Name and index of the version in a record."""
        _, _, index, name, _ = struct.unpack_from("<IHHII", self.data, at)
        return self._text(name), index & VERSION_BITS

    def undefined(self):
        """Yields (name, index of its version, offset of that index) of every symbol that the file imports."""
        if VERSYM not in self.sections:
            return
        symbols, versions = self.sections[DYNSYM], self.sections[VERSYM][4]
        for i in range(1, symbols[5] // 24):
            name, _, _, section = struct.unpack_from("<IBBH", self.data, symbols[4] + 24 * i)
            if section == SHN_UNDEF:
                at = versions + 2 * i
                yield self._text(name), struct.unpack_from("<H", self.data, at)[0] & VERSION_BITS, at

    def forget(self, indices):
        """Removes versions from the list that the file asks for. A record holds the distance to the next record. The libraries that are
        left move to the front of the list, because the file's dynamic section holds the address of the first record."""
        places = self.needed()
        kept = [(at, [one for one in versions if self.version(one)[1] not in indices]) for at, (_, versions) in places.items()]
        kept = [(struct.unpack_from("<I", self.data, at + 4)[0], versions) for at, versions in kept if versions]
        if not kept:
            raise VersionError("every version that the file asks for is too new")
        for (file, versions), here, then in zip(kept, places, [*list(places)[1:len(kept)], None]):
            struct.pack_into("<HHIII", self.data, here, 1, len(versions), file, versions[0] - here, 0 if then is None else then - here)
            for one, following in zip(versions, [*versions[1:], None]):
                struct.pack_into("<I", self.data, one + 12, 0 if following is None else following - one)
        struct.pack_into("<I", self.data, self.header[VERNEED] + 44, len(kept))
        entries = self.sections[DYNAMIC]
        for at in range(entries[4], entries[4] + entries[5], 16):
            if struct.unpack_from("<Q", self.data, at)[0] == DT_VERNEEDNUM:
                struct.pack_into("<Q", self.data, at + 8, len(kept))


def rebind(data):
    """Returns the file, bound to older versions, and the libraries that it needs in addition."""
    elf = Elf(data)
    asked = (elf.version(one) for _, versions in elf.needed().values() for one in versions)
    new = {index: version for version, index in asked if is_too_new(version)}
    libraries, refused = set(), []
    for name, index, at in elf.undefined():
        if index not in new:
            continue
        if name in REBOUND:
            libraries.add(REBOUND[name])
            struct.pack_into("<H", elf.data, at, VER_NDX_GLOBAL)
        else:
            refused.append(f"{name}@{new[index]}")
    if refused:
        raise VersionError(f"{', '.join(sorted(refused))}: newer than manylinux_2_28, and not in REBOUND of {__name__}.py")
    if new:
        elf.forget(new)
    return bytes(elf.data), sorted(libraries)
