"""Names that numpy removed and that programs written for Caffe2 use.

Caffe2's own trainers call ``numpy.asscalar`` (removed in numpy 1.23), its tests ``numpy.float``,
``numpy.bool`` and similar names (removed in 1.24, ``bool`` back in 2.0, ``float_`` and ``unicode_``
removed in 2.0). They run unchanged with every numpy that the package supports, because importing
``caffe2.python`` adds these names to numpy if it lacks them. Names that numpy has do not change.
"""

from __future__ import annotations

import numpy as np

_REMOVED = {
    "asscalar": lambda a: a.item(),
    "bool": bool,
    "complex": complex,
    "float": float,
    "float_": np.float64,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
    "unicode_": np.str_,
}


def restore() -> list[str]:
    """Adds the names that numpy lacks; returns them, sorted."""
    # Not hasattr: numpy warns of a name that it is going to remove, or has removed.
    names = {**vars(np), **getattr(np, "__deprecated_attrs__", {})}
    missing = sorted(set(_REMOVED) - set(names))
    for name in missing:
        setattr(np, name, _REMOVED[name])
    return missing
