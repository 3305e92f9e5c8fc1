"""Writes files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator

from caffe2.python.convert.errors import CANNOT_WRITE, NO_INPUT, ConvertError, one_line


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """The name of a temporary file, which becomes `path` if the block succeeds and is removed
    otherwise. Raises ConvertError if the file cannot be written. What is no file and cannot become
    one (a device, a pipe, a link such as /dev/stdout) gets the content instead."""
    keeps_name = os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError("it is a folder")
        handle, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(path)}.", suffix=".part",
            dir=None if keeps_name else os.path.dirname(path) or ".")
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        yield temporary
        if keeps_name:
            with open(temporary, "rb") as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)


@contextlib.contextmanager
def made_folder(path: str) -> Iterator[None]:
    """Makes a folder, and the ones above it that are missing, which are removed again if the block
    raises. Raises ConvertError if it cannot be made."""
    missing = []  # the innermost first
    folder = os.path.abspath(path)
    while not os.path.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    try:
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise ConvertError(f"cannot make the folder {path}: {error.strerror}",
                               CANNOT_WRITE) from error
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def _cannot_write(path, error):
    return ConvertError(f"cannot write {path}: {error.strerror or one_line(error)}", CANNOT_WRITE)


def read_bytes(path: str) -> bytes:
    """The content of a file; raises ConvertError."""
    check_readable(path)
    with open(path, "rb") as file:
        return file.read()


def check_readable(path: str) -> None:
    """Raises ConvertError if a file cannot be read, or is empty."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
    except OSError as error:
        raise ConvertError(f"cannot read {path}: {error.strerror}", NO_INPUT) from error
    if stat.S_ISREG(status.st_mode) and status.st_size == 0:
        raise ConvertError(f"{path} is empty")
