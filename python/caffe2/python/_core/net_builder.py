"""Nets and steps in the order in which a program makes them; public through net_builder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.builders import NetBlock
from caffe2.python._core.net import Net
from caffe2.python._core.plan import ExecutionStep, execution_step

_Child = TypeVar("_Child")


class NetBuilder(NetBlock):
    """An ordered list of nets and steps under construction.

    Args:
      name: the name of the nets that operators go to.
      initial_scope: blobs that nets of control operators may use besides this builder's.
    """

    def __init__(self, name: str | None = None, initial_scope: Iterable[BlobLike] | None = None,
                 _stop_blob_required: bool = False, _stop_blob: BlobReference | None = None,
                 _fullname: str | None = None, _use_control_ops: bool = False) -> None:
        parent = NetBuilder.current(required=False)
        names = [parent.name if parent is not None else None, name]
        self.name = _fullname or "/".join(part for part in names if part)
        self._frozen = False
        self._stop_blob = _stop_blob
        self._stop_blob_required = _stop_blob_required
        self._current_net: Net | None = None
        self._children: list[Any] = []
        self._use_control_ops = _use_control_ops
        outer = parent._lexical_scope() if parent is not None and parent._use_control_ops else ()
        self._outer_scope = set(outer) | {str(blob) for blob in initial_scope or ()}

    def _lexical_scope(self):
        """The blobs that nets written here may use."""
        scope = set(self._outer_scope)
        for child in self._children:
            if isinstance(child, Net):
                scope.update(child.Proto().external_input)
                scope.update(blob for op in child.Proto().op for blob in op.output)
        return scope

    def stop_blob(self) -> BlobReference:
        """The bool blob that ends this builder's step when it is true, made if there is none. Set
        it in the current net."""
        if self._stop_blob is None:
            net = self.current_net()
            self._stop_blob = BlobReference(net.NextName("stop_blob"), net=net)
            net.Const(False, blob_out=self._stop_blob)
            if self._current_net is not self._children[0]:
                init = Net("stop_blob_init")
                init.Const(False, blob_out=self._stop_blob)
                self._children.insert(0, init)
        return self._stop_blob

    def stop_if(self, blob: BlobLike) -> None:
        """Ends the step here if the bool blob is true."""
        stop = self.stop_blob()
        self.current_net().Or([stop, blob], [stop])
        self._current_net = None

    def _assert_mutable(self):
        if self._frozen:
            raise ValueError("This NetBuilder has been built already.")

    def add(self, child: _Child) -> _Child:
        """Appends a net, step or NetBuilder, and returns it. The next operators go to the child if
        it is a net, else to a new net."""
        self._assert_mutable()
        self._current_net = child if isinstance(child, Net) else None
        self._children.append(child)
        return child

    def current_net(self, name: str | None = None) -> Net:
        """The net that operators go to; with `name`, a new one of this name."""
        self._assert_mutable()
        if self._current_net is None or name is not None:
            return self.add(Net(name or self.name or "net"))
        return self._current_net

    def freeze(self) -> None:
        """Ends the construction of this builder and the builders in it."""
        for child in self._children:
            if hasattr(child, "freeze"):
                child.freeze()
        self._current_net = None
        self._frozen = True

    def get(self) -> list[Any]:
        """The list of nets and steps. The builder cannot change after this call."""
        self.freeze()
        return self._children

    @staticmethod
    def merge_nets(nets_or_builders: Iterable[Net | NetBuilder],
                   outer_blob_names: Iterable[BlobLike]) -> Net | None:
        """Appends the other nets, and the nets of builders, to the first net, and returns it; None
        for an empty list.

        It keeps the external outputs that are in `outer_blob_names`, the blobs known outside.
        Raises ValueError for builders that hold steps.
        """
        nets: list[Net] = []
        for item in nets_or_builders:
            nets += item.get() if isinstance(item, NetBuilder) else [item]
        if not all(isinstance(net, Net) for net in nets):
            raise ValueError("only nets and builders of control operators are merged, no steps")
        for net in nets[1:]:
            nets[0].AppendNet(net)
        if not nets:
            return None
        known = {str(blob) for blob in outer_blob_names}
        outputs = nets[0].Proto().external_output
        outputs[:] = [blob for blob in outputs if blob in known]
        return nets[0]

    def to_step(self, default_name: str | None = None) -> ExecutionStep:
        """The step that runs the nets and steps until the stop blob, if there is one, is true."""
        return execution_step(
            self.name or default_name, self.get(), should_stop_blob=self._stop_blob)

    def __exit__(self, error_type: type[BaseException] | None, *unused: Any) -> None:
        super().__exit__(error_type, *unused)
        self.freeze()
        if error_type is not None:
            return
        if self._stop_blob_required and self._stop_blob is None:
            raise ValueError("This NetBuilder requires a stop condition (stop_if or stop_blob)")

    def __str__(self) -> str:
        return self.name or "Un-named NetBuilder"
