"""Writes files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator

from caffe2.python.convert.errors import CANNOT_WRITE, NO_INPUT, ConvertError, one_line


def _is_of_stranger(path: str) -> bool:
    """True for a file or link of another user in a folder such as /tmp (IsOfStranger of
    train/atomic_file.h)."""
    found, folder = os.lstat(path), os.stat(os.path.dirname(path) or ".")
    is_shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    return bool(is_shared) and found.st_uid not in (os.geteuid(), folder.st_uid)


def _follow_links(path: str) -> str:
    """Where the links at `path` lead; a link of a stranger is not followed."""
    found = path
    for _ in range(40):  # as many as Linux follows
        if not os.path.islink(found) or _is_of_stranger(found):
            return found
        found = os.path.join(os.path.dirname(found), os.readlink(found))
    return path


def _is_stream(path: str) -> bool:
    """True if the content is to be written into what is there: a device, a pipe, or a file that is
    open already (/dev/stdout)."""
    if os.path.islink(_follow_links(path)) or not os.path.exists(path):
        return False
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    is_open = path in ("/dev/stdout", "/dev/stderr") or re.fullmatch(r"/proc/\d+/fd", folder)
    return bool(is_open) or not os.path.isfile(path)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """The name of a temporary file, which becomes `path` if the block succeeds and is removed
    otherwise. Raises ConvertError if the file cannot be written. Links are followed, but one of
    another user in a folder such as /tmp is replaced. A device or pipe gets the content instead."""
    target, is_stream = _follow_links(path), _is_stream(path)
    try:
        if os.path.isdir(path):
            raise IsADirectoryError("it is a folder")
        handle, temporary = tempfile.mkstemp(
            prefix=f".{os.path.basename(path)}.", suffix=".part",
            dir=None if is_stream else os.path.dirname(target) or ".")
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        yield temporary
        if is_stream:
            with open(temporary, "rb") as source, open(path, "ab") as stream:
                shutil.copyfileobj(source, stream)
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
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
