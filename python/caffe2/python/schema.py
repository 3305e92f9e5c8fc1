"""Records: blobs with names, types and nesting.

A schema is a tree of fields: `Scalar` (one blob), `Struct` (named fields) and `List` (a blob of
lengths and the concatenated items). A schema whose scalars have blobs is a record. Flattened, every
scalar has a name, in which ":" separates the levels, "lengths" and "values" being the parts of a
list: ``Struct(("a", List(Scalar(int))))`` has the columns "a:lengths" and "a:values".
"""

import collections

import numpy as np

from caffe2.python import core, workspace
from caffe2.python._schema_types import (
    Metadata,
    data_type_for_dtype,
    dtype_for_core_type,
    scalar_type,
)

FIELD_SEPARATOR = ":"

__all__ = [
    "ConstRecord", "FIELD_SEPARATOR", "FeedRecord", "FetchRecord", "Field", "InitEmptyRecord",
    "List", "Map", "Metadata", "NamedTuple", "NewRecord", "RawTuple", "Scalar", "Struct", "Tuple",
    "as_record", "attach_metadata_to_scalars", "data_type_for_dtype", "dtype_for_core_type",
    "equal_schemas", "from_blob_list", "from_column_list", "from_dtype", "is_schema_subset",
    "schema_check",
]


def _join_field_name(prefix, suffix):
    return FIELD_SEPARATOR.join(part for part in (prefix, suffix) if part)


def _normalize_field(value, keep_blobs=True):
    """A Field from a field (copied), a type, or a blob."""
    if isinstance(value, Field):
        return value.clone(keep_blobs=keep_blobs)
    if isinstance(value, (type, np.dtype)) or value is None:
        return Scalar(dtype=value)
    return Scalar(blob=value)


class Field:
    """A node of a schema. Two are equal if names, nesting and types are; blobs do not count."""

    def __init__(self, children):
        self._parent = (None, 0)
        self._field_offsets = []
        offset = 0
        for child in children:
            self._field_offsets.append(offset)
            offset += len(child.field_names())
        self._field_offsets.append(offset)

    def _set_parent(self, parent, relative_id):
        self._parent = (parent, relative_id)

    def _child_base_id(self, child_index=None):
        """The place of the first column of a child (or of this field) among those of the root."""
        parent, place = self._parent
        base = 0 if parent is None else parent._child_base_id(place)
        return base if child_index is None else base + self._field_offsets[child_index]

    def field_names(self):
        """The names of the columns, depth first."""
        raise NotImplementedError("Field is abstract")

    def field_types(self):
        """The numpy dtypes of the columns; the shape of a dtype is that of one element."""
        return [scalar.field_type() for scalar in self.all_scalars()]

    def field_metadata(self):
        return [scalar.metadata for scalar in self.all_scalars()]

    def field_blobs(self):
        """The blobs of the columns. Raises ValueError if one has none."""
        return [scalar.get() for scalar in self.all_scalars()]

    def all_scalars(self):
        """The columns as Scalars, depth first."""
        raise NotImplementedError("Field is abstract")

    def has_blobs(self):
        """True if all columns have blobs."""
        return all(scalar.has_blobs() for scalar in self.all_scalars())

    def clone(self, keep_blobs=True):
        raise NotImplementedError("Field is abstract")

    def clone_schema(self):
        """A copy without blobs."""
        return self.clone(keep_blobs=False)

    def __eq__(self, other):
        return isinstance(other, Field) and equal_schemas(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __str__(self):
        columns = zip(self.field_names(), self.all_scalars())
        return "\n".join(f"{name or '(scalar)'}: {scalar!r}" for name, scalar in columns)


class Scalar(Field):
    """One column.

    Args:
      dtype: the type of its elements, as numpy takes it; (type, shape) for elements of a shape;
        None for an unknown type.
      blob: a BlobReference, or data (array, number, list) of shape [rows, element shape].
      metadata: a Metadata.
    """

    def __init__(self, dtype=None, blob=None, metadata=None):
        Field.__init__(self, [])
        self._metadata = None
        self.set(dtype, blob, metadata, unsafe=True)

    def set(self, dtype=None, blob=None, metadata=None, unsafe=False):
        """Sets type and blob. `unsafe` allows what belongs to a larger record.

        Raises TypeError for a structured or unusable dtype, ValueError for an invalid shape.
        """
        self._check_alone(unsafe)
        self.dtype, self._blob = scalar_type(dtype, blob)
        if metadata is not None:
            self.set_metadata(metadata)

    def set_value(self, blob, throw_on_type_mismatch=False, unsafe=False):
        """Sets the blob. `throw_on_type_mismatch` raises TypeError for data of another type."""
        self._check_alone(unsafe)
        if throw_on_type_mismatch and isinstance(blob, np.ndarray) and self.dtype.base != np.void:
            if self.dtype.base != blob.dtype and not (
                    self.dtype.base.kind in "SU" and blob.dtype == np.dtype("O")):
                raise TypeError(f"data of type {blob.dtype} for a column of {self.dtype.base}")
        self.set(None if self.dtype == np.void else self.dtype, blob, unsafe=unsafe)

    def _check_alone(self, unsafe):
        if not unsafe and self._parent[0] is not None:
            raise ValueError("a column of a record is changed with unsafe=True only")

    def set_metadata(self, value):
        """Sets the Metadata, or None. Raises ValueError for a limit on what are no integers."""
        if not isinstance(value, (Metadata, type(None))):
            raise TypeError(f"metadata is a schema.Metadata, not {value!r}")
        kind = self.dtype.base
        limited = value is not None and value.categorical_limit is not None
        if limited and kind != np.void and kind.kind not in "iu":
            raise ValueError(
                f"`categorical_limit` can be specified only in integral columns, not of {kind}")
        self._metadata = value

    @property
    def metadata(self):
        return self._metadata

    def set_type(self, dtype):
        self.dtype, _ = scalar_type(dtype, None)
        self.set_metadata(self._metadata)

    def field_type(self):
        return self.dtype

    def field_names(self):
        return [""]

    def all_scalars(self):
        return [self]

    def has_blobs(self):
        return self._blob is not None

    def get(self):
        """The blob. Raises ValueError if there is none."""
        if self._blob is None:
            raise ValueError(f"the column {self!r} has no blob")
        return self._blob

    def __call__(self):
        return self.get()

    def id(self):
        """The place of this column among those of the whole schema."""
        return self._child_base_id()

    def clone(self, keep_blobs=True):
        copy = type(self).__new__(type(self))
        Scalar.__init__(copy)
        copy.dtype, copy._metadata = self.dtype, self._metadata
        copy._blob = self._blob if keep_blobs else None
        return copy

    def __repr__(self):
        return f"Scalar({self.dtype}, {self._blob!r})"


class Struct(Field):
    """Named fields, in an order.

    Args:
      fields: pairs (name, field, type or blob). A name "a:b" makes a struct "a" with a field "b".

    Fields are reached as attributes (``s.a``), by name (``s["a:b"]``), by place (``s[0]``), or
    several at once as a new Struct (``s["a", "c"]``). ``+`` merges, ``-`` removes fields. Raises
    ValueError for bad names, TypeError where two fields of one name are not both Structs.
    """

    def __init__(self, *fields):
        children = collections.OrderedDict()
        for pair in fields:
            if len(pair) != 2:
                raise ValueError(f"a field is a pair (name, field), not {pair!r}")
            name, value = pair
            if not isinstance(name, str) or not name:
                raise ValueError(f"a field name is a string that is not empty, not {name!r}")
            name, _, rest = name.partition(FIELD_SEPARATOR)
            if rest:
                value = Struct((rest, value))
            child = _normalize_field(value)
            if name in children:
                child = _merged(name, children[name], child)
            children[name] = child
        self.fields = children
        for place, child in enumerate(children.values()):
            child._set_parent(self, place)
        Field.__init__(self, children.values())

    def get_children(self):
        """Pairs (name, field)."""
        return list(self.fields.items())

    def field_names(self):
        return [_join_field_name(name, column)
                for name, child in self.fields.items() for column in child.field_names()]

    def all_scalars(self):
        return [scalar for child in self.fields.values() for scalar in child.all_scalars()]

    def clone(self, keep_blobs=True):
        copy = type(self).__new__(type(self))
        pairs = [(name, child.clone(keep_blobs)) for name, child in self.fields.items()]
        Struct.__init__(copy, *pairs)
        return copy

    def get(self, item, default_value=None):
        """The field of a (nested) name, or `default_value`."""
        try:
            return self[item]
        except KeyError:
            return default_value

    def __getitem__(self, item):
        if isinstance(item, (list, tuple)):
            return Struct(*[
                (list(self.fields)[key] if isinstance(key, int) else key, self[key])
                for key in item])
        if isinstance(item, int):
            return list(self.fields.values())[item]
        name, _, rest = item.partition(FIELD_SEPARATOR)
        if name not in self.fields:
            raise KeyError(item)
        field = self.fields[name]
        if not rest:
            return field
        if isinstance(field, Scalar):
            raise KeyError(item)
        return field[rest]

    def __getattr__(self, item):
        if not item.startswith("__"):
            fields = self.__dict__.get("fields", {})
            if item in fields:
                return fields[item]
        raise AttributeError(item)

    def __setattr__(self, key, value):
        # Scripts that assign to a field would else change a copy.
        if key in self.__dict__.get("fields", {}):
            raise TypeError(f"fields of a Struct cannot be assigned: {key}")
        self.__dict__[key] = value

    def __contains__(self, item):
        return self.get(item) is not None

    def __iter__(self):
        return iter(self.fields.values())

    def __len__(self):
        return len(self.fields)

    def __add__(self, other):
        if not isinstance(other, Struct):
            return NotImplemented
        return Struct(*self.get_children(), *other.get_children())

    def __sub__(self, other):
        if not isinstance(other, Struct):
            return NotImplemented
        kept = []
        for name, field in self.get_children():
            removed = other.fields.get(name)
            if removed is None:
                kept.append((name, field))
            elif isinstance(field, Struct) and isinstance(removed, Struct):
                rest = field - removed
                if len(rest):
                    kept.append((name, rest))
            elif isinstance(field, Struct) or isinstance(removed, Struct):
                raise TypeError(f"field {name}: cannot remove {type(removed).__name__} from "
                                f"{type(field).__name__}")
        return Struct(*kept)

    def __repr__(self):
        inside = ", ".join(f"({name!r}, {field!r})" for name, field in self.fields.items())
        return f"Struct({inside})"


def _merged(name, left, right):
    if not (isinstance(left, Struct) and isinstance(right, Struct)):
        raise TypeError(f"field {name} is defined twice, as {type(left).__name__} and "
                        f"{type(right).__name__}; only Structs can be merged")
    return left + right


class List(Field):
    """A variable number of items per row: a column of lengths, and the items one after the other.

    Args:
      values: the field of the items.
      lengths_blob: the blob (int32, [rows]) or a Scalar of the lengths.
    """

    def __init__(self, values, lengths_blob=None):
        if isinstance(lengths_blob, Field):
            if not isinstance(lengths_blob, Scalar):
                raise TypeError("the lengths of a List are a Scalar")
            self.lengths = lengths_blob.clone()
        else:
            self.lengths = Scalar(np.int32, lengths_blob)
        self._items = _normalize_field(values)
        self.lengths._set_parent(self, 0)
        self._items._set_parent(self, 1)
        Field.__init__(self, [self.lengths, self._items])

    @property
    def items(self):
        return self._items

    def field_names(self):
        return ["lengths"] + [_join_field_name("values", name)
                              for name in self._items.field_names()]

    def all_scalars(self):
        return [self.lengths, *self._items.all_scalars()]

    def clone(self, keep_blobs=True):
        copy = type(self).__new__(type(self))
        List.__init__(copy, self._items.clone(keep_blobs), self.lengths.clone(keep_blobs))
        return copy

    def __getattr__(self, item):
        """The fields of items that are Structs, and `value` for the items."""
        items = self.__dict__.get("_items")
        if not item.startswith("__") and items is not None:
            if isinstance(items, Struct):
                return getattr(items, item)
            if item == "value":
                return items
        raise AttributeError(item)

    def __getitem__(self, item):
        name, _, rest = item.partition(FIELD_SEPARATOR)
        if name == "lengths" and not rest:
            return self.lengths
        if name == "values" and not (rest and isinstance(self._items, Scalar)):
            return self._items[rest] if rest else self._items
        raise KeyError(item)

    def __repr__(self):
        return f"List({self._items!r}, lengths_blob={self.lengths!r})"


def Map(keys, values, keys_name="keys", values_name="values", lengths_blob=None):
    """A List of pairs: a Struct of keys and values."""
    return List(Struct((keys_name, keys), (values_name, values)), lengths_blob=lengths_blob)


def NamedTuple(name_prefix, *fields):
    """A Struct with the field names prefix_0, prefix_1, ..."""
    return Struct(*[(f"{name_prefix}_{i}", field) for i, field in enumerate(fields)])


def Tuple(*fields):
    """A Struct with the field names field_0, field_1, ..."""
    return NamedTuple("field", *fields)


def RawTuple(num_fields, name_prefix="field"):
    """A tuple of Scalars of unknown type."""
    return NamedTuple(name_prefix, *[Scalar() for _ in range(num_fields)])


def from_dtype(dtype, _outer_shape=()):
    """A Scalar, or for a structured numpy dtype a Struct of its fields."""
    dtype = np.dtype(dtype)
    shape = tuple(_outer_shape) + dtype.shape
    if dtype.base.names is None:
        return Scalar((dtype.base, shape))
    return Struct(*[(name, from_dtype(dtype.base.fields[name][0], shape))
                    for name in dtype.base.names])


def from_column_list(col_names, col_types=None, col_blobs=None, col_metadata=None):
    """The schema, or record, whose flattened columns these are, in any order.

    Raises ValueError for lists of different lengths or names that contradict each other.
    """
    count = len(col_names)
    for name, values in (("types", col_types), ("blobs", col_blobs), ("metadata", col_metadata)):
        if values is not None and len(values) != count:
            raise ValueError(f"{len(values)} {name} for {count} columns")
    tree = {}
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
    if set(node) == {"lengths", "values"} and isinstance(node["lengths"], Scalar):
        return List(_field_of_tree(node["values"]), lengths_blob=node["lengths"])
    return Struct(*[(name, _field_of_tree(child)) for name, child in node.items()])


def from_blob_list(schema, values, throw_on_type_mismatch=False):
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


def as_record(value):
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


def FetchRecord(blob_record, ws=None, throw_on_type_mismatch=False):
    """The record with the contents of its blobs (arrays) instead of their names."""
    blobs = blob_record.field_blobs()
    if ws is None:
        values = [workspace.FetchBlob(str(blob)) for blob in blobs]
    else:
        values = [ws.fetch_blob(str(blob)) for blob in blobs]
    return from_blob_list(blob_record, values, throw_on_type_mismatch)


def FeedRecord(blob_record, arrays, ws=None):
    """Feeds the blobs of a record from arrays in column order, or from a record of arrays."""
    if isinstance(arrays, Field):
        arrays = arrays.field_blobs()
    blobs = blob_record.field_blobs()
    if len(arrays) != len(blobs):
        raise ValueError(f"{len(arrays)} arrays for {len(blobs)} columns")
    # Data given as lists takes the type of its column.
    for blob, array in zip(blobs, from_blob_list(blob_record, arrays).field_blobs()):
        if ws is None:
            workspace.FeedBlob(str(blob), array)
        else:
            ws.create_blob(str(blob)).feed(array)


def NewRecord(net, schema):
    """A record of new blobs, named after the columns under the name scope and unique in the net."""
    if isinstance(schema, Scalar):
        record = schema.clone()
        record.set_value(net.NextScopedBlob("unnamed_scalar"))
        return record
    if not isinstance(schema, Field):
        raise TypeError("Record must be a schema.Field instance.")
    return from_blob_list(schema, [net.NextScopedBlob(name) for name in schema.field_names()])


def ConstRecord(net, array_record):
    """A record of blobs that hold the arrays of `array_record` whenever the net ran."""
    record = NewRecord(net, array_record)
    for blob, array in zip(record.field_blobs(), array_record.field_blobs()):
        net.Const(array, blob)
    return record


def InitEmptyRecord(net, schema_or_record, enforce_types=False):
    """A record whose blobs the net fills with tensors of no rows.

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


def attach_metadata_to_scalars(field, metadata):
    for scalar in field.all_scalars():
        scalar.set_metadata(metadata)


def equal_schemas(schema, original_schema, check_field_names=True, check_field_types=True,
                  check_field_metas=False):
    """True if two schemas have the same columns, as far as they are compared."""
    for field in (schema, original_schema):
        if not isinstance(field, Field):
            raise TypeError(f"a schema is a Field, not {field!r}")
    if check_field_names and schema.field_names() != original_schema.field_names():
        return False
    if check_field_types and schema.field_types() != original_schema.field_types():
        return False
    if check_field_metas and schema.field_metadata() != original_schema.field_metadata():
        return False
    return len(schema.all_scalars()) == len(original_schema.all_scalars())


def is_schema_subset(schema, original_schema):
    """True if the columns of one schema are all among those of the other."""
    return set(schema.field_names()) <= set(original_schema.field_names())


def schema_check(schema, previous=None):
    """`schema` as a record; raises ValueError if it differs from `previous`, if that is given."""
    record = as_record(schema)
    if previous is not None and not equal_schemas(record, previous):
        raise ValueError(f"the schema\n{record}\ndiffers from\n{previous}")
    return record


DataType = core.DataType
