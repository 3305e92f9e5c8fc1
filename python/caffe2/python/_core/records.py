"""Records made from columns; public through caffe2.python.schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.schema_fields import (
    EVICTED_VALUES,
    FIELD_SEPARATOR,
    Field,
    List,
    ListWithEvicted,
    Scalar,
    Struct,
)
from caffe2.python._core.schema_types import Metadata


def checked_record(record: Any) -> Field:
    """The record; raises TypeError for anything that is none."""
    if not isinstance(record, Field):
        raise TypeError(f"a record is a schema.Field, such as a schema.Struct, not {record!r}")
    return record


def from_column_list(col_names: Sequence[str], col_types: Sequence[Any] | None = None,
                     col_blobs: Sequence[Any] | None = None,
                     col_metadata: Sequence[Metadata | None] | None = None) -> Any:
    """The schema, or record, that has these columns; they may be in any order.

    Raises ValueError for lists of different lengths or names that contradict each other.
    """
    count = len(col_names)
    for name, values in (("types", col_types), ("blobs", col_blobs), ("metadata", col_metadata)):
        if values is not None and len(values) != count:
            raise ValueError(f"there must be as many {name} as the {count} columns, "
                             f"found {len(values)}")
    tree: dict[str, Any] = {}
    for i, name in enumerate(col_names):
        scalar = Scalar(
            dtype=col_types[i] if col_types else None,
            blob=col_blobs[i] if col_blobs else None,
            metadata=col_metadata[i] if col_metadata else None)
        parts = name.split(FIELD_SEPARATOR) if name else []
        node = tree
        for part in parts[:-1]:
            node = node.setdefault(part, {})
            if isinstance(node, Scalar):
                raise ValueError(f"column {name} lies inside another column")
        if not parts:
            return scalar
        if parts[-1] in node:
            raise ValueError(f"column {name} appears twice")
        node[parts[-1]] = scalar
    return _field_of_tree(tree)


def _field_of_tree(node):
    if isinstance(node, Scalar):
        return node
    if {"lengths", "values"} <= set(node) and isinstance(node["lengths"], Scalar):
        if len(node) == 2:
            return List(_field_of_tree(node["values"]), lengths_blob=node["lengths"])
        if len(node) == 3 and EVICTED_VALUES in node:
            return ListWithEvicted(
                _field_of_tree(node["values"]), node["lengths"], node[EVICTED_VALUES])
    return Struct(*[(name, _field_of_tree(child)) for name, child in node.items()])


def from_blob_list(schema: Field, values: Field | Sequence[Any],
                   throw_on_type_mismatch: bool = False) -> Any:
    """A record of this schema over blobs (or data), given in the order of the columns.

    Raises TypeError unless `schema` is a Field, ValueError for another number of values.
    """
    if not isinstance(schema, Field):
        raise TypeError("Argument `schema` must be a Field.")
    if isinstance(values, Field):
        values = values.field_blobs()
    record = schema.clone(keep_blobs=False)
    scalars = record.all_scalars()
    if len(scalars) != len(values):
        raise ValueError(f"Values must have {len(scalars)} elements, got {len(values)}.")
    for scalar, value in zip(scalars, values):
        scalar.set_value(value, throw_on_type_mismatch, unsafe=True)
    return record


def NewRecord(net: Any, schema: Field) -> Any:
    """A record of new blobs, named after the columns under the name scope and unique in the net."""
    if isinstance(schema, Scalar):
        record = schema.clone()
        record.set_value(net.NextScopedBlob("unnamed_scalar"))
        return record
    if not isinstance(schema, Field):
        raise TypeError("Record must be a schema.Field instance.")
    return from_blob_list(schema, [net.NextScopedBlob(name) for name in schema.field_names()])


def record_by_prefix(blobs: Iterable[BlobLike], prefix: str) -> Any:
    """The record of the blobs whose names begin with `prefix`, by the rest of their names; None if
    there are none."""
    columns = {str(blob)[len(prefix):]: blob for blob in blobs if str(blob).startswith(prefix)}
    if not columns:
        return None
    return from_column_list(list(columns), col_blobs=list(columns.values()))


def names_of_blobs(what: str, blobs: Iterable[Any]) -> list[Any]:
    """The names of blobs. A record stands for the blobs of its columns, a schema for blobs with the
    names of its columns, a list for its elements.

    Raises ValueError without blobs and TypeError for anything else; `what` begins the message.
    """
    if not blobs:
        raise ValueError(f"{what} needs at least one blob")
    names: list[Any] = []
    for blob in blobs:
        if isinstance(blob, Field):
            names += blob.field_blobs() if blob.has_blobs() else blob.field_names()
        elif isinstance(blob, (list, tuple)):
            names += names_of_blobs(what, blob)
        elif isinstance(blob, (str, bytes, BlobReference)):
            names.append(blob)
        else:
            raise TypeError(f"{what} takes blobs, not {blob!r} of type {type(blob)}")
    return names
