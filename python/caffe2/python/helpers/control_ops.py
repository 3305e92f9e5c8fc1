"""Branches and loops over models."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.control_ops_util import add_if_op, add_while_op
from caffe2.python.model_helper import ModelHelper


def cond(model: ModelHelper, cond_blob: BlobLike, external_blobs: Iterable[BlobLike],
         then_model: ModelHelper, else_model: ModelHelper | None = None) -> None:
    """Runs then_model's net if the bool blob is true, else else_model's. The nets may read and
    write `external_blobs`; other blobs are local to them."""
    add_if_op(model.net, cond_blob, external_blobs, then_model.net,
              else_model.net if else_model else None)


def loop(model: ModelHelper, cond_blob: BlobLike, external_blobs: Iterable[BlobLike],
         loop_model: ModelHelper, cond_model: ModelHelper | None = None) -> None:
    """Repeats loop_model's net as long as the bool blob is true; cond_model's net, if there is one,
    writes it before each test."""
    add_while_op(model.net, cond_blob, external_blobs, loop_model.net,
                 cond_model.net if cond_model else None)
