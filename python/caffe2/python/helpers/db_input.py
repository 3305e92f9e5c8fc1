"""Input from a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper


def db_input(model: ModelHelper, blobs_out: Sequence[BlobLike], batch_size: int, db: str,
             db_type: str) -> Any:
    """Batches of a database of TensorProtos: one blob for each tensor of a record."""
    reader = model.param_init_net.CreateDB([], "dbreader_" + db, db=db, db_type=db_type)
    return model.net.TensorProtosDBInput(reader, blobs_out, batch_size=batch_size)
