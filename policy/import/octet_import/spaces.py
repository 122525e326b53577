"""Spaces of Gymnasium (and Gym) that the inert reader of pickles has read."""

import math

import numpy as np
from inert_pickle import Fault, array, named, what


def _state(space):
    return space.state if isinstance(getattr(space, "state", None), dict) else {}


def kind_of(space):
    """Returns the name of the class of a space, such as Box, or "" for other things."""
    module, _, name = named(space).rpartition(".")
    return name if module.startswith(("gymnasium.spaces", "gym.spaces")) else ""


def _integer(label, value):
    number = array(label, value)
    if number.size != 1 or number.dtype.kind not in "iu":
        raise Fault(f"{label}: expected a whole number")
    return int(number.ravel()[0])


def _shape(space):
    state = _state(space)
    shape = state.get("_shape", state.get("shape"))
    if not isinstance(shape, tuple) or not all(type(dim) is int and 0 < dim < 1 << 24 for dim in shape):
        raise Fault(f"a space of {what(space)} without a shape")
    return shape


def box_of(space):
    """Returns low and high of a Box as flat arrays of float64."""
    state, count = _state(space), math.prod(_shape(space))
    ends = [np.asarray(array(f"the {name} of a Box", state.get(name)), np.float64).ravel() for name in ("low", "high")]
    if any(end.size != count for end in ends):
        raise Fault("a Box whose bounds do not have its shape")
    return ends


def discrete_of(space, what_for):
    """Returns the number of values of a Discrete, which must begin with 0."""
    state = _state(space)
    if _integer("the start of a Discrete", state.get("start", 0)) != 0:
        raise Fault(f"{what_for} of Discrete begin with {state['start']}; those of a policy begin with 0")
    return _integer("the n of a Discrete", state.get("n"))


def is_image(space):
    """Returns whether Stable-Baselines3 treats the space as a picture (is_image_space)."""
    if kind_of(space) != "Box" or len(_shape(space)) != 3:
        return False
    low, high = box_of(space)
    return is_bytes(space) and bool(np.all(low == 0) and np.all(high == 255))


def is_bytes(space):
    dtype = getattr(_state(space).get("dtype"), "code", None)
    return dtype is not None and np.dtype(dtype) == np.uint8


def parts_of(space):
    """Returns the size of each part of a Dict, flattened and discrete values as one-hot vectors, by key; None for others."""
    if kind_of(space) != "Dict":
        return None
    spaces = _state(space).get("spaces")
    if not isinstance(spaces, dict) or not spaces:
        raise Fault("a Dict without spaces")
    picture = next((key for key, one in spaces.items() if is_image(one)), None)
    if picture is not None:
        raise Fault(f"observations of a Dict with the picture {picture!r}: policies read a picture or numbers, not both")
    return {key: math.prod(shape_of(one)) for key, one in spaces.items()}


def shape_of(space):
    """Returns the shape of an observation as the network gets it."""
    kind = kind_of(space)
    if kind == "Box":
        return _shape(space) or (1,)
    if kind == "Discrete":
        return (discrete_of(space, "observations"),)
    if kind == "MultiDiscrete":
        return (int(array("nvec", _state(space).get("nvec")).sum()),)
    if kind == "MultiBinary":
        return (math.prod(_shape(space)),)
    if kind == "Dict":
        return (sum(parts_of(space).values()),)
    raise Fault(f"observations of {kind or what(space)}; policies read Box, Discrete, MultiDiscrete, MultiBinary and Dict")
