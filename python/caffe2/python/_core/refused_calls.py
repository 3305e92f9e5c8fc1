"""Nets that a refused call leaves as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from caffe2.python._core.errors import operator_tracebacks


@contextlib.contextmanager
def undone_if_refused(net: Any) -> Iterator[None]:
    """Takes back what the block has added to a Net if it raises an exception."""
    proto = net.Proto()
    fields = proto.op, proto.external_input, proto.external_output
    counts = [len(field) for field in fields]
    registered, next_name = len(net._registered_blob_names), net._next_name_index
    try:
        yield
    except Exception:
        lines = operator_tracebacks[net.Name()]
        for index in range(counts[0], len(proto.op)):
            lines.pop(index, None)
        for field, count in zip(fields, counts):
            del field[count:]
        while len(net._registered_blob_names) > registered:
            net._registered_blob_names.popitem()
        net._next_name_index = next_name
        net._InvalidateLookupTables()
        raise
