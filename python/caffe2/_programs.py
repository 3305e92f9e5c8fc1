"""Starts the programs that a wheel holds, under their names."""

import os
import sys

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")
_CANNOT_START = 71  # the exit code of all programs for it


def main() -> None:
    """Replaces this process by the program whose name it was started with.

    Appends the folder of the programs to `PATH`, so that a program can start the others. Commands
    of `doppio` that are written in Python use this interpreter, unless `DOPPIO_PYTHON` names
    another one.
    """
    name = os.path.basename(sys.argv[0])
    os.environ.setdefault("DOPPIO_PYTHON", sys.executable)
    os.environ["PATH"] = os.pathsep.join(
        [path for path in (os.environ.get("PATH"),) if path] + [_FOLDER]
    )
    try:
        os.execv(os.path.join(_FOLDER, name), [name, *sys.argv[1:]])
    except OSError as error:
        print(f"{name}: cannot start the program in {_FOLDER}: {error.strerror}", file=sys.stderr)
        sys.exit(_CANNOT_START)
