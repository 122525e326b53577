"""Checks and converts arrays that callers give. Private."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import OctetError


def array_of(name: str, given: Any) -> NDArray[Any]:
    """Converts to an array of real numbers. Refuses texts, objects, times, complex numbers and records, which NumPy would
    also convert to numbers."""
    try:
        array = np.asarray(_of_torch(given) if hasattr(given, "detach") else given)
    except (TypeError, ValueError, OverflowError) as error:  # among others, parts of several shapes
        raise OctetError(f"{name}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise OctetError(f"{name} of type {array.dtype}; expected real numbers")
    return array


def floats_of(name: str, given: Any, dtype: type = np.float32) -> NDArray[Any]:
    """Like array_of, but returns contiguous floats of the given type; numbers that are too large become infinite."""
    array = array_of(name, given)
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype, order="C")


def is_list(given: Any) -> bool:
    """Returns whether the argument is a sequence of parts: neither a text nor an array without axes."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes)) and getattr(given, "ndim", 1) > 0


def _of_torch(tensor: Any) -> Any:
    """Converts a tensor on any device. NumPy has no bfloat16, so such tensors become float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
