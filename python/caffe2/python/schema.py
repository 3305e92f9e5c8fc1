"""Records: blobs with names, types and nesting.

A schema is a tree of fields: `Scalar` (one blob), `Struct` (named fields) and `List` (a blob of
lengths and the concatenated items). A schema whose scalars have blobs is a record. In a flat list
of columns every scalar has a name, in which ":" separates the levels; the two parts of a list are
"lengths" and "values". ``Struct(("a", List(Scalar(int))))`` has the columns "a:lengths" and
"a:values".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace
from caffe2.python._core.records import NewRecord, from_blob_list, from_column_list
from caffe2.python._core.schema_fields import (
    FIELD_SEPARATOR,
    Field,
    FieldLike,
    List,
    ListWithEvicted,
    Scalar,
    Struct,
    _normalize_field,
    equal_schemas,
)
from caffe2.python._core.schema_types import (
    FeatureSpec,
    Metadata,
    data_type_for_dtype,
    dtype_for_core_type,
)

__all__ = [
    "ConstRecord", "FIELD_SEPARATOR", "FeatureSpec", "FeedRecord", "FetchRecord", "Field",
    "InitEmptyRecord", "List", "ListWithEvicted", "Map", "MapWithEvicted", "Metadata", "NamedTuple",
    "NewRecord", "RawTuple", "Scalar", "Struct", "Tuple", "as_record", "attach_metadata_to_scalars",
    "data_type_for_dtype", "dtype_for_core_type", "equal_schemas", "from_blob_list",
    "from_column_list", "from_dtype", "is_schema_subset", "schema_check",
]


def Map(keys: FieldLike, values: FieldLike, keys_name: str = "keys", values_name: str = "values",
        lengths_blob: Any = None) -> List:
    """A List of pairs: a Struct of keys and values."""
    return List(Struct((keys_name, keys), (values_name, values)), lengths_blob=lengths_blob)


def MapWithEvicted(keys: FieldLike, values: FieldLike, keys_name: str = "keys",
                   values_name: str = "values", lengths_blob: Any = None,
                   evicted_values: Any = None) -> ListWithEvicted:
    """A ListWithEvicted of pairs: a Struct of keys and values."""
    return ListWithEvicted(Struct((keys_name, keys), (values_name, values)), lengths_blob,
                           evicted_values)


def NamedTuple(name_prefix: str, *fields: FieldLike) -> Struct:
    """A Struct with the field names prefix_0, prefix_1, ..."""
    return Struct(*[(f"{name_prefix}_{i}", field) for i, field in enumerate(fields)])


def Tuple(*fields: FieldLike) -> Struct:
    """A Struct with the field names field_0, field_1, ..."""
    return NamedTuple("field", *fields)


def RawTuple(num_fields: int, name_prefix: str = "field") -> Struct:
    """A tuple of Scalars of unknown type."""
    return NamedTuple(name_prefix, *[Scalar() for _ in range(num_fields)])


def from_dtype(dtype: Any, _outer_shape: tuple[int, ...] = ()) -> Any:
    """A Scalar, or for a structured numpy dtype a Struct of its fields."""
    dtype = np.dtype(dtype)
    shape = tuple(_outer_shape) + dtype.shape
    if dtype.base.names is None:
        return Scalar((dtype.base, shape))
    return Struct(*[(name, from_dtype(dtype.base.fields[name][0], shape))
                    for name in dtype.base.names])


def as_record(value: Any) -> Any:
    """A Field from a field, a list (Tuple), a dict (Struct), a type or a blob."""
    if isinstance(value, Field):
        return value
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
               for item in value):
            return Struct(*[(name, as_record(item)) for name, item in value])
        return Tuple(*[as_record(item) for item in value])
    if isinstance(value, dict):
        return Struct(*[(name, as_record(item)) for name, item in value.items()])
    return _normalize_field(value)


def FetchRecord(blob_record: Field, ws: C.Workspace | None = None,
                throw_on_type_mismatch: bool = False) -> Any:
    """The record with the contents of its blobs (arrays) instead of their names."""
    blobs = blob_record.field_blobs()
    if ws is None:
        values = [workspace.FetchBlob(str(blob)) for blob in blobs]
    else:
        values = [ws.fetch_blob(str(blob)) for blob in blobs]
    return from_blob_list(blob_record, values, throw_on_type_mismatch)


def FeedRecord(blob_record: Field, arrays: Field | Sequence[Any],
               ws: C.Workspace | None = None) -> None:
    """Feeds the blobs of a record from arrays in column order, or from a record of arrays."""
    if isinstance(arrays, Field):
        arrays = arrays.field_blobs()
    blobs = blob_record.field_blobs()
    if len(arrays) != len(blobs):
        raise ValueError(f"there must be one array for each of the {len(blobs)} columns, "
                         f"found {len(arrays)}")
    # Data given as lists takes the type of its column.
    for blob, array in zip(blobs, from_blob_list(blob_record, arrays).field_blobs()):
        if ws is None:
            workspace.FeedBlob(str(blob), array)
        else:
            ws.create_blob(str(blob)).feed(array)


def ConstRecord(net: core.Net, array_record: Field) -> Any:
    """A record of blobs; each run of the net fills them with the arrays of `array_record`."""
    record = NewRecord(net, array_record)
    for blob, array in zip(record.field_blobs(), array_record.field_blobs()):
        net.Const(array, blob)
    return record


def InitEmptyRecord(net: core.Net, schema_or_record: Field, enforce_types: bool = False) -> Any:
    """A record whose blobs the net fills with tensors without rows.

    A column of unknown type becomes float; with `enforce_types` that raises TypeError.
    """
    record = schema_or_record
    if not record.has_blobs():
        record = NewRecord(net, schema_or_record)
    for dtype, blob in zip(record.field_types(), record.field_blobs()):
        try:
            net.ConstantFill([], blob, shape=[0, *dtype.shape], dtype=data_type_for_dtype(dtype))
        except TypeError:
            if enforce_types:
                raise
            net.ConstantFill([], blob, shape=[0])
    return record


def attach_metadata_to_scalars(field: Field, metadata: Metadata | None) -> None:
    """Sets the Metadata of all columns of a field."""
    for scalar in field.all_scalars():
        scalar.set_metadata(metadata)


def is_schema_subset(schema: Field, original_schema: Field) -> bool:
    """True if `original_schema` has all columns of `schema`, by name."""
    return set(schema.field_names()) <= set(original_schema.field_names())


def schema_check(schema: Any, previous: Field | None = None) -> Any:
    """`schema` as a record; raises ValueError if it differs from `previous`, if that is given."""
    record = as_record(schema)
    if previous is not None and not equal_schemas(record, previous):
        raise ValueError(f"the schema\n{record}\ndiffers from\n{previous}")
    return record


DataType = core.DataType
