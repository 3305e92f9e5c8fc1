"""The fields that schemas consist of; public through caffe2.python.schema."""

from __future__ import annotations

import difflib
import logging
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from caffe2.python._core.schema_types import Metadata, scalar_type

log = logging.getLogger("schema")

FIELD_SEPARATOR = ":"
# The name of the third column of a ListWithEvicted.
EVICTED_VALUES = "_evicted_values"
# A field, a type (None: unknown), or a blob.
FieldLike = Any


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
    """A node of a schema. Two are equal if their names, nesting and types are; blobs are not
    compared."""

    def __init__(self, children: Iterable[Field]) -> None:
        self._parent: tuple[Field | None, int] = (None, 0)
        self._field_offsets: list[int] = []
        offset = 0
        for child in children:
            self._field_offsets.append(offset)
            offset += len(child.field_names())
        self._field_offsets.append(offset)

    def _set_parent(self, parent: Field, relative_id: int) -> None:
        self._parent = (parent, relative_id)

    def _child_base_id(self, child_index: int | None = None) -> int:
        """The place of the first column of a child (or of this field) among the root's columns."""
        parent, place = self._parent
        base = 0 if parent is None else parent._child_base_id(place)
        return base if child_index is None else base + self._field_offsets[child_index]

    def slice(self) -> slice:
        """The range of the field's columns among the root's: ``columns[field.slice()]``."""
        first = self._child_base_id()
        return slice(first, first + len(self.field_names()))

    def field_names(self) -> list[str]:
        """The names of the columns, depth first."""
        raise NotImplementedError("Field is abstract")

    def field_types(self) -> list[np.dtype]:
        """The numpy dtypes of the columns; the shape of a dtype is the shape of one element."""
        return [scalar.field_type() for scalar in self.all_scalars()]

    def field_metadata(self) -> list[Metadata | None]:
        """The Metadata of each column, or None."""
        return [scalar.metadata for scalar in self.all_scalars()]

    def field_blobs(self) -> list[Any]:
        """The blobs of the columns. Raises ValueError if one has none."""
        return [scalar.get() for scalar in self.all_scalars()]

    def all_scalars(self) -> list[Scalar]:
        """The columns as Scalars, depth first."""
        raise NotImplementedError("Field is abstract")

    def has_blobs(self) -> bool:
        """True if all columns have blobs."""
        return all(scalar.has_blobs() for scalar in self.all_scalars())

    def clone(self, keep_blobs: bool = True) -> Any:
        """A copy, with or without its blobs."""
        raise NotImplementedError("Field is abstract")

    def clone_schema(self) -> Any:
        """A copy without blobs."""
        return self.clone(keep_blobs=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Field) and equal_schemas(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
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

    def __init__(self, dtype: Any = None, blob: Any = None,
                 metadata: Metadata | None = None) -> None:
        Field.__init__(self, [])
        self._metadata: Metadata | None = None
        self.set(dtype, blob, metadata, unsafe=True)

    def set(self, dtype: Any = None, blob: Any = None, metadata: Metadata | None = None,
            unsafe: bool = False) -> None:
        """Sets type and blob. Without `unsafe`, changing a column of a larger record logs a
        warning.

        Raises TypeError for a structured or unusable dtype, ValueError for an invalid shape.
        """
        self._warn_of_change(unsafe)
        self.dtype, self._blob = scalar_type(dtype, blob)
        if metadata is not None:
            self.set_metadata(metadata)

    def set_value(self, blob: Any, throw_on_type_mismatch: bool = False,
                  unsafe: bool = False) -> None:
        """Sets the blob. `throw_on_type_mismatch` raises TypeError for data of another type."""
        self._warn_of_change(unsafe)
        if throw_on_type_mismatch and isinstance(blob, np.ndarray) and self.dtype.base != np.void:
            if self.dtype.base != blob.dtype and not (
                    self.dtype.base.kind in "SU" and blob.dtype == np.dtype("O")):
                raise TypeError(f"the column needs data of type {self.dtype.base}, "
                                f"found {blob.dtype}")
        self.set(None if self.dtype == np.void else self.dtype, blob, unsafe=True)

    def _warn_of_change(self, unsafe):
        if not unsafe and self._parent[0] is not None:
            log.warning("a column of a record changes; pass unsafe=True if that is intended")

    def set_metadata(self, value: Metadata | None) -> None:
        """Sets the Metadata, or None. Raises ValueError for a limit on a column that is not of
        integers."""
        if not isinstance(value, (Metadata, type(None))):
            raise TypeError(f"metadata is a schema.Metadata, not {value!r}")
        kind = self.dtype.base
        limited = value is not None and value.categorical_limit is not None
        if limited and kind != np.void and kind.kind not in "iu":
            raise ValueError(
                f"`categorical_limit` can be specified only in integral columns, not of {kind}")
        self._metadata = value

    @property
    def metadata(self) -> Metadata | None:
        """The Metadata given, or None."""
        return self._metadata

    def set_type(self, dtype: Any) -> None:
        """Sets the element type, which must allow the metadata."""
        self.dtype, _ = scalar_type(dtype, None)
        self.set_metadata(self._metadata)

    def field_type(self) -> np.dtype:
        """The numpy dtype; its shape is the shape of one element."""
        return self.dtype

    def field_names(self) -> list[str]:
        """One empty name: a scalar has no parts."""
        return [""]

    def all_scalars(self) -> list[Scalar]:
        """The scalar itself, in a list."""
        return [self]

    def has_blobs(self) -> bool:
        """True if the scalar has a blob or an array."""
        return self._blob is not None

    def get(self) -> Any:
        """The blob. Raises ValueError if there is none."""
        if self._blob is None:
            raise ValueError(f"the column {self!r} has no blob")
        return self._blob

    def __call__(self) -> Any:
        return self.get()

    def id(self) -> int:
        """The place of this column among the columns of the whole schema."""
        return self._child_base_id()

    def clone(self, keep_blobs: bool = True) -> Scalar:
        """A copy; without `keep_blobs`, of type and metadata only."""
        copy = type(self).__new__(type(self))
        Scalar.__init__(copy)
        copy.dtype, copy._metadata = self.dtype, self._metadata
        copy._blob = self._blob if keep_blobs else None
        return copy

    def __repr__(self) -> str:
        return f"Scalar({self.dtype}, {self._blob!r})"


def _no_field(name, fields):
    near = difflib.get_close_matches(name, fields, 1)
    hint = f"; did you mean {near[0]}?" if near else f", but {', '.join(fields) or 'none'}"
    return textwrap.shorten(f"the record has no field {name}{hint}", 300)


class Struct(Field):
    """Named fields, in an order.

    Args:
      fields: pairs (name, field, type or blob). A name "a:b" makes a struct "a" with a field "b".

    Fields are reached as attributes (``s.a``), by name (``s["a:b"]``), by place (``s[0]``), or
    several at once as a new Struct (``s["a", "c"]``). ``+`` merges, ``-`` removes fields. Raises
    ValueError for bad names and for two fields of one name, TypeError where only one of them is a
    Struct: Structs are merged.
    """

    def __init__(self, *fields: tuple[str, FieldLike]) -> None:
        children: dict[str, Field] = {}
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
                known = children[name]
                if not isinstance(known, Struct) and not isinstance(child, Struct):
                    raise ValueError(f"two fields have the name {name}")
                child = _merged(name, known, child)
            children[name] = child
        self.fields = children
        for place, child in enumerate(children.values()):
            child._set_parent(self, place)
        Field.__init__(self, children.values())

    def get_children(self) -> list[tuple[str, Field]]:
        """Pairs (name, field)."""
        return list(self.fields.items())

    def field_names(self) -> list[str]:
        """Names of the columns, "child:part", in order."""
        return [_join_field_name(name, column)
                for name, child in self.fields.items() for column in child.field_names()]

    def all_scalars(self) -> list[Scalar]:
        """The scalars of all children, in order."""
        return [scalar for child in self.fields.values() for scalar in child.all_scalars()]

    def clone(self, keep_blobs: bool = True) -> Struct:
        """A copy of all children; without `keep_blobs`, of types and metadata only."""
        copy = type(self).__new__(type(self))
        pairs = [(name, child.clone(keep_blobs)) for name, child in self.fields.items()]
        Struct.__init__(copy, *pairs)
        return copy

    def get(self, item: Any, default_value: Any = None) -> Any:
        """The field of a (nested) name, or `default_value`."""
        try:
            return self[item]
        except KeyError:
            return default_value

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (list, tuple)):
            return Struct(*[
                (list(self.fields)[key] if isinstance(key, int) else key, self[key])
                for key in item])
        if isinstance(item, int):
            return list(self.fields.values())[item]
        name, _, rest = item.partition(FIELD_SEPARATOR)
        if name not in self.fields:
            raise KeyError(_no_field(item, self.fields))
        field: Any = self.fields[name]
        if not rest:
            return field
        if isinstance(field, Scalar):
            raise KeyError(item)
        return field[rest]

    def __getattr__(self, item: str) -> Any:
        if not item.startswith("__"):
            fields = self.__dict__.get("fields", {})
            if item in fields:
                return fields[item]
            raise AttributeError(_no_field(item, fields))
        raise AttributeError(item)

    def __setattr__(self, key: str, value: Any) -> None:
        # Fields are copies: a script that assigned to one would not change its original.
        if key in self.__dict__.get("fields", {}):
            raise TypeError(f"fields of a Struct cannot be assigned: {key}")
        self.__dict__[key] = value

    def __contains__(self, item: Any) -> bool:
        return self.get(item) is not None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fields.values())

    def __len__(self) -> int:
        return len(self.fields)

    def __add__(self, other: Struct) -> Struct:
        if not isinstance(other, Struct):
            return NotImplemented
        merged = dict(self.get_children())
        for name, child in other.get_children():
            merged[name] = _merged(name, merged[name], child) if name in merged else child
        return Struct(*merged.items())

    def __sub__(self, other: Struct) -> Struct:
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

    def __repr__(self) -> str:
        inside = ", ".join(f"({name!r}, {field!r})" for name, field in self.fields.items())
        return f"Struct({inside})"


def _merged(name, left, right):
    if not (isinstance(left, Struct) and isinstance(right, Struct)):
        raise TypeError(f"two fields have the name {name}, a {type(left).__name__} and a "
                        f"{type(right).__name__}; only Structs can be merged")
    return left + right


class List(Field):
    """A variable number of items per row: a column of lengths, and the items one after the other.

    Args:
      values: the field of the items.
      lengths_blob: the blob (int32, [rows]) or a Scalar of the lengths.
    """

    def __init__(self, values: FieldLike, lengths_blob: Any = None) -> None:
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
    def items(self) -> Any:
        """The field of the values."""
        return self._items

    def field_names(self) -> list[str]:
        """"lengths", then the columns of the values, "values:part"."""
        return ["lengths"] + [_join_field_name("values", name)
                              for name in self._items.field_names()]

    def all_scalars(self) -> list[Scalar]:
        """The lengths, then the scalars of the values."""
        return [self.lengths, *self._items.all_scalars()]

    def clone(self, keep_blobs: bool = True) -> List:
        """A copy; without `keep_blobs`, of types and metadata only."""
        copy = type(self).__new__(type(self))
        List.__init__(copy, self._items.clone(keep_blobs), self.lengths.clone(keep_blobs))
        return copy

    def __getattr__(self, item: str) -> Any:
        """The fields of items that are Structs, and `value` for the items."""
        items = self.__dict__.get("_items")
        if not item.startswith("__") and items is not None:
            if isinstance(items, Struct):
                return getattr(items, item)
            if item == "value":
                return items
        raise AttributeError(item)

    def __getitem__(self, item: str) -> Any:
        name, _, rest = item.partition(FIELD_SEPARATOR)
        if name == "lengths" and not rest:
            return self.lengths
        if name == "values" and not (rest and isinstance(self._items, Scalar)):
            return self._items[rest] if rest else self._items
        raise KeyError(item)

    def __repr__(self) -> str:
        return f"List({self._items!r}, lengths_blob={self.lengths!r})"


class ListWithEvicted(List):
    """A List, with a column of the items that have left a sliding window over its rows.

    Args:
      values, lengths_blob: as of List.
      evicted_values: the blob, or a Scalar (int64), of those items.
    """

    def __init__(self, values: FieldLike, lengths_blob: Any = None,
                 evicted_values: Any = None) -> None:
        if isinstance(evicted_values, Field):
            if not isinstance(evicted_values, Scalar):
                raise TypeError("the evicted values of a ListWithEvicted are a Scalar")
            self._evicted_values = evicted_values.clone()
        else:
            self._evicted_values = Scalar(np.int64, evicted_values)
        List.__init__(self, values, lengths_blob)
        self._evicted_values._set_parent(self, 2)
        Field.__init__(self, [self.lengths, self._items, self._evicted_values])

    def field_names(self) -> list[str]:
        """The names of a List, then the evicted values' name."""
        return [*List.field_names(self), EVICTED_VALUES]

    def all_scalars(self) -> list[Scalar]:
        """The scalars of a List, then the evicted values."""
        return [*List.all_scalars(self), self._evicted_values]

    def clone(self, keep_blobs: bool = True) -> ListWithEvicted:
        """A copy; without `keep_blobs`, of types and metadata only."""
        copy = type(self).__new__(type(self))
        ListWithEvicted.__init__(
            copy, self._items.clone(keep_blobs), self.lengths.clone(keep_blobs),
            self._evicted_values.clone(keep_blobs))
        return copy

    def __getitem__(self, item: str) -> Any:
        return self._evicted_values if item == EVICTED_VALUES else List.__getitem__(self, item)

    def __repr__(self) -> str:
        return (f"ListWithEvicted({self._items!r}, lengths_blob={self.lengths!r}, "
                f"evicted_values={self._evicted_values!r})")


def equal_schemas(schema: Field, original_schema: Field, check_field_names: bool = True,
                  check_field_types: bool = True, check_field_metas: bool = False) -> bool:
    """True if two schemas have the same number of columns and agree in the properties to check."""
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
