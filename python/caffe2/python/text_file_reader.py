"""Reads text files of tab-separated columns."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobReference
from caffe2.python._core.net import Net
from caffe2.python.dataio import Reader
from caffe2.python.schema import Scalar, Struct, data_type_for_dtype


class TextFileReader(Reader):
    """Reads lines, each with a field for every column of the schema; the file may be gzipped.

    Args:
      init_net: the net that opens the file.
      filename: its path.
      schema: a Struct of Scalars, in the order of the fields.
      num_passes: the number of times to read the file.
      batch_size: lines in a record.
    """

    def __init__(self, init_net: Net, filename: str, schema: Struct, num_passes: int = 1,
                 batch_size: int = 1) -> None:
        if not isinstance(schema, Struct):
            raise TypeError(f"the schema of a text file is a Struct, not {schema!r}")
        for name, child in schema.get_children():
            if not isinstance(child, Scalar):
                raise TypeError(f"columns of a text file are Scalars; {name} is {child!r}")
        Reader.__init__(self, schema)
        self._reader = init_net.CreateTextFileReader(
            [], filename=filename, num_passes=num_passes,
            field_types=[data_type_for_dtype(dtype) for dtype in schema.field_types()])
        self._batch_size = batch_size

    def read(self, net: Net) -> tuple[BlobReference, list[Any]]:
        """(should_stop, fields) of the next lines; should_stop is true after the last."""
        blobs = net.TextFileReaderRead(
            [self._reader], len(self.schema().field_names()), batch_size=self._batch_size)
        fields = list(blobs) if isinstance(blobs, tuple) else [blobs]
        return net.IsEmpty([fields[0]]), fields
