"""Tags of layers, by which nets are generated from some layers and not from others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from caffe2.python import context

_F = TypeVar("_F", bound=Callable[..., Any])


class TagContext(context.DefaultManaged):
    """The tags of the open Tags blocks, which every new layer gets."""

    def __init__(self, tags: list[str] | None = None) -> None:
        self.tags = tags or []

    def add_tags(self, tags: list[str]) -> None:
        """Appends a list of tags."""
        self.tags.extend(tags)

    def remove_tags(self, tags: list[str]) -> None:
        """Removes the last tags; raises AssertionError if they differ from `tags`."""
        assert self.tags[-len(tags):] == tags, f"{tags} are not the last of {self.tags}"
        self.tags = self.tags[:-len(tags)]


class Tags:
    """``with Tags(tag_or_list):`` gives tags to the layers that are made in the block. Also a
    decorator of functions. The attributes are the known tags."""

    # The kinds of nets that leave the layer out.
    EXCLUDE_FROM_TRAIN = "exclude_from_train"
    EXCLUDE_FROM_EVAL = "exclude_from_eval"
    EXCLUDE_FROM_PREDICTION = "exclude_from_prediction"
    EXCLUDE_FROM_ACCUMULATE_PRED = "exclude_from_accumulate_pred"
    TRAIN_ONLY = [EXCLUDE_FROM_PREDICTION, EXCLUDE_FROM_EVAL, EXCLUDE_FROM_ACCUMULATE_PRED]
    EVAL_ONLY = [EXCLUDE_FROM_PREDICTION, EXCLUDE_FROM_TRAIN, EXCLUDE_FROM_ACCUMULATE_PRED]
    PREDICTION_ONLY = [EXCLUDE_FROM_TRAIN, EXCLUDE_FROM_EVAL, EXCLUDE_FROM_ACCUMULATE_PRED]

    PREPROCESSING = "preprocessing"
    HANDLE_AS_SPARSE_LAYER = "handle_as_sparse_layer"
    PREFER_GPU = "prefer_gpu"
    CPU_ONLY = "cpu_only"
    LOCAL = "local"

    # Hints for training on several machines: split parameters over parameter servers, or keep them
    # on one; keep the parameters of a part of the net together; update dense ones without locks.
    SPARSE_SHARDED = "sparse_sharded"
    SPARSE_DONT_SHARD = "sparse_dont_shard"
    COMPONENT = "component:"
    PIPELINE = "pipeline:"
    HOGWILD_DENSE = "hogwild_dense"
    DT_TAGS = (SPARSE_SHARDED, SPARSE_DONT_SHARD, COMPONENT, HOGWILD_DENSE)
    # The text after this prefix goes into extra_info of the net.
    EXTRA_INFO = "extra_info:"
    EMPTY_TAG = "empty_tag"

    # Layers whose outputs replace columns of the input of prediction nets.
    PREDICTION_SCHEMA = "prediction_schema"
    FEATURE_TRANSFORM = "feature_transform"
    FEATURE_TRANSFORM_SCHEMA = "feature_transform_schema"

    def __init__(self, tags: str | list[str]) -> None:
        self.tags = tags if isinstance(tags, list) else [tags]

    def __enter__(self) -> Tags:
        TagContext.current().add_tags(self.tags)
        return self

    def __exit__(self, *error: Any) -> None:
        TagContext.current().remove_tags(self.tags)

    def __call__(self, func: _F) -> _F:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return wrapper  # type: ignore[return-value]
