"""The base of modifiers that report on blobs of a net."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.modeling.net_modifier import NetModifier


class BlobReport(NetModifier):
    """Adds to a net, for each of `blobs` that it has, the operators of the subclass's method
    _compute(net, blob, name), which returns {output field: blob}.

    Args:
      logging_frequency: prints the results every this number of runs; 0: never.
    """

    _width = 1  # number of floats in a result

    def __init__(self, blobs: Iterable[BlobLike], logging_frequency: int) -> None:
        self._blobs = list(blobs)
        self._logging_frequency = logging_frequency
        self._suffix = ""

    def _compute(self, net, blob):
        raise NotImplementedError("a BlobReport defines _compute")

    def field_name_suffix(self) -> str:
        """The suffix of the names of the reported blobs."""
        return self._suffix

    def modify_net(self, net: core.Net, init_net: core.Net | None = None,
                   grad_map: Mapping[str, Any] | None = None,
                   blob_to_device: Mapping[str, Any] | None = None,
                   modify_output_record: bool = False) -> None:
        """Raises ValueError if the net lacks one of the blobs."""
        for blob_name in self._blobs:
            blob = core.BlobReference(str(blob_name))
            if not net.BlobIsDefined(blob):
                raise ValueError(f"blob {blob} is not defined in net {net.Name()}")
            device = (blob_to_device or {}).get(str(blob))
            with core.DeviceScope(device) if device else core.EmptyDeviceScope():
                outputs = self._compute(net, blob)
            for field, output in outputs.items():
                if self._logging_frequency >= 1:
                    net.Print(output, [], every_n=self._logging_frequency)
                if modify_output_record:
                    column = schema.Scalar((np.float32, (self._width,)), output)
                    if net.output_record() is None:
                        net.set_output_record(schema.Struct((str(blob) + field, column)))
                    else:
                        net.AppendOutputRecordField(str(blob) + field, column)
