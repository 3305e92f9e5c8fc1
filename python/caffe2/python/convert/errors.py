"""Errors of conversions, with the exit statuses of the programs (caffe2/core/exit_code.h)."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable

USAGE, BAD_DATA, NO_INPUT, SYSTEM, CANNOT_WRITE = 64, 65, 66, 71, 73
INTERRUPTED = 130  # by SIGINT
_PLACE = re.compile(r" ?\[enforce fail at [^\]\n]*\]")


class ConvertError(ValueError):
    """A model cannot be read, converted or written. The message is one line, which says what is
    wrong and what to do."""

    def __init__(self, message: str, status: int = BAD_DATA) -> None:
        super().__init__(message)
        self.status = status


def one_line(error: BaseException) -> str:
    """The text of an error of another library as one line, without the place in our sources that
    found it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    text = _PLACE.sub("", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:2]) or type(error).__name__


def plain(text: str) -> str:
    """The text without characters that control a terminal, which a model may have in its names."""
    return "".join(char if char.isprintable() else "?" for char in text)


def needs(package: str, what: str, error: ImportError) -> ConvertError:
    """The error for a package of PyPI that is missing."""
    return ConvertError(f"{what} need the package {package}, which {sys.executable} cannot import "
                        f"({one_line(error)}): pip install {package}", SYSTEM)


def run_command(name: str, command: Callable[[], int]) -> int:
    """The exit status of a command; an error that it raises is printed as one line. Ctrl-C ends it
    without a message."""
    try:
        status = command()
        if sys.stdout is not None:  # its descriptor may be closed
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except ConvertError as error:
        status, message = error.status, str(error)
    except OSError as error:
        status, message = NO_INPUT, one_line(error)
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EPIPE):
            status, message = CANNOT_WRITE, f"cannot write the output: {error.strerror}"
            # Python writes the rest when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        status, message = SYSTEM, "the memory does not suffice for the model"
    print(plain(f"{name}: {message}"), file=sys.stderr)
    return status
