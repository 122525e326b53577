"""Octet's spaces as Gymnasium's. Private."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from . import _lib

DTYPES: dict[int, type] = {1: np.float32, 2: np.float64, 3: np.uint8, 4: np.int32}


def rows(space: _lib.Space) -> tuple[tuple[int, ...], type]:
    """Returns shape and type of one row as the library writes it: a discrete space is one int32."""
    if space.n > 0:
        return (), np.int32
    return tuple(space.shape[: space.rank]), DTYPES[space.dtype]


def _bound(values: Any, shape: tuple[int, ...], dtype: type, missing: float) -> NDArray[Any]:
    if not values:
        if np.issubdtype(dtype, np.integer):
            limits = np.iinfo(dtype)
            missing = limits.min if missing < 0 else limits.max
        return np.full(shape, missing, dtype)
    count = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):
        return np.array(values[:count], np.float64).reshape(shape).astype(dtype)


def of(space: _lib.Space) -> spaces.Space[Any]:
    """Returns a Discrete (int64, as everywhere in Gymnasium) or a Box."""
    if space.n > 0:
        return spaces.Discrete(int(space.n))
    shape, dtype = rows(space)
    return spaces.Box(_bound(space.low, shape, dtype, -np.inf), _bound(space.high, shape, dtype, np.inf), shape,
                      dtype)
