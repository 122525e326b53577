#!/usr/bin/env python3
"""Reads an agent of Stable-Baselines3 or a file of PyTorch for `octet import`, which runs it.

usage: octet_import.py FILE [--activation NAME] [--no-normalizer]
       octet_import.py --normaliser FILE
       octet_import.py --observations FILE

Writes lines NAME VALUE, the options that the file implies, and "model BYTES", followed by an ONNX model; for a normaliser
"normaliser JSON", with mean, std and clip; for arrays of NumPy (.npz) a line "array BYTES NAME" for each that was requested,
followed by the array as a .npy file; or one line "error REASON". Needs numpy. Nothing in a file is executed, and memory and
time are limited.
"""

import argparse
import os
import pathlib
import resource
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
MEMORY_BYTES_MAX = 4 << 30
SECONDS_MAX = 120


def say(name, value):
    text = " ".join(str(value).split()).encode("utf-8", "replace")[:4096]
    sys.stdout.buffer.write(name.encode() + b" " + text + b"\n")


try:
    import numpy as np
except ImportError:
    say("error", f"it is read with NumPy, which the Python at {sys.executable} does not have: install python3-numpy, or name another "
        "Python with OCTET_PYTHON")
    sys.exit(0)

import io  # noqa: E402
import json  # noqa: E402

from inert_pickle import Fault, load, named, what  # noqa: E402
from normaliser import read_normaliser  # noqa: E402
from others import other_bytes, other_value, other_zip  # noqa: E402
from sb3_agent import is_agent, read_agent  # noqa: E402
from state_dict import read_state  # noqa: E402
from torch_file import FILE_BYTES_MAX, Archive, is_old, load_torch  # noqa: E402

NORMALISER = ["mean", "std", "var", "epsilon", "clip"]
SUFFIXES = (".zip", ".onnx", ".pt", ".pth")


def lower(limit, most):
    """Lowers a limit of this process, which may be lower already."""
    hard = resource.getrlimit(limit)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def read_file(path):
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise Fault(error.strerror or str(error)) from None
    if len(data) > FILE_BYTES_MAX:
        raise Fault(f"more than {FILE_BYTES_MAX >> 20} MiB")
    return data


def read_pickle(data):
    """Returns what a file of torch.save or of pickle.dump describes."""
    if data[:2] == b"PK" or is_old(data):
        return load_torch(data)
    return load(io.BytesIO(data))


def refuse(reason):
    if reason is not None:
        raise Fault(reason)


def is_arrays(archive):
    """Returns whether numpy.savez or numpy.savez_compressed wrote a zip file."""
    return bool(archive.names) and all(name.endswith(".npy") for name in archive.names)


def arrays_of(archive, names):
    """Yields the arrays of these names, or the only array that there is: the name, and the bytes of an .npy file."""
    known, left = [name.removesuffix(".npy") for name in archive.names], FILE_BYTES_MAX
    found = [name for name in names if name in known] or (known if len(known) == 1 else [])
    if not found:
        raise Fault(f"it has the arrays {', '.join(known[:8])}; expected {' or '.join(names[:3])}")
    for name in found:
        data = archive.read(f"{name}.npy", left)
        left -= len(data)
        yield name, data


def answer_part(path, is_normaliser):
    """Writes a normaliser, or rows of observations."""
    data = read_file(path)
    archive = Archive(data) if data[:2] == b"PK" else None
    if archive is not None and is_arrays(archive):
        for name, array in list(arrays_of(archive, NORMALISER if is_normaliser else ["observations"])):
            say("array", f"{len(array)} {name}")
            sys.stdout.buffer.write(array)
    elif is_normaliser:
        say("normaliser", json.dumps(read_normaliser(read_pickle(data))))
    else:
        raise Fault("a zip file that is not of arrays of NumPy (numpy.savez)")


def refuse_zip(archive):
    """Says what a zip file is that has no model."""
    names = archive.names
    if {"parameters", "parameter_list"} & set(names):
        raise Fault("an agent of Stable Baselines 2 (TensorFlow); those of Stable-Baselines3 can be read")
    if is_arrays(archive):
        raise Fault("arrays of NumPy (numpy.savez), not a model; octet.import_policy takes arrays as layers")
    refuse(other_zip(names))
    inner = next((name for name in names if name.endswith(SUFFIXES)), None)
    if inner is not None:
        raise Fault(f"a zip file that contains {inner}: unpack it and import that")
    raise Fault("a zip file that is neither an agent of Stable-Baselines3 (it has no policy.pth) nor of PyTorch (it has no data.pkl); "
                f"it contains {', '.join(names[:4]) or 'nothing'}")


@np.errstate(all="ignore")  # octet import refuses what is not finite
def read(data, activation, is_normalised):
    """Returns the Network of a file. is_normalised: by the caller, so that a normaliser in the file is left out."""
    archive = Archive(data) if data[:2] == b"PK" else None
    if archive is not None and is_agent(archive):
        if activation is not None:
            raise Fault("--activation is for state dicts; an agent of Stable-Baselines3 says its activation")
        return read_agent(archive)
    if archive is not None and archive.folder() is None:
        refuse_zip(archive)
    if archive is None:
        refuse(other_bytes(data))
    value = read_pickle(data)
    refuse(other_value(value))
    if named(value).startswith("stable_baselines3.common.vec_env."):
        raise Fault("a VecNormalize, not an agent; give it with --normalizer when you import the agent's zip file")
    if not isinstance(value, dict):
        raise Fault(f"{what(value)}, not a state dict; save one with torch.save(module.state_dict(), FILE)")
    return read_state(value, activation, is_normalised)


def normalizer_beside(path):
    """Returns a file beside an agent, or in the folder of its name, that VecNormalize may have saved; None: there is none."""
    for folder in (path.parent, path.with_suffix("")):
        found = sorted(one for one in folder.glob("*vec*normalize*.pkl") if one.is_file())
        if found:
            return found[0]
    return None


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--activation")
    parser.add_argument("--normaliser", action="store_true", help="FILE is a normaliser of observations")
    parser.add_argument("--observations", action="store_true", help="FILE is an .npz with rows of observations")
    parser.add_argument("--no-normalizer", action="store_true", help="leave out a normalizer that FILE contains")
    options = parser.parse_args()
    lower(resource.RLIMIT_AS, MEMORY_BYTES_MAX)
    lower(resource.RLIMIT_CPU, SECONDS_MAX)
    lower(resource.RLIMIT_NPROC, 0)
    try:
        if options.normaliser or options.observations:
            answer_part(options.file, options.normaliser)
            return
        network = read(read_file(options.file), options.activation, options.no_normalizer)
        beside = normalizer_beside(options.file) if network.is_agent and not options.no_normalizer else None
        if beside is not None:
            network.notes.append(f"{beside} lies beside it and is not used; if the agent was trained with it, add --normalizer {beside}")
        model = network.encode()
    except Fault as error:
        say("error", error)
        return
    except MemoryError:
        say("error", f"reading it needs more than {MEMORY_BYTES_MAX >> 30} GiB of memory; it is damaged")
        return
    for name, value in network.options():
        say(name, value)
    say("model", len(model))
    sys.stdout.buffer.write(model)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
