"""How shared libraries of operators are opened."""

import contextlib
import ctypes
import sys


@contextlib.contextmanager
def DlopenGuard(extra_flags=ctypes.RTLD_GLOBAL):
    """Within the block, extension modules are opened with these flags of dlopen as well; by default
    other libraries then see their symbols."""
    before = sys.getdlopenflags()
    sys.setdlopenflags(before | extra_flags)
    try:
        yield
    finally:
        sys.setdlopenflags(before)
