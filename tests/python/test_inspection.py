"""Printing, drawing and timing of nets; databases; observers."""

import argparse
import io
import os
from contextlib import redirect_stdout

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    _import_c_extension as C,
)
from caffe2.python import (
    checkpoint,
    convnet_benchmarks,
    core,
    model_helper,
    net_printer,
    visualize,
    workspace,
)
from caffe2.python.examples import lmdb_create_example
from caffe2.python.net_builder import ops
from caffe2.python.session import LocalSession
from caffe2.python.task import Task, TaskGroup, WorkspaceType


def small_net(name="printed"):
    net = core.Net(name)
    net.AddExternalInput("scope/x", "scope/w", "scope/b")
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU, random_seed=7)):
        net.FC(["scope/x", "scope/w", "scope/b"], "scope/y", axis=1, engine="PLAIN")
    net.Concat(["scope/y", "scope/y"], ["z", "split"], order="NCHW", name="joined")
    net.GivenTensorFill([], "many", shape=[20], values=np.arange(20.0))
    net.AddExternalOutput("z")
    return net


def test_net_as_text():
    text = net_printer.to_string(small_net("printed_net"))
    assert text.splitlines() == [
        'net "printed_net" (simple):',
        "  inputs: scope/x, scope/w, scope/b",
        "  outputs: z",
        "  scope/y = FC(scope/x, scope/w, scope/b, axis=1)  # seed 7, engine PLAIN",
        '  z, split = Concat(scope/y, scope/y, order="NCHW")  # name "joined"',
        "  many = GivenTensorFill(shape=[20], values=[0, 1, 2, 3, 4, 5, 6, 7, ... 20 values])"]
    assert "FC(scope/[x, w, b], axis=1)" in net_printer.to_string(small_net(), True)
    with pytest.raises(TypeError, match="int"):
        net_printer.to_string(3)


def test_plan_and_nested_nets_as_text():
    inner = core.Net("inner_net")
    inner.ConstantFill([], "c", shape=[1])
    outer = core.Net("outer_net")
    outer.If(["flag"], [], then_net=inner.Proto())
    step = core.execution_step("several", outer, num_iter=3)
    text = net_printer.to_string(core.Plan(step))
    assert 'step "several" (3 times):' in text and 'run net "outer_net"' in text
    assert "    If(flag, then_net=<net inner_net>)\n      net \"inner_net\"" in text
    with redirect_stdout(io.StringIO()) as printed:
        net_printer.debug_net(inner)
    assert printed.getvalue() == net_printer.to_string(inner)


def test_common_prefixes():
    assert net_printer.commonprefix(["scope/x", "scope/xy"]) == "scope/x"
    assert net_printer.commonprefix(["a", "b"]) == net_printer.commonprefix([]) == ""
    assert net_printer.factor_prefix(["s/x", "s/y"], False) == "s/x, s/y"
    assert net_printer.factor_prefix(["s/x", "s/y"], True) == "s/[x, y]"
    assert net_printer.call("F", ["s/a", "s/b", ("k", 2)], ["y"], True) == "y = F(s/[a, b], k=2)"


def test_printers_take_one_thing_after_the_other():
    net = small_net("printed_net")
    printer = net_printer.Printer(factor_prefixes=True, c2_syntax=False)
    with printer.context("first"):
        net_printer.print_op(printer, net.Proto().op[0])
    with printer.context("nothing"):
        pass
    with printer.context(None):
        printer(None)
        printer(net)
    lines = net_printer.to_string(net, factor_prefixes=True).splitlines()
    assert str(printer).splitlines() == [
        "with first:", " " * 4 + lines[3].strip(), "with nothing:", "    pass", *lines]
    task_printer = net_printer.Printer()
    with Task(name="alone", group=TaskGroup()) as task:
        ops.Const(1)
    net_printer.print_task(task_printer, task)
    assert f"{task_printer}\n" == net_printer.to_string(task)
    with pytest.raises(TypeError, match="Printer: unsupported object type: int"):
        printer(3)
    plan = core.Plan(core.execution_step("of_a_plan", small_net()))
    plan_printer = net_printer.Printer()
    plan_printer(plan)
    assert f"{plan_printer}\n" == net_printer.to_string(plan)


def test_visitors_have_functions_of_their_own():
    class Counter(net_printer.Visitor):
        count = 0

    @Counter.register(caffe2_pb2.OperatorDef)
    def count_op(counter, op):
        counter.count += 1

    @Counter.register(core.Net)
    def count_net(counter, net):
        for op in net.Proto().op:
            counter(op)

    class Printer(net_printer.Printer):
        pass

    @Printer.register(caffe2_pb2.OperatorDef)
    def print_type(text, op):
        text.add(op.type)

    counter = Counter()
    counter(small_net())
    assert counter.count == 3
    with pytest.raises(AssertionError, match="already registered"):
        Counter.register(core.Net)(count_net)
    printer = Printer()
    printer(small_net().Proto().op[0])
    assert str(printer) == "FC"
    assert net_printer.Printer.visitors[caffe2_pb2.OperatorDef] is net_printer.print_op


def test_analyzers_keep_what_was_made():
    analyzer = net_printer.Analyzer()
    net = core.Net("made")
    net.ConstantFill([], "made", shape=[1])
    reads = core.CreateOperator("Relu", ["made"], ["y"])
    with pytest.raises(AssertionError, match="^Blob undefined: made$"):
        analyzer(reads)
    with analyzer.set_workspace(do_copy=True):
        net_printer.analyze_net(analyzer, net)
        net_printer.analyze_op(analyzer, reads)
    assert not analyzer.workspace
    net_printer.analyze_step(analyzer, core.execution_step("makes", [net]))
    analyzer.need_blob("made")
    analyzer.define_blob("given")
    assert analyzer.workspace == {"made", "given"}
    analyzer.need_blob("distributed_ctx_init_x")
    with pytest.raises(AssertionError, match="^Blob undefined: absent$"):
        analyzer.need_blob("absent")
    with Task(name="alone", group=TaskGroup()) as task:
        ops.Relu("absent", "y")
    with pytest.raises(AssertionError, match="^Blob undefined: absent$"):
        net_printer.analyze(task)


@pytest.mark.parametrize("as_message", [False, True])
def test_analyzers_take_nets_and_plans(as_message):
    makes, reads = core.Net("makes"), core.Net("reads")
    makes.ConstantFill([], "made", shape=[1])
    reads.Relu("made", "y")
    plan = core.Plan(core.execution_step("in_order", [makes, reads]))
    if as_message:
        makes, reads, plan = makes.Proto(), reads.Proto(), plan.Proto()
    analyzer = net_printer.Analyzer()
    with pytest.raises(AssertionError, match="^Blob undefined: made$"):
        analyzer(reads)
    analyzer(plan)
    assert analyzer.workspace == {"made", "y"}
    analyzer = net_printer.Analyzer()
    analyzer(makes)
    analyzer(reads)
    assert analyzer.workspace == {"made", "y"}


def test_undefined_blobs_are_found():
    net = small_net()
    net_printer.analyze(net)
    proto = caffe2_pb2.NetDef()
    proto.CopyFrom(net.Proto())
    proto.op[1].input[0] = "absent"
    with pytest.raises(AssertionError, match="^Blob undefined: absent$") as caught:
        net_printer.analyze(proto)
    assert "operator 1 (Concat): input absent" in str(caught.value.__cause__)


def job(step=None):
    with checkpoint.Job() as made:
        with made.init_group:
            with Task():
                counter = ops.Const(2)
        with Task(name="trains") as task:
            with ops.loop(3):
                ops.Add([counter, counter], [counter])
            if step:
                step()
        task.add_output(counter)
    return made


def test_jobs_are_printed():
    text = net_printer.to_string(job())
    assert text.index("init_group:") < text.index("epoch_group:") < text.index("exit_group:")
    assert "Add(" in text and "(until " in text and text.endswith("runs one epoch\n")
    with Task(name="alone", group=TaskGroup()) as task:
        ops.Const(1)
    assert 'task "local/alone' in net_printer.to_string(task)
    made = job()
    made.compile(LocalSession)
    with pytest.raises(TypeError, match="before compile"):
        net_printer.to_string(made)


def test_jobs_are_analyzed():
    net_printer.analyze(job())
    net_printer.analyze(job(lambda: ops.Relu("distributed_ctx_init_x", "y")))
    with pytest.raises(AssertionError, match="^Blob undefined: absent$"):
        net_printer.analyze(job(lambda: ops.Relu("absent", "y")))
    made = job()
    with made:
        for value in (1, 2):
            with Task():
                ops.Copy(ops.Const(value), "twice")
    net_printer.analyze(made)  # each task has a workspace of its own
    with checkpoint.Job(epoch_group=TaskGroup(WorkspaceType.GLOBAL)) as made:
        for value in (1, 2):
            with Task():
                ops.Copy(ops.Const(value), "twice")
    with pytest.raises(AssertionError, match="defined by several steps .*twice"):
        net_printer.analyze(made)


def test_plans_are_analyzed():
    first, second = core.Net("first"), core.Net("second")
    first.Relu("x", "y")
    second.Relu("y", "z")
    net_printer.analyze(core.Plan(core.execution_step("in_order", [first, second])))
    with pytest.raises(AssertionError, match="Blob undefined: y"):
        net_printer.analyze(core.Plan(core.execution_step("turned_round", [second, first])))


def test_patches_are_laid_in_a_grid():
    patches = np.stack([np.full((2, 3), i / 5, np.float32) for i in range(5)])
    grid = visualize.PatchVisualizer(gap=1).grid(patches, bg_func=np.max)
    assert grid.shape == (2 * 3 - 1, 3 * 4 - 1)  # 2 rows of 3
    np.testing.assert_allclose(grid[0:2, 4:7], 0.2)
    np.testing.assert_allclose(grid[3:5, 0:3], 0.6)
    np.testing.assert_allclose(grid[2], 0.8)  # the gap
    colour = np.random.RandomState(0).rand(4, 3, 8, 6) * 255
    assert visualize.PatchVisualizer().grid(visualize.ChannelLast(colour)).shape == (17, 13, 3)
    np.testing.assert_array_equal(visualize.ChannelFirst(visualize.ChannelLast(colour)), colour)
    with pytest.raises(ValueError):
        visualize.ChannelLast(np.zeros(3))


def test_shapes_of_flat_patches():
    visualizer = visualize.PatchVisualizer(gap=1)
    assert visualizer.get_patch_shape(np.zeros(16)) == (4, 4)
    assert visualizer.get_patch_shape(np.zeros(27)) == (3, 3, 3)
    with pytest.raises(ValueError, match="15 elements form no square"):
        visualizer.get_patch_shape(np.zeros(15))
    patches = np.random.RandomState(0).rand(3, 4, 4)
    np.testing.assert_array_equal(
        visualizer.grid(patches.reshape(3, 16)), visualizer.grid(patches))
    assert visualizer.grid(np.zeros((4, 27))).shape == (7, 7, 3)


def test_images_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    images = np.random.RandomState(0).rand(4, 3, 8, 6) * 255
    assert visualize.NCHW.ShowImages(images).get_array().shape == (17, 13, 3)
    assert visualize.NHWC.ShowChannels(images[0]).get_array().shape is not None


def test_lmdb_example(tmp_path):
    path = str(tmp_path / "lmdb")
    checksum = lmdb_create_example.create_db(path, num_images=8, size=(3, 4, 4))
    lmdb_create_example.read_db_with_caffe2(path, checksum, num_images=8, batch_size=4)
    with pytest.raises(ValueError, match="written"):
        lmdb_create_example.read_db_with_caffe2(path, checksum + 1, num_images=8, batch_size=4)


@pytest.mark.parametrize("db_type", ["minidb", "lmdb", "leveldb"])
def test_databases(tmp_path, db_type):
    path = str(tmp_path / "db")
    assert db_type in C.registered_dbs()
    database = C.create_db(db_type, path, C.Mode.new)
    transaction = database.new_transaction()
    records = [(b"a", b"\x00\xff"), (b"b", b"2"), (b"c", b"3")]
    for key, value in records:
        transaction.put(key, value)
    transaction.commit()
    del transaction
    database.close()
    cursor = C.create_db(db_type, path, C.Mode.read).new_cursor()
    read = []
    while cursor.valid():
        read.append((cursor.key(), cursor.value()))
        cursor.next()
    assert read == records
    cursor.seek_to_first()
    assert cursor.key() == b"a"
    if cursor.supports_seek():
        cursor.seek("b")
        assert cursor.value() == b"2"
    with pytest.raises(RuntimeError, match="absent"):
        C.create_db(db_type, str(tmp_path / "absent"), C.Mode.read)
    with pytest.raises(RuntimeError, match="unknown db_type"):
        C.create_db("nodb", path, C.Mode.read)


def test_observers():
    net = core.Net("watched")
    net.Python(lambda inputs, outputs: None)([], [])
    net.ConstantFill([], "x", shape=[1])
    with pytest.raises(RuntimeError, match="does not exist"):
        net.AddObserver("TimeObserver")
    workspace.CreateNet(net)
    time, count = net.AddObserver("TimeObserver"), net.AddObserver("RunCountObserver")
    profile = net.AddObserver("ProfileObserver")
    assert net.NumObservers() == 3
    workspace.RunNet(net, num_iter=4)
    assert time.average_time() > 0 and time.average_time_children() > 0
    assert 2 * time.average_time_children() <= time.average_time()
    assert count.debug_info() == "This operator runs 8 times."
    assert "operator 1 ConstantFill" in profile.debug_info()
    net.RemoveObserver(count)
    assert net.NumObservers() == 2
    with pytest.raises(RuntimeError, match="NoObserver"):
        net.AddObserver("NoObserver")


@pytest.mark.parametrize("name", sorted(convnet_benchmarks.MODELS))
def test_benchmark_nets_fit_together(name):
    model, size = convnet_benchmarks.MODELS[name]("NCHW", None)
    shape = [2, size] if name == "MLP" else [2, 3, size, size]
    shapes, _ = workspace.InferShapesAndTypes(
        [model.param_init_net, model.net], {"data": shape, "label": [2]},
        blob_types={"data": core.DataType.FLOAT, "label": core.DataType.INT32})
    assert shapes["loss"] == [] and shapes["pred" if name != "ResNet50" else "softmax"] == [2, 1000]
    model.AddGradientOperators(["loss"])
    convnet_benchmarks.AddParameterUpdate(model)
    assert set(model.param_to_grad) == set(model.params)


def test_benchmark_program(tmp_path, monkeypatch):
    def tiny(order, cudnn_ws):
        model = model_helper.ModelHelper(name="MLP_tiny")
        convnet_benchmarks._classifier(model, "data", [10, 1000])
        return model, 10

    monkeypatch.chdir(tmp_path)
    args = convnet_benchmarks.GetArgumentParser().parse_args([
        "--model", "MLP", "--cpu", "--batch_size", "2", "--iterations", "2",
        "--warmup_iterations", "1", "--layer_wise_benchmark", "--dump_model"])
    assert isinstance(args, argparse.Namespace)
    with redirect_stdout(io.StringIO()) as printed:
        assert convnet_benchmarks.Benchmark(tiny, args) > 0
    assert "images/s" in printed.getvalue() and "FCGradient" in printed.getvalue()
    assert os.path.exists("MLP.pbtxt")


def test_transforms():
    init, net = core.Net("init"), core.Net("twice")
    init.GaussianFill([], "x", shape=[64, 64])
    net.AddExternalInput("x")
    net.Sum([net.Sigmoid("x"), net.Sigmoid("x")], "y")
    net.AddExternalOutput("y")
    proto = workspace.ApplyTransform("CommonSubexpressionElimination", net)
    assert [op.type for op in proto.op] == ["Sigmoid", "Sum"] and len(net.Proto().op) == 3
    for threshold, count in ((0.0, 2), (1e9, 3)):
        faster = workspace.ApplyTransformIfFaster(
            "CommonSubexpressionElimination", net, init, 1, 2, threshold)
        assert len(faster.op) == count
    assert not workspace.HasBlob("x")
    with pytest.raises(RuntimeError, match="RemoveIdentities"):
        workspace.ApplyTransform("Unknown", net)


def test_transactions_are_committed_when_they_are_dropped(tmp_path):
    path = str(tmp_path / "dropped")
    database = C.create_db("minidb", path, C.Mode.new)
    transaction = database.new_transaction()
    transaction.put(b"key", b"value")
    del transaction
    database.close()
    cursor = C.create_db("minidb", path, C.Mode.read).new_cursor()
    assert (cursor.key(), cursor.value()) == (b"key", b"value")
