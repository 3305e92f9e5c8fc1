"""How shared libraries of operators are opened."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def DlopenGuard(extra_flags: int = ctypes.RTLD_GLOBAL) -> Iterator[None]:
    """Within the block, extension modules are opened with these flags of dlopen as well; by default
    other libraries then see their symbols."""
    before = sys.getdlopenflags()
    sys.setdlopenflags(before | extra_flags)
    try:
        yield
    finally:
        sys.setdlopenflags(before)
