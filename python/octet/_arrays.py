"""Arrays that callers give. Private."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import OctetError


def array_of(name: str, given: Any) -> NDArray[Any]:
    """NumPy's, of real numbers. Texts, objects, times, complex numbers and records are refused: NumPy would read them as
    numbers, one way or another."""
    try:
        array = np.asarray(_of_torch(given) if hasattr(given, "detach") else given)
    except (TypeError, ValueError, OverflowError) as error:  # among others, parts of several shapes
        raise OctetError(f"{name}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise OctetError(f"{name} of type {array.dtype}: real numbers are expected")
    return array


def floats_of(name: str, given: Any, dtype: type = np.float32) -> NDArray[Any]:
    """The same as contiguous floats of that type; what is too large for it is infinite."""
    array = array_of(name, given)
    with np.errstate(over="ignore"):
        return np.asarray(array, dtype, order="C")


def is_list(given: Any) -> bool:
    """Of parts, one after another: neither a text nor an array without axes."""
    return isinstance(given, Iterable) and not isinstance(given, (str, bytes)) and getattr(given, "ndim", 1) > 0


def _of_torch(tensor: Any) -> Any:
    """From wherever it lies. NumPy has no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()
