"""Helpers of unit tests of layers."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    core,
    layer_model_helper,
    layer_model_instantiator,
    schema,
    test_util,
    utils,
    workspace,
)

_OpSpec = namedtuple("_OpSpec", "type input output arg")


class OpSpec(_OpSpec):
    """The expected operator: its type, lists of inputs and outputs, and {argument: value}. None in
    a list stands for any name; a field that is None is not checked."""

    def __new__(cls, op_type: str, op_input: Sequence[str | None] | None,
                op_output: Sequence[str | None] | None,
                op_arg: Mapping[str, Any] | None = None) -> OpSpec:
        return super().__new__(cls, op_type, op_input, op_output, op_arg)


class LayersTestCase(test_util.TestCase):
    """Each test has an empty workspace and an empty layer model, `self.model`, whose features are a
    column "float_features" of [32] floats."""

    def setUp(self) -> None:
        """Makes the workspace and the model."""
        super().setUp()
        self.setup_example()

    def setup_example(self) -> None:
        """As setUp; hypothesis calls it before each example."""
        workspace.ResetWorkspace()
        self.reset_model()

    def reset_model(self, input_feature_schema: schema.Struct | None = None,
                    trainer_extra_schema: schema.Struct | None = None) -> None:
        """Makes a new model, with the default columns or the given ones."""
        self.model = layer_model_helper.LayerModelHelper(
            "test_model",
            input_feature_schema=input_feature_schema or schema.Struct(
                ("float_features", schema.Scalar((np.float32, (32,))))),
            trainer_extra_schema=trainer_extra_schema or schema.Struct())

    def new_record(self, schema_obj: schema.Field) -> schema.Field:
        """A record of new blobs of the model."""
        return schema.NewRecord(self.model.net, schema_obj)

    def get_training_nets(self, add_constants: bool = False) -> tuple[core.Net, core.Net]:
        """(init net, training net without gradients); the former makes the model's constants only
        with `add_constants`."""
        net = core.Net("train_net")
        if add_constants:
            init_net = self.model.create_init_net("train_init_net")
        else:
            init_net = core.Net("train_init_net")
        for layer in self.model.layers:
            layer.add_operators(net, init_net)
        return init_net, net

    def get_eval_net(self) -> core.Net:
        """The evaluation net."""
        return layer_model_instantiator.generate_eval_net(self.model)

    def get_predict_net(self) -> core.Net:
        """The prediction net."""
        return layer_model_instantiator.generate_predict_net(self.model)

    def run_train_net(self) -> None:
        """Runs one training step of a model without outputs."""
        self.model.output_schema = schema.Struct()
        init_net, net = layer_model_instantiator.generate_training_nets(self.model)
        workspace.RunNetOnce(init_net)
        workspace.RunNetOnce(net)

    def run_train_net_forward_only(self, num_iter: int = 1) -> None:
        """Runs the training net of a model without outputs, without gradients."""
        if num_iter <= 0:
            raise ValueError(f"num_iter must be larger than 0, not {num_iter}")
        self.model.output_schema = schema.Struct()
        init_net, net = layer_model_instantiator.generate_training_nets_forward_only(self.model)
        workspace.RunNetOnce(init_net)
        workspace.CreateNet(net)
        workspace.RunNet(net.Proto().name, num_iter=num_iter)

    def assertBlobsEqual(self, spec_blobs: Sequence[str | None] | None,
                         op_blobs: Sequence[str]) -> None:
        """Checks that the names that are specified are equal."""
        if spec_blobs is None:
            return
        self.assertEqual(len(spec_blobs), len(op_blobs))
        for expected, blob in zip(spec_blobs, op_blobs):
            if expected is not None:
                self.assertEqual(expected, blob)

    def assertArgsEqual(self, spec_args: Mapping[str, Any],
                        op_args: Sequence[caffe2_pb2.Argument]) -> None:
        """Checks that the Arguments are the entries of the dict, in any order."""
        self.assertEqual(len(spec_args), len(op_args))
        expected = caffe2_pb2.OperatorDef()
        expected.arg.extend(
            utils.MakeArgument(arg.name, spec_args[arg.name]) for arg in op_args)
        self.assertEqual(expected.arg, op_args)

    def assertNetContainOps(self, net: core.Net,
                            op_specs: Sequence[OpSpec]) -> list[caffe2_pb2.OperatorDef]:
        """Checks that the operators of the net match the OpSpecs, in order. Returns them."""
        ops = net.Proto().op
        self.assertEqual(len(op_specs), len(ops))
        for op, spec in zip(ops, op_specs):
            self.assertEqual(spec.type, op.type)
            self.assertBlobsEqual(spec.input, op.input)
            self.assertBlobsEqual(spec.output, op.output)
            if spec.arg is not None:
                self.assertArgsEqual(spec.arg, op.arg)
        return ops
