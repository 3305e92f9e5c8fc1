"""The base of objects that add operators to existing nets."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any

from caffe2.python import core


class NetModifier(abc.ABC):
    """Subclasses define modify_net; a call of the object calls it."""

    @abc.abstractmethod
    def modify_net(self, net: core.Net, init_net: core.Net | None = None,
                   grad_map: Mapping[str, Any] | None = None,
                   blob_to_device: Mapping[str, Any] | None = None,
                   modify_output_record: bool = False) -> None:
        """Adds operators to `net`, and to `init_net` the operators that make blobs for them.

        Args:
          grad_map: {blob: its gradient}.
          blob_to_device: {blob: DeviceOption}.
          modify_output_record: adds the new blobs to the net's output record.
        """

    def __call__(self, net: core.Net, init_net: core.Net | None = None,
                 grad_map: Mapping[str, Any] | None = None,
                 blob_to_device: Mapping[str, Any] | None = None,
                 modify_output_record: bool = False) -> None:
        self.modify_net(net, init_net=init_net, grad_map=grad_map,
                        blob_to_device=blob_to_device, modify_output_record=modify_output_record)
