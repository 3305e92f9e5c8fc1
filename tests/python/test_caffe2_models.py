"""Models that Caffe2 itself wrote: all that CAFFE2_TEST_DATA has."""

import gzip
import os
import pathlib
import shutil

import numpy as np
import pytest
from google.protobuf import text_format

from caffe2.proto import caffe2_pb2
from caffe2.python import core, workspace


def data_file(*parts):
    path = pathlib.Path(os.environ.get("CAFFE2_TEST_DATA", "."), *parts)
    if not path.exists():
        pytest.skip(f"CAFFE2_TEST_DATA has no {'/'.join(parts)}")
    return path


def on_cpu(net):
    net.ClearField("device_option")
    for op in net.op:
        op.ClearField("device_option")
    return net


def net_of_caffe2(folder, file):
    """The net of a file, binary or text, with its operators on the CPU."""
    path = data_file("caffe2_models", folder, file)
    if path.suffix == ".pbtxt":
        net = text_format.Parse(path.read_text(), caffe2_pb2.NetDef())
    else:
        net = caffe2_pb2.NetDef.FromString(path.read_bytes())
    net.name = net.name or file  # some have none
    return on_cpu(net)


def model_of_caffe2(folder, init="init_net.pb", predict="predict_net.pb"):
    """Predictor of two files."""
    return workspace.Predictor(net_of_caffe2(folder, init), net_of_caffe2(folder, predict))


@pytest.mark.parametrize("files, shape, output_shape", [
    (["squeezenet"], (1, 3, 227, 227), (1, 1000, 1, 1)),
    (["squeezenet", "init_net.pb", "predict_net_named.pb"], (1, 3, 227, 227), (1, 1000, 1, 1)),
    (["resnet32_cifar10"], (2, 3, 32, 32), (2, 10)),
    (["lenet_mnist"], (2, 1, 28, 28), (2, 10)),
    (["mtcnn_pnet"], (1, 3, 64, 48), (1, 2, 27, 19)),
    (["segmentation_mobilenet", "mobileNetInit.pb", "mobileNetPredict.pb"], (1, 3, 224, 224),
     (1, 2, 29, 29)),
    (["super_resolution_onnx"], (1, 1, 224, 224), (1, 1, 672, 672)),
])
def test_models_of_caffe2_run(files, shape, output_shape):
    predictor = model_of_caffe2(*files)
    image = np.random.default_rng(0).random(shape, np.float32)
    result = predictor.run([image])[0]
    assert result.shape == output_shape and np.isfinite(result).all()
    if files[0] not in ("segmentation_mobilenet", "super_resolution_onnx"):  # softmax ends them
        np.testing.assert_allclose(result.reshape(len(result), -1).sum(axis=1), 1, rtol=1e-4)


@pytest.mark.parametrize("files, shape", [
    (["squeezenet"], (1, 3, 227, 227)),
    (["resnet32_cifar10"], (2, 3, 32, 32)),
    (["mtcnn_pnet"], (1, 3, 64, 48)),
    (["segmentation_mobilenet", "mobileNetInit.pb", "mobileNetPredict.pb"], (1, 3, 224, 224)),
])
def test_models_of_caffe2_predict_the_same_when_optimized(files, shape):
    """Within 1e-3 of the largest value: filters are folded, and Winograd rounds."""
    folder, init, predict = (files + ["init_net.pb", "predict_net.pb"])[:3]
    nets = net_of_caffe2(folder, init), net_of_caffe2(folder, predict)
    image = np.random.default_rng(0).random(shape, np.float32)
    expected = workspace.Predictor(*nets, optimize=False).run([image])[0]
    result = workspace.Predictor(*nets).run([image])[0]
    np.testing.assert_allclose(result, expected, atol=1e-3 * np.abs(expected).max())


def test_a_style_model_of_caffe2_paints_a_picture():
    predictor = model_of_caffe2("style_crayon", "crayon_init.pb", "crayon_predict.pb")
    row, column = np.mgrid[0:60, 0:80]
    picture = np.stack([4 * row, 3 * column, row + column, 0 * row], -1)[None].astype(np.uint8)
    styled = predictor.run([picture])[0]
    assert styled.shape == picture.shape and styled.dtype == np.uint8
    assert (styled[..., 3] == 255).all() and styled[..., :3].std() > 10
    assert np.array_equal(predictor.run([picture])[0], styled)  # the same noise again


@pytest.mark.parametrize("folder, scale, right", [
    ("lenet_mnist", 256, 9570), ("lenet_mnist_onnx", 255, 9904)])
def test_models_of_caffe2_are_as_right_as_elsewhere(folder, scale, right):
    """How many of MNIST's 10,000 test images: what another evaluator of these models counted."""
    predictor = model_of_caffe2(folder)
    images = gzip.decompress(data_file("mnist", "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress(data_file("mnist", "t10k-labels-idx1-ubyte.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(10, 1000, 1, 28, 28)
    expected = np.frombuffer(labels, np.uint8, offset=8).reshape(10, 1000)
    counted = sum(
        int((predictor.run([np.float32(part) / scale])[0].argmax(axis=1) == truth).sum())
        for part, truth in zip(pixels, expected))
    assert abs(counted - right) <= 3


def test_a_model_with_incomplete_statistics():
    """The running statistics of this file have one element each: an error says so, and with those
    of every channel the net runs."""
    init, predict = (net_of_caffe2("perception_cnn", file)
                     for file in ("init_net.pb", "predict_net.pb"))
    image = np.random.default_rng(0).random((2, 9, 124, 124), np.float32)
    with pytest.raises(RuntimeError, match="conv1_rm"):
        workspace.Predictor(init, predict).run({"in": image})
    workspace.RunNetOnce(init)
    for layer in range(1, 5):
        channels = workspace.FetchBlob(f"conv{layer}_s").shape
        workspace.FeedBlob(f"conv{layer}_rm", np.zeros(channels, np.float32))
        workspace.FeedBlob(f"conv{layer}_riv", np.ones(channels, np.float32))
    workspace.FeedBlob("in", image)
    workspace.RunNetOnce(predict)
    result = workspace.FetchBlob("softmax")
    assert result.shape == (2, 9)
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-4)


@pytest.fixture
def digits(tmp_path, monkeypatch):
    """A folder, the current one meanwhile, with the test images of MNIST as Caffe2's LevelDB."""
    source = data_file("caffe2_db", "mnist-test-nchw-leveldb")
    for name in ("mnist-train-nchw-leveldb", "mnist-test-nchw-leveldb"):
        shutil.copytree(source, tmp_path / name)  # opening one writes to it
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_database(path, records):
    """A minidb of messages."""
    database = workspace.C.create_db("minidb", str(path), workspace.C.Mode.new)
    transaction = database.new_transaction()
    for key, record in enumerate(records):
        transaction.put(str(key), record.SerializeToString())
    transaction.commit()
    database.close()


def test_a_net_that_reads_a_database(tmp_path):
    """The parameters in its own init net have one element; the trained model's parameters are
    used."""
    images = gzip.decompress(data_file("mnist", "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress(data_file("mnist", "t10k-labels-idx1-ubyte.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, 784000, 16).reshape(1000, 784)
    records = []
    for image, label in zip(pixels, labels[8:]):  # of float, as it scales them at once
        record = caffe2_pb2.TensorProtos()
        record.protos.add(dims=[1, 28, 28], float_data=image,
                          data_type=caffe2_pb2.TensorProto.FLOAT)
        record.protos.add(int32_data=[label], data_type=caffe2_pb2.TensorProto.INT32)
        records.append(record)
    write_database(tmp_path / "digits.minidb", records)
    net = net_of_caffe2("lenet_mnist", "testpredict_net.pb")
    workspace.RunNetOnce(net_of_caffe2("lenet_mnist", "init_net.pb"))
    workspace.RunOperatorOnce(core.CreateOperator(
        "CreateDB", [], net.op[0].input[0], db=str(tmp_path / "digits.minidb"), db_type="minidb"))
    workspace.CreateNet(net)
    accuracy = []
    for _ in range(10):
        workspace.RunNet(net.name)
        accuracy.append(float(workspace.FetchBlob("accuracy")))
    assert 0.9 < np.mean(accuracy) < 0.99  # 0.957 of all 10,000


def test_plans_train_and_test(digits):
    """LeNet: the plans of a C++ program, with fewer iterations. The second loads what the first
    saves, and so do the nets that were made to be deployed."""
    plans = [text_format.Parse(
        data_file("caffe2_models", "pbtxt", f"mnist_{name}_plan.pbtxt").read_text(),
        caffe2_pb2.PlanDef()) for name in ("train", "test")]
    for plan, iterations in zip(plans, (40, 10)):
        plan.execution_step[0].substep[1].num_iter = iterations
        for net in plan.network:
            on_cpu(net)
        workspace.ResetWorkspace(str(digits))
        workspace.RunPlan(plan)
    assert float(workspace.FetchBlob("accuracy")) > 0.7  # 0.1 by chance
    workspace.ResetWorkspace(str(digits))
    workspace.RunNetOnce(net_of_caffe2("pbtxt", "mnist_deploy_init_net.pbtxt"))
    workspace.FeedBlob("data", np.zeros((3, 1, 28, 28), np.float32))
    workspace.RunNetOnce(net_of_caffe2("pbtxt", "mnist_deploy_predict_net.pbtxt"))
    np.testing.assert_allclose(workspace.FetchBlob("softmax").sum(axis=1), 1, rtol=1e-4)


# -- Nets without weights ------------------------------------------------------------------------


def operators_of(net):
    for op in net.op:
        yield op.type
        for arg in op.arg:
            for nested in ([arg.n] if arg.HasField("n") else []) + list(arg.nets):
                yield from operators_of(nested)


def test_no_operator_is_missing():
    known = set(workspace.RegisteredOperators())
    files = [path for path in sorted(data_file("caffe2_models").rglob("*.pb*"))
             if "plan" not in path.name]
    assert len(files) >= 30
    for path in files:
        unknown = set(operators_of(net_of_caffe2(path.parent.name, path.name))) - known
        assert not unknown, path.name


def resnet_width(op, channels):
    """Filters of a convolution of ResNet-50, by the name of its weight."""
    name = op.input[1].split("/")[-1]
    for stage in range(2, 6):
        if name.startswith(f"res{stage}"):
            return 32 * 2 ** stage // 2 * (1 if "branch2a" in name or "branch2b" in name else 4)
    return {"conv1_w": 64, "pred_w": 1000, "conv_rpn_w": 1024, "rpn_cls_logits_w": 15,
            "rpn_bbox_pred_w": 60, "cls_score_w": 81, "bbox_pred_w": 324}[name]


def densenet_width(op, channels):
    name = op.input[1]
    if name.endswith("x1_w") or name.endswith("x2_w"):
        return 128 if name.endswith("x1_w") else 32
    return {"conv1_w": 64, "fc6_w": 1000}.get(name, channels // 2)  # a transition halves them


def shufflenet_width(groups):
    """`groups`: of the depthwise convolution of each unit."""

    def width(op, channels):
        name = op.input[1]
        if name in ("conv1_w", "shortcut_projection_0_w"):
            return 24
        if not name.startswith("comp_"):
            return 1000
        unit, layer = int(name.split("_")[1]), name.split("_")[3]
        inner = groups[unit]
        if layer != "3":
            return inner
        if unit == 0 or groups[unit - 1] != inner:  # joined to what was pooled
            return 4 * inner - (24 if unit == 0 else 2 * inner)
        return 4 * inner

    return width


def widths(*numbers):
    """One for each layer, in order; the last for all that follow."""
    rest = list(numbers)
    return lambda op, channels: rest.pop(0) if len(rest) > 1 else rest[0]


_FIRES = [n for squeeze in (16, 16, 32, 32, 48, 48, 64, 64)
          for n in (squeeze, 4 * squeeze, 4 * squeeze)]
_FC = (4096, 4096, 1000)
_ALEX = (96, 256, 384, 384, 256, *_FC)
_VGG = (64, 64, 128, 128, *4 * (256,), *8 * (512,), *_FC)
_CROWD = (16, 32, 16, 32, 16, 8, 20, 40, 20, 10, 24, 32, 16, 8, 1)
_DARKNET = (16, 32, 16, 128, 16, 128, 32, 256, 32, 256, 64, 512, 64, 512, 128, 1000)
_YOLO = (16, 32, 64, 128, 256, 512, 1024, 1024, 125)


def random_parameters(net, width):
    """Feeds what the net needs and does not have: weights of fitting shapes, found while it runs
    operator by operator. width(op, channels) says how many filters or outputs a layer has."""
    random = np.random.default_rng(1)

    def feed(name, shape, low=-0.1, high=0.1):
        if not workspace.HasBlob(name):
            workspace.FeedBlob(name, random.uniform(low, high, shape).astype(np.float32))

    for op in net.op:
        args = {arg.name: arg for arg in op.arg}
        shape = workspace.FetchBlob(op.input[0]).shape if op.input else ()
        if op.type in ("Conv", "ConvTranspose"):
            filters = width(op, shape[1])
            kernel = tuple(args["kernels"].ints) if "kernels" in args else 2 * (args["kernel"].i,)
            group = args["group"].i if "group" in args else 1
            both = ((filters, shape[1] // group) if op.type == "Conv" else (shape[1], filters))
            bound = (3 / (both[1] * np.prod(kernel))) ** 0.5  # keeps the size of values
            feed(op.input[1], both + kernel, -bound, bound)
            if len(op.input) > 2:
                feed(op.input[2], (filters,))
        elif op.type == "FC":
            outputs, inputs = width(op, shape[1]), int(np.prod(shape[1:]))
            ones = (1,) * (args["axis_w"].i - 1) if "axis_w" in args else ()
            feed(op.input[1], (*ones, outputs, inputs), -inputs ** -0.5, inputs ** -0.5)
            feed(op.input[2], (outputs,))
        elif op.type == "SpatialBN":
            for name in op.input[1:]:
                feed(name, shape[1:2], 0.5, 1.5)
        elif op.type in ("Mul", "Add", "PRelu"):
            feed(op.input[1], (1,) if op.type == "PRelu" else shape[1:2])
        workspace.RunOperatorOnce(op)


@pytest.mark.parametrize("file, shape, width, output, output_shape", [
    ("alexnet_predict.pb", (1, 3, 227, 227), widths(*_ALEX), "prob", (1, 1000)),
    ("bvlc_alexnet.predict_net.pbtxt", (1, 3, 227, 227), widths(*_ALEX), "prob", (1, 1000)),
    ("crowd_counting_onnx_predict.pb", (1, 1, 64, 96), widths(*_CROWD), "91", (1, 1, 64, 96)),
    ("shufflenet_predict.pb", (1, 3, 224, 224), None, "softmax", (1, 1000)),
    ("squeezenet_no_dropout_predict.pb", (1, 3, 227, 227), widths(64, *_FIRES, 1000),
     "softmaxout", (1, 1000, 1, 1)),
    ("squeezenet_onnx_predict.pb", (1, 3, 224, 224), widths(64, *_FIRES, 1000), "173", (1, 1000)),
    ("tiny_darknet_predict.pb", (1, 3, 224, 224), widths(*_DARKNET), "result", (1, 1000, 1, 1)),
    ("tiny_yolo_predict.pb", (1, 3, 416, 416), widths(*_YOLO), "result", (1, 125, 12, 12)),
    ("densenet121.predict_net.pbtxt", (1, 3, 224, 224), densenet_width, "fc6", (1, 1000, 1, 1)),
    ("inception_v1.predict_net.pbtxt", (1, 3, 224, 224), widths(64), "prob", None),
    ("inception_v2.predict_net.pbtxt", (1, 3, 224, 224), widths(64), "prob", None),
    ("mnist_deploy_predict_net.pbtxt", (2, 1, 28, 28), widths(20, 50, 500, 10), "softmax",
     (2, 10)),
    ("resnet50.predict_net.pbtxt", (1, 3, 224, 224), resnet_width, "gpu_0/softmax", (1, 1000)),
    ("vgg19.predict_net.pbtxt", (1, 3, 224, 224), widths(*_VGG), "prob", (1, 1000)),
    ("zfnet512.predict_net.pbtxt", (1, 3, 224, 224), widths(96, 256, 512, 1024, 512, *_FC),
     "gpu_0/softmax", (1, 1000)),
])
def test_nets_of_caffe2_run_with_random_weights(file, shape, width, output, output_shape):
    net = net_of_caffe2("pbtxt" if file.endswith(".pbtxt") else "predict_only", file)
    if width is None:
        width = shufflenet_width([
            next(arg.i for arg in op.arg if arg.name == "group") for op in net.op
            if op.type == "Conv" and op.input[1].endswith("_conv_2_w")])
    image = np.random.default_rng(0).random(shape, np.float32)
    workspace.FeedBlob(net.op[0].input[0], image)
    random_parameters(net, width)
    expected = workspace.FetchBlob(output)
    workspace.FeedBlob(output, np.zeros(1, np.float32))
    workspace.CreateNet(net)
    workspace.RunNet(net.name)
    result = workspace.FetchBlob(output)
    np.testing.assert_array_equal(result, expected)
    assert np.isfinite(result).all() and result.std() > 0
    if output_shape is not None:
        assert result.shape == output_shape


# -- Detection -----------------------------------------------------------------------------------


def photograph(file, size, tmp_path):
    """The centre of a JPEG, its short side brought to `size`: float [1, 3, size, size], BGR."""
    record = caffe2_pb2.TensorProtos()
    picture = record.protos.add(data_type=caffe2_pb2.TensorProto.STRING)
    picture.string_data.append(data_file("imagenet_sample", file).read_bytes())
    record.protos.add(data_type=caffe2_pb2.TensorProto.INT32, int32_data=[0])
    path = str(tmp_path / "photograph.minidb")
    write_database(path, [record])
    reader = core.CreateOperator("CreateDB", [], "reader", db=path, db_type="minidb")
    read = core.CreateOperator(
        "ImageInput", "reader", ["image", "label"], batch_size=1, crop=size, scale=size, is_test=1,
        use_caffe_datum=0, order="NCHW")
    workspace.RunOperatorOnce(reader)
    workspace.RunOperatorOnce(read)
    return workspace.FetchBlob("image")


def detections(net, image):
    workspace.FeedBlob("data", image)
    workspace.FeedBlob("im_info", np.float32([[*image.shape[2:], 1]]))
    workspace.CreateNet(net)
    workspace.RunNet(net.name)
    names = ("score_nms", "class_nms", "bbox_nms", "mask_fcn_probs")
    return [workspace.FetchBlob(name) for name in names]


def overlap(a, b):
    """Intersection over union of two boxes x1, y1, x2, y2."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    both = np.prod(np.maximum(sides, 0))
    return both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both)


def test_quantized_detections_are_those_of_floats(tmp_path):
    """Mask R-CNN in 8 bits finds a bus, and what the float net finds with the same weights (it came
    without any)."""
    bus = 6  # class
    image = photograph("n04146614_school_bus.JPEG", 416, tmp_path)
    workspace.RunNetOnce(net_of_caffe2("mask_rcnn_2go", "int8_model_init.pb"))
    scores, classes, boxes, masks = detections(
        net_of_caffe2("mask_rcnn_2go", "int8_model.pb"), image)
    assert scores.max() > 0.9 and classes[scores.argmax()] == bus
    assert masks.shape == (len(scores), 81, 24, 24) and 0 <= masks.min() and masks.max() <= 1

    for name in workspace.Blobs():
        if name.endswith(("_w_int8", "_b_int8")):
            weight = workspace.FetchInt8BlobRealVal(name)
            if weight.ndim == 4:  # channels first
                weight = weight.transpose(0, 3, 1, 2)
            workspace.FeedBlob(name[:-len("_int8")], np.ascontiguousarray(weight))
    float_scores, float_classes, float_boxes, float_masks = detections(
        net_of_caffe2("mask_rcnn_2go", "fp32_model.pb"), image)
    assert float_masks.shape[1:] == (81, 24, 24)
    sure = np.flatnonzero(float_scores > 0.8)
    assert bus in float_classes[sure]
    for i in sure:
        same = [k for k in np.flatnonzero(classes == float_classes[i])
                if overlap(boxes[k], float_boxes[i]) > 0.7]
        assert same and abs(scores[same[0]] - float_scores[i]) < 0.2


def test_faster_rcnn_runs_with_random_weights():
    net = net_of_caffe2("pbtxt", "detectron_faster_rcnn_R50-C4_1x.predict_net.pbtxt")
    for op in net.op:
        for arg in op.arg:
            if arg.name == "post_nms_topN":  # fewer: each runs through its own ResNet
                arg.i = 10
    workspace.FeedBlob("data", np.random.default_rng(0).random((1, 3, 64, 64), np.float32))
    workspace.FeedBlob("im_info", np.float32([[64, 64, 1]]))
    size = 2.0 ** np.arange(15)[:, None] % 97 + 8
    workspace.FeedBlob("anchor", np.float32(np.hstack([-size, -size, size, size])))
    random_parameters(net, resnet_width)
    scores, boxes, classes = (
        workspace.FetchBlob(name) for name in ("score_nms", "bbox_nms", "class_nms"))
    assert len(scores) == len(boxes) == len(classes) and boxes.shape[1:] == (4,)
    assert np.isfinite(boxes).all()
