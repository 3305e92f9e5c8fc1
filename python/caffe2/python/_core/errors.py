"""Finds where operators were created, and which net writes a blob, and adds this to errors of the
library."""

from __future__ import annotations

import collections
import difflib
import functools
import logging
import os
import re
import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")

log = logging.getLogger(__name__)

# The core.Nets that there are, by name.
nets: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

# Net name -> {operator index: creation line}, for the messages of errors.
operator_tracebacks: dict[str, dict[int, list]] = collections.defaultdict(dict)

# The names of the nets that were created in the current workspace. The module workspace sets it.
created_nets: Callable[[], list[str]] = list

# caffe2/python, the folder above this one.
_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@functools.cache
def _is_own_file(filename):
    """True for the files of this package, which are left out of creation lines."""
    return os.path.abspath(filename).startswith(_PACKAGE_DIR)


def creation_line() -> list[tuple[str, int, str]]:
    """[(file, line, function)] of the innermost caller outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return []
    return [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)]


def name_by_creation_lines(net: Any) -> None:
    """Names each operator of a NetDef after the line that created it: "file:line:function"."""
    lines = operator_tracebacks.get(net.name, {})
    for i, op in enumerate(net.op):
        if lines.get(i):
            op.name = ":".join(map(str, lines[i][0]))


# The net and the index by which the library names an operator in an error.
_OPERATOR_PATTERN = re.compile(r"net (\S+), operator (\d+), ")


# The net, and the blob that it lacks, in an error of the library.
_MISSING_PATTERN = re.compile(r"^net (\S+): external input (\S+) does not exist")


def _with_writer(error):
    """The error, extended by a net that writes the blob that another net lacks: a script forgot to
    run it. Otherwise the error itself."""
    found = _MISSING_PATTERN.match(str(error))
    if not found:
        return error
    reader, blob = found.groups()
    writers = [net.Name() for net in (reference() for reference in nets.valuerefs())
               if net is not None and net.Name() != reader
               and any(blob in op.output for op in net.Proto().op)]
    if not writers:
        return error
    # The newest of the nets that are named most like the reader: mostly the same model's.
    writer = max(reversed(writers), key=lambda name: len(os.path.commonprefix([name, reader])))
    return RuntimeError(f"{error}\nNet {writer} writes {blob}: run it first, such as with "
                        "workspace.RunNetOnce(model.param_init_net)")


def _with_creation_line(error):
    """The error with the Python line that created the operator it names, or the error itself.

    An exception of a Python operator stays what it is, with notes (from Python 3.11 on).
    """
    notes = getattr(error, "__notes__", ())
    text = "\n".join(notes) or str(error)
    for net, index in _OPERATOR_PATTERN.findall(text):
        lines = operator_tracebacks.get(net, {}).get(int(index))
        if not lines:
            continue
        file, line, function = lines[0]
        created = (f'Operator {index} of net {net} was created at\n'
                   f'  File "{file}", line {line}, in {function}')
        if notes:
            error.add_note(created)
            return error
        return RuntimeError(f"{error}\n{created}")
    return error


# What to do in Python about an error of the library, which does not know who calls it.
_HINTS = [(re.compile(pattern), hint) for pattern, hint in [
    (r"^net \S+ already exists",
     "workspace.CreateNet(net, overwrite=True) replaces it"),
    (r"element type double is not supported here; supported:.* float\b|"
     r"holds double where float is needed",
     "numpy makes float64 arrays, unless told otherwise: feed array.astype(numpy.float32)"),
    (r"element type int64_t is not supported here; supported:.* int\b|"
     r"holds int64_t where int is needed",
     "numpy makes int64 arrays, unless told otherwise: feed array.astype(numpy.int32)"),
]]


# A net that was not created, or was created under another name.
_NO_NET_PATTERN = re.compile(r"^net (\S+) does not exist in this workspace")


def _with_hint(error):
    """The error with what to do about it in Python, or the error itself."""
    if type(error) is not RuntimeError:  # of a Python operator
        return error
    text = str(error)
    missing = _NO_NET_PATTERN.match(text)
    if missing:
        near = difflib.get_close_matches(missing[1], created_nets(), 3)
        return RuntimeError(f"{text}; did you mean {', '.join(near)}?" if near else
                            f"{text}; workspace.CreateNet(net) creates nets, before they run")
    hints = [hint for pattern, hint in _HINTS if pattern.search(text)]
    return RuntimeError("\n".join([text, *hints])) if hints else error


def call_explained(func: Callable[..., _T], *args: Any) -> _T:
    """Calls a function of the library; errors get the creation line of the operator at fault, and
    what to do about them."""
    try:
        return func(*args)
    except Exception as error:
        explained = _with_hint(_with_writer(_with_creation_line(error)))
        if explained is error:
            raise
        raise explained from error


def CallWithExceptionIntercept(func: Callable[..., _T], op_id_fetcher: Callable[[], int],
                               net_name: str, *args: Any, **kwargs: Any) -> _T:
    """Calls func(*args, **kwargs). If it raises, logs which line created the operator of index
    op_id_fetcher() in the net `net_name`, and raises the exception again."""
    try:
        return func(*args, **kwargs)
    except Exception:
        index = op_id_fetcher()
        lines = operator_tracebacks.get(net_name, {}).get(index) or ["a line that is not known"]
        log.warning("Operator %s of net %s, which was created at %s, failed", index, net_name,
                    lines[0])
        raise
