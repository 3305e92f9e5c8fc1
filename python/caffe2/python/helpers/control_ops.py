"""Branches and loops over models."""

from caffe2.python.control_ops_util import add_if_op, add_while_op


def cond(model, cond_blob, external_blobs, then_model, else_model=None):
    """Runs then_model's net if the bool blob is true, else else_model's. The nets may read and
    write `external_blobs`; others are their own."""
    add_if_op(model.net, cond_blob, external_blobs, then_model.net,
              else_model.net if else_model else None)


def loop(model, cond_blob, external_blobs, loop_model, cond_model=None):
    """Repeats loop_model's net as long as the bool blob is true; cond_model's net, if there is one,
    writes it before each test."""
    add_while_op(model.net, cond_blob, external_blobs, loop_model.net,
                 cond_model.net if cond_model else None)
