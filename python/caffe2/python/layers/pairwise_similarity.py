"""Similarities of all pairs of vectors."""

from __future__ import annotations

from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class PairwiseSimilarity(ModelLayer):
    """The products of each vector of `x_embeddings` [n, d] with each of `y_embeddings` [m, d], or
    of all pairs of `all_embeddings`: [n m], in the order of rows, or only the products listed in
    `indices_to_gather`. `output_dim` is their number; `pairwise_similarity_func` "dot" or
    "cosine_similarity".
    """

    def __init__(self, model: LayerModel, input_record: Record, output_dim: int,
                 pairwise_similarity_func: str = "dot", name: str = "pairwise_similarity",
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert isinstance(input_record, schema.Struct), (
            f"the input must be a Struct, found {input_record!r}")
        both = "x_embeddings" in input_record and "y_embeddings" in input_record
        assert ("all_embeddings" in input_record) != both, (
            "the input needs either all_embeddings, or x_embeddings and y_embeddings, and has "
            f"{input_record.field_names()}")
        self.pairwise_similarity_func = pairwise_similarity_func
        names = ("x_embeddings", "y_embeddings") if both else ("all_embeddings",) * 2
        self.x_embeddings, self.y_embeddings = (input_record[name] for name in names)
        self.indices_to_gather = input_record.get("indices_to_gather")
        for scalar in (self.x_embeddings, self.y_embeddings):
            require_scalar(scalar)
        if self.indices_to_gather is not None:
            require_scalar(self.indices_to_gather)
        self.output_schema = schema.Scalar(
            (self.x_embeddings.field_type().base, (output_dim,)),
            self.get_next_blob_reference("output"))

    def add_ops(self, net: core.Net) -> None:
        """Adds BatchMatMul; raises NotImplementedError for an unknown function."""
        x, y = self.x_embeddings(), self.y_embeddings()
        if self.pairwise_similarity_func == "cosine_similarity":
            x, y = net.Normalize(x, axis=1), net.Normalize(y, axis=1)
        elif self.pairwise_similarity_func != "dot":
            raise NotImplementedError(
                f"pairwise_similarity_func={self.pairwise_similarity_func} is not valid")
        products = net.BatchMatMul(
            [x, y], [self.get_next_blob_reference(x + "_matmul")], trans_b=1)
        if self.indices_to_gather is None:
            net.Flatten(products, self.output_schema())
        else:
            flat = net.Flatten(products, products + "_flatten")
            net.BatchGather([flat, self.indices_to_gather()], self.output_schema())
