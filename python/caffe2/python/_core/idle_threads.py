"""How long idle threads of the library's OpenMP loops wait for work before they sleep."""

import os

# As in the programs: test_idle_threads.py compares caffe2/utils/program.cc. libgomp's default of
# about a millisecond lets idle threads take the cores of other processes.
_IDLE_SPINS = "5000"


def limit_spinning() -> None:
    """Sets GOMP_SPINCOUNT for this process and those that it starts.

    Does nothing if the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY. libgomp reads the variable
    when it is loaded: call this before the library is imported. It has no effect if another package
    has loaded libgomp before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _IDLE_SPINS)
