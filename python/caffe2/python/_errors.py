"""Errors of the library with the line that created the operator at fault; used by workspace."""

import re

from caffe2.python._operator_def import operator_tracebacks

# How the library names an operator in an error: net, index.
_OPERATOR_PATTERN = re.compile(r"net (\S+), operator (\d+), ")


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


def CallWithExceptionIntercept(func, *args):
    """Calls a function of the library; errors get the creation line of the operator at fault."""
    try:
        return func(*args)
    except Exception as error:
        explained = _with_creation_line(error)
        if explained is error:
            raise
        raise explained from error
