"""The base of what adds something to nets that exist."""

import abc


class NetModifier(abc.ABC):
    """Subclasses define modify_net(net, init_net=None, grad_map=None, blob_to_device=None,
    modify_output_record=False), which calling them calls."""

    @abc.abstractmethod
    def modify_net(self, net, init_net=None, grad_map=None, blob_to_device=None,
                   modify_output_record=False):
        """Adds operators to `net`, and to `init_net` what they need made.

        Args:
          grad_map: {blob: its gradient}.
          blob_to_device: {blob: DeviceOption}.
          modify_output_record: adds the new blobs to the net's output record.
        """

    def __call__(self, net, init_net=None, grad_map=None, blob_to_device=None,
                 modify_output_record=False):
        self.modify_net(net, init_net=init_net, grad_map=grad_map,
                        blob_to_device=blob_to_device, modify_output_record=modify_output_record)
