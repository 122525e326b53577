"""Reads files that torch.save wrote, and other zip files, without PyTorch.

Since PyTorch 1.6 such a file is a zip with FOLDER/data.pkl, a pickle whose tensors name FOLDER/data/0, FOLDER/data/1 …: the
numbers, uncompressed. Before, it was a row of pickles (a magic number, the version, sizes of the machine, the data, the keys
of the storages), and the numbers of each storage behind them.
"""

import contextlib
import io
import struct
import zipfile
import zlib

import numpy as np
from inert_pickle import ELEMENTS_MAX, Fault, Name, Storage, load, what

FILE_BYTES_MAX = 1 << 28
PICKLE_BYTES_MAX = 1 << 25
FILES_MAX = 10_000
OLD_MAGIC = 0x1950A86A20F9469CFC6C
_TYPES = {"FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "BFloat16Storage": "bfloat16", "LongStorage": "i8",
          "IntStorage": "i4", "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "b1"}


@contextlib.contextmanager
def _zip_faults():
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, struct.error) as error:
        if isinstance(error, Fault):
            raise
        raise Fault("a damaged zip file: it ends early, or is encrypted; was the download complete?") from None


class Archive:
    """A zip file in memory."""

    def __init__(self, data):
        with _zip_faults():
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.names = self._zip.namelist()
        if len(self.names) > FILES_MAX:
            raise Fault(f"a zip file of {len(self.names)} files; models have at most {FILES_MAX}")

    def read(self, name, most):
        with _zip_faults(), self._zip.open(name) as file:
            data = file.read(most + 1)
            if len(data) > most:
                raise Fault(f"its file {name} has more than {most >> 20} MiB")
            return data

    def folder(self):
        """Returns the folder of data.pkl with a slash, or None."""
        return next((name[:-8] for name in self.names if name.endswith("/data.pkl") and name.count("/") == 1), None)


def _numbers(data, code, big_endian):
    """Decodes the numbers of a storage."""
    if code == "bfloat16":  # the upper half of a float32
        halves = np.frombuffer(data, ">u2" if big_endian else "<u2")
        return (halves.astype("u4") << 16).view("f4")
    return np.frombuffer(data, np.dtype(code).newbyteorder(">" if big_endian else "<"))


def _size(code):
    return 2 if code == "bfloat16" else np.dtype(code).itemsize


def _reference(key):
    """Checks a persistent ID, ("storage", class, key, device, count, …), and returns type, key and count."""
    if not isinstance(key, tuple) or len(key) < 5 or key[0] != "storage" or not isinstance(key[2], str):
        raise Fault("a damaged pickle: it refers to something that is not a storage")
    code = _TYPES.get(key[1].name) if isinstance(key[1], Name) else None
    if code is None:
        raise Fault(f"tensors of {what(key[1])} cannot be read; allowed are those of floats, integers and truth values")
    if type(key[4]) is not int or not 0 <= key[4] <= ELEMENTS_MAX:
        raise Fault(f"a tensor with more than {ELEMENTS_MAX} numbers")
    return code, key[2], key[4]


def _load_zip(archive):
    folder = archive.folder()
    if folder + "constants.pkl" in archive.names or any(name.startswith(folder + "code/") for name in archive.names):
        raise Fault("a program of TorchScript (torch.jit.save), whose code Octet does not run; import the checkpoint (model_N.pt) or "
                    "the ONNX model that was written with it")
    big_endian = folder + "byteorder" in archive.names and archive.read(folder + "byteorder", 16) == b"big"

    def storage_of(key):
        code, name, count = _reference(key)

        def read():
            path = f"{folder}data/{name}"
            if path not in archive.names:
                raise Fault(f"a damaged file: the numbers {path} are missing")
            data = archive.read(path, FILE_BYTES_MAX)
            if len(data) < count * _size(code):
                raise Fault(f"a damaged file: {path} has too few numbers")
            return _numbers(data[:count * _size(code)], code, big_endian)
        return Storage(read)
    return load(io.BytesIO(archive.read(folder + "data.pkl", PICKLE_BYTES_MAX)), storage_of)


def is_old(data):
    """Returns whether a file was written by torch.save before PyTorch 1.6."""
    return data[:14] == b"\x80\x02\x8a\x0a" + OLD_MAGIC.to_bytes(10, "little")


def _load_old(data):
    file, storages, found = io.BytesIO(data), {}, {}

    def storage_of(key):
        code, name, count = _reference(key)
        if len(key) > 5 and key[5] is not None:
            raise Fault("tensors that share a part of a storage cannot be read; save the file with a newer PyTorch")
        storages[name] = code, count

        def read():
            if name not in found:
                raise Fault("a damaged file: the numbers of a tensor are missing")
            return found[name]
        return Storage(read)

    load(file)                      # the magic number
    version = load(file)
    if version != 1001:
        raise Fault(f"a file of torch.save of version {version if isinstance(version, int) else '?'}; expected 1001")
    machine = load(file)
    big_endian = isinstance(machine, dict) and machine.get("little_endian") is False
    value = load(file, storage_of)
    keys = load(file)
    for name in keys if isinstance(keys, list) else []:
        if not isinstance(name, str) or name not in storages:
            raise Fault("a damaged file: a storage has no tensor")
        code, count = storages[name]
        file.read(8)                # the count again
        numbers = file.read(count * _size(code))
        if len(numbers) < count * _size(code):
            raise Fault("a damaged file: it ends early; was the download complete?")
        found[name] = _numbers(numbers, code, big_endian)
    return value


def load_torch(data):
    """Returns what torch.save wrote; data: bytes that begin as a zip file, or are old."""
    if is_old(data):
        return _load_old(data)
    archive = Archive(data)
    if archive.folder() is None:
        raise Fault("a zip file without data.pkl, which PyTorch did not write")
    return _load_zip(archive)
