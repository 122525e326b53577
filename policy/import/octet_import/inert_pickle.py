"""Reads pickles and executes nothing in them.

A pickle is a program for a small stack machine: it names functions, calls them and sets the state of what they returned.
This reader runs the machine, but looks no name up and calls nothing that the pickle names:

- A name becomes a Name. Names of functions that start programs, open files or evaluate code are refused at once.
- A call becomes an Object that holds the name and the arguments. A few names of PyTorch, NumPy and the standard library
  that only hold data are the exception (BUILDERS): they become dictionaries, arrays and tensors, made here.
- A tensor refers to a storage outside the pickle; its numbers are read when `array` asks for them.

Pickles come from anywhere: the number of operations is bounded, sizes are checked before memory is allocated, and every
error is a Fault.
"""

import pickletools
import struct

import numpy as np

OPERATIONS_MAX = 1_000_000
ELEMENTS_MAX = 1 << 26  # of an array, 256 MiB of float32


class Fault(ValueError):
    """A file that is not a policy, with the reason for its user."""


class Name:
    """A class or function that a pickle names."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __str__(self):
        return f"{self.module}.{self.name}"


class Object:
    """What a call of a name would return: of is the Name, or the Object that an earlier call would have returned."""

    __slots__ = ("arguments", "of", "state")

    def __init__(self, of, arguments):
        self.of, self.arguments, self.state = of, arguments, None


class Array:
    """An array of NumPy; value is None until the pickle sets its state."""

    __slots__ = ("value",)

    def __init__(self, value=None):
        self.value = value


class Dtype:
    """A type of NumPy; code is that of numpy.dtype, or None for types that are not numbers."""

    __slots__ = ("code",)

    def __init__(self, code):
        self.code = code


class Storage:
    """The numbers of tensors: read() returns them as a flat array."""

    __slots__ = ("read",)

    def __init__(self, read):
        self.read = read


class Tensor:
    """A view of a storage; offset and strides count numbers."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(self, storage, offset, shape, strides):
        self.storage, self.offset, self.shape, self.strides = storage, offset, shape, strides


# ---- names

_OLD_MODULES = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections"}
_ACTING = {"os", "posix", "nt", "subprocess", "builtins", "sys", "socket", "shutil", "pty", "runpy", "importlib", "ctypes", "pickle",
           "_pickle", "marshal", "webbrowser", "multiprocessing", "asyncio", "urllib", "http", "ftplib", "smtplib", "timeit", "pdb",
           "bdb", "cProfile", "pip", "tempfile"}
_HARMLESS = {("builtins", name) for name in (
    "set", "frozenset", "list", "dict", "tuple", "int", "float", "bool", "str", "bytes", "bytearray", "complex", "object", "slice",
    "range", "type", "getattr", "Ellipsis", "NotImplemented", "super", "property", "staticmethod", "classmethod", "print", "abs",
    "min", "max", "sum", "round", "len", "sorted", "zip", "map", "enumerate")}


def _name(module, name):
    if not isinstance(module, str) or not isinstance(name, str):
        raise Fault("a damaged pickle: a name is not a text")
    module = _OLD_MODULES.get(module, module)
    if module.split(".")[0] in _ACTING and (module, name) not in _HARMLESS:
        raise Fault(f"its pickle calls {module}.{name}, which can run code (Octet has not run it): a policy does not need that; "
                    "do not load this file with PyTorch or Stable-Baselines3")
    return Name(module, name)


# ---- data that is made here

def _whole(value, most):
    if type(value) is not int or not 0 <= value <= most:
        raise Fault("a damaged pickle: a size is not a whole number in its range")
    return value


def _shape(value):
    if not isinstance(value, tuple) or len(value) > 32:
        raise Fault("a damaged pickle: a shape is not a tuple")
    count = 1
    for dim in value:
        count *= _whole(dim, ELEMENTS_MAX)
    if count > ELEMENTS_MAX:
        raise Fault(f"an array of shape {value}: more than {ELEMENTS_MAX} numbers")
    return value


def _array(data, dtype, shape, order):
    """An array of these bytes; None for types that are not numbers, such as objects."""
    if not isinstance(dtype, Dtype) or dtype.code is None:
        return None
    if isinstance(data, str):
        data = data.encode("latin-1")
    kind, shape = np.dtype(dtype.code), _shape(shape)
    if not isinstance(data, (bytes, bytearray)) or len(data) != kind.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise Fault("a damaged pickle: an array has too few or too many bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if order else "C")


def _dtype(code, *_):
    known = isinstance(code, str) and len(code) <= 3 and code.lstrip("<>=|")[:1] in tuple("biuf")
    try:
        return Dtype(np.dtype(code).str if known else None)
    except TypeError:
        return Dtype(None)


def _scalar(dtype, data=b""):
    value = _array(data, dtype, (), False)
    return Object(Name("numpy", "scalar"), ()) if value is None else value.item()


def _from_buffer(data, dtype, shape, order, *_):
    return Array(_array(data, dtype, shape, order == "F"))


def _tensor(storage, offset, size, stride, *_):
    if not isinstance(storage, Storage):  # of another kind, such as bytes in the pickle
        return Object(Name("torch", "Tensor"), ())
    shape = _shape(size)
    if not isinstance(stride, tuple) or len(stride) != len(shape):
        raise Fault("a damaged pickle: a tensor has other strides than dimensions")
    return Tensor(storage, _whole(offset, 1 << 40), shape, tuple(_whole(step, 1 << 40) for step in stride))


def _tensor_of(of, _kind, arguments, _state):
    return _call(of, arguments)


def _dictionary(pairs=()):
    made = {}
    for pair in pairs.items() if isinstance(pairs, dict) else _parts(pairs):
        made[_key(_parts(pair)[0])] = pair[1]
    return made


def _parts(value=()):
    if not isinstance(value, (list, tuple, set)):
        raise Fault("a damaged pickle: it makes a list of something that is not one")
    return value


def _members(value=()):
    return set(map(_key, _parts(value)))


def _encoded(text, encoding="latin1"):
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise Fault("a damaged pickle: an encoded text is not one")
    return text.encode(encoding)


BUILDERS = {
    ("collections", "OrderedDict"): _dictionary,
    ("collections", "defaultdict"): lambda *_: {},
    ("builtins", "dict"): _dictionary,
    ("builtins", "set"): _members,
    ("builtins", "frozenset"): _members,
    ("builtins", "list"): lambda *parts: list(_parts(*parts)),
    ("builtins", "tuple"): lambda *parts: tuple(_parts(*parts)),
    ("_codecs", "encode"): _encoded,
    ("torch", "Size"): lambda *parts: tuple(_parts(*parts)),
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
    ("torch._utils", "_rebuild_parameter_with_state"): lambda data, *_: data,
    ("torch._tensor", "_rebuild_from_type_v2"): _tensor_of,
    ("numpy", "dtype"): _dtype,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): lambda *_: Array() for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in ("core", "_core")},
}


def _call(function, arguments):
    if not isinstance(function, (Name, Object)) or not isinstance(arguments, tuple):
        raise Fault("a damaged pickle: it calls something that is not a function")
    builder = BUILDERS.get((function.module, function.name)) if isinstance(function, Name) else None
    if builder is None:
        return Object(function, arguments)
    try:
        return builder(*arguments)
    except TypeError:
        raise Fault(f"a damaged pickle: {function} has too few or too many arguments") from None


def _set_state(target, state):
    if isinstance(target, Object):
        target.state = state
    elif isinstance(target, Array):
        if not isinstance(state, tuple) or len(state) != 5:
            raise Fault("a damaged pickle: the state of an array is not one")
        target.value = _array(state[4], state[2], state[1], state[3])
    elif isinstance(target, Dtype):
        order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
        if target.code is not None and isinstance(order, str) and order in ("<", ">"):
            target.code = order + target.code[1:]


# ---- the machine

def _key(value):
    """A key of a dictionary: nested tuples are refused, because hashing them can take exponential time."""
    parts = value if isinstance(value, tuple) else (value,)
    if len(parts) > 64 or not all(part is None or isinstance(part, (str, bytes, int, float, Name, Object)) for part in parts):
        raise Fault("a damaged pickle: a key is neither a text nor a number")
    return value


def _put(target, key, value):
    if isinstance(target, dict):
        target[_key(key)] = value
    elif not isinstance(target, Object):
        raise Fault("a damaged pickle: it sets a key of something that is not a dictionary")


class _Machine:
    def __init__(self, storage_of):
        self.stack, self.marks, self.memo, self.storage_of = [], [], {}, storage_of

    def items(self):
        """What is on the stack since the last mark."""
        items, self.stack = self.stack, self.marks.pop()
        return items

    def several(self, count):
        if len(self.stack) < count:
            raise IndexError
        taken = self.stack[len(self.stack) - count:]
        del self.stack[len(self.stack) - count:]
        return taken

    def pairs(self, items):
        if len(items) % 2 != 0:
            raise IndexError
        return zip(items[::2], items[1::2], strict=True)

    def extend(self, items):
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(items)
        elif isinstance(target, set):
            target.update(map(_key, items))
        elif not isinstance(target, Object):
            raise Fault("a damaged pickle: it appends to something that is not a list")

    def step(self, name, argument):
        stack = self.stack
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name]())
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[argument])
        elif name == "MARK":
            self.marks.append(stack)
            self.stack = []
        elif name in _STEPS:
            _STEPS[name](self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise Fault(f"a pickle with {name}, which models do not have")

    def set_items(self, items):
        for key, value in self.pairs(items):
            _put(self.stack[-1], key, value)

    def dictionary(self, items):
        self.stack.append({})
        self.set_items(items)

    def call(self, count, keywords=False):
        """Of a function, its arguments and, in NEWOBJ_EX, those that have names."""
        function, arguments, *_ = self.several(count)
        self.stack.append(_call(function, arguments))

    def persistent(self, key):
        if self.storage_of is None:
            raise Fault("a pickle that refers to another file")
        self.stack.append(self.storage_of(key))

    def build(self):
        state, = self.several(1)
        _set_state(self.stack[-1], state)

    def instance(self, function, arguments):
        self.stack.append(_call(function, tuple(arguments)))


def _split(text):
    module, _, name = text.partition(" ")
    return _name(module, name)


_LITERALS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES",
             "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT",
             "BINFLOAT"}
_CONSTANTS = {"NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple,
              "EMPTY_DICT": dict, "EMPTY_SET": set}
_STEPS = {
    "POP": lambda m, _: m.stack.pop() if m.stack else m.items(),
    "POP_MARK": lambda m, _: m.items(),
    "DUP": lambda m, _: m.stack.append(m.stack[-1]),
    "LIST": lambda m, _: (items := m.items(), m.stack.append(items)),
    "TUPLE": lambda m, _: (items := m.items(), m.stack.append(tuple(items))),
    "TUPLE1": lambda m, _: m.stack.append(tuple(m.several(1))),
    "TUPLE2": lambda m, _: m.stack.append(tuple(m.several(2))),
    "TUPLE3": lambda m, _: m.stack.append(tuple(m.several(3))),
    "DICT": lambda m, _: m.dictionary(m.items()),
    "FROZENSET": lambda m, _: (items := m.items(), m.stack.append(_members(items))),
    "APPEND": lambda m, _: m.extend(m.several(1)),
    "APPENDS": lambda m, _: m.extend(m.items()),
    "ADDITEMS": lambda m, _: m.extend(m.items()),
    "SETITEM": lambda m, _: m.set_items(m.several(2)),
    "SETITEMS": lambda m, _: m.set_items(m.items()),
    "GLOBAL": lambda m, argument: m.stack.append(_split(argument)),
    "STACK_GLOBAL": lambda m, _: m.stack.append(_name(*m.several(2))),
    "INST": lambda m, argument: m.instance(_split(argument), m.items()),
    "OBJ": lambda m, _: (items := m.items(), m.instance(items[0], items[1:])),
    "REDUCE": lambda m, _: m.call(2),
    "NEWOBJ": lambda m, _: m.call(2),
    "NEWOBJ_EX": lambda m, _: m.call(3),
    "BUILD": lambda m, _: m.build(),
    "PERSID": lambda m, argument: m.persistent(argument),
    "BINPERSID": lambda m, _: m.persistent(*m.several(1)),
}


def load(file, storage_of=None):
    """Returns what the next pickle in a binary file describes. storage_of: makes a Storage of a persistent ID."""
    machine = _Machine(storage_of)
    try:
        for count, (operation, argument, _) in enumerate(pickletools.genops(file)):
            if operation.name == "STOP":
                return machine.stack.pop()
            if count >= OPERATIONS_MAX:
                raise Fault(f"a pickle of more than {OPERATIONS_MAX} operations")
            machine.step(operation.name, argument)
    except Fault:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, EOFError, struct.error):
        pass
    raise Fault("a damaged pickle: it ends early, or is not one")


# ---- what is read from the result

def named(value):
    """Returns "module.name" of the class of an Object or of a Name, "" for anything else."""
    while isinstance(value, Object) and isinstance(value.of, Object):
        value = value.of
    value = value.of if isinstance(value, Object) else value
    return str(value) if isinstance(value, Name) else ""


def what(value):
    """Says what a value is."""
    return named(value) or {dict: "a dictionary", list: "a list", tuple: "a tuple", str: "a text", Tensor: "a tensor",
                            Array: "an array"}.get(type(value), type(value).__name__)


def array(label, value):
    """Returns numbers as an array: of an array, a tensor, or a number."""
    if isinstance(value, (bool, int, float)) and not (isinstance(value, int) and abs(value) >= 1 << 63):
        return np.asarray(value)
    if isinstance(value, Array) and value.value is not None:
        return value.value
    if not isinstance(value, Tensor):
        raise Fault(f"{label}: expected numbers, not {what(value)}")
    flat = value.storage.read()
    last = value.offset + sum((dim - 1) * step for dim, step in zip(value.shape, value.strides, strict=True))
    count = int(np.prod(value.shape, dtype=np.int64))
    if count == 0:
        return np.zeros(value.shape, flat.dtype)
    if last >= len(flat) or count > len(flat):
        raise Fault(f"{label}: a damaged file: the tensor has more numbers than its storage")
    strides = [step * flat.itemsize for step in value.strides]
    return np.lib.stride_tricks.as_strided(flat[value.offset:], value.shape, strides, writeable=False)
