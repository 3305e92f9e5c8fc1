"""Names that scripts written for Caffe2 use: helpers, models, and the modules they are in."""

import argparse
import http.client
import importlib
import io
import pathlib
import shutil
import subprocess
import sys
import urllib.error

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, model_helper, workspace
from caffe2.python.models import download, resnet, shufflenet


def run(model):
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)


def test_helpers_compute_what_their_names_say():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((3, 3)).astype(np.float32) for _ in range(2))
    workspace.FeedBlob("a", a)
    workspace.FeedBlob("b", b)
    model = model_helper.ModelHelper("helpers")
    brew.reduce_sum(model, "a", "sum", axes=[1], keepdims=0)
    brew.sub(model, ["a", "b"], "difference")
    brew.mat_mul(model, ["a", "b"], "product", trans_b=1)
    brew.arg_min(model, "a", "least", axis=1, keepdims=False)
    run(model)
    for name, expected in (("sum", a.sum(1)), ("difference", a - b), ("product", a @ b.T),
                           ("least", a.argmin(1))):
        np.testing.assert_allclose(workspace.FetchBlob(name), expected, rtol=1e-5, atol=1e-6)


def test_helpers_of_quantized_rows():
    x = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    workspace.FeedBlob("x", x)
    workspace.FeedBlob("indices", np.int64([4, 0, 2]))
    workspace.FeedBlob("lengths", np.int32([2, 1]))
    rows = np.int32([0, 1, -1, 2, 3])  # where each row is; row 2 is pruned
    workspace.FeedBlob("rows", rows)
    model = model_helper.ModelHelper("quantized")
    model.net.FloatToFused8BitRowwiseQuantized("x", "bytes")
    brew.fused_8bit_rowwise_quantized_to_float(model, "bytes", "back")
    model.net.FloatToFused4BitRowwiseQuantized("x", "nibbles")
    brew.sparse_lengths_sum_4bit_rowwise_sparse(
        model, ["nibbles", "indices", "lengths", "rows"], "pooled")
    model.net.Fused4BitRowwiseQuantizedToFloat("nibbles", "table")
    run(model)
    step = (x.max(1) - x.min(1))[:, None]
    assert (abs(workspace.FetchBlob("back") - x) <= step / 255).all()
    table = workspace.FetchBlob("table")
    np.testing.assert_allclose(
        workspace.FetchBlob("pooled"), [table[3] + table[0], np.zeros(8)], rtol=1e-2, atol=1e-2)


def test_helper_wrapper_has_the_helpers_and_no_other_names():
    wrapper = brew.HelperWrapper(brew)
    assert wrapper.wrapped is brew
    assert wrapper.fc is brew.fc
    assert wrapper.arg_scope is brew.arg_scope
    assert wrapper.has_helper("sub")
    with pytest.raises(AttributeError, match="no_such_helper not registered"):
        wrapper.no_such_helper  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize(("module", "names"), [
    ("array_helpers", "concat depth_concat"), ("db_input", "db_input"), ("dropout", "dropout"),
    ("elementwise_linear", "elementwise_linear"), ("tools", "image_input video_input"),
    ("quantization", "fused_8bit_rowwise_quantized_to_float"),
    ("fc", "fc packed_fc fc_decomp fc_prune fc_sparse"),
])
def test_modules_of_helpers(module, names):
    helpers = importlib.import_module("caffe2.python.helpers." + module)
    for name in names.split():
        assert getattr(helpers, name) is getattr(brew, name).__wrapped__


@pytest.mark.parametrize(("width", "detection"), [("0.5x", False), (1.5, False), ("0.5x", True)])
def test_shufflenet_in_caffe2s_order_of_arguments(width, detection):
    model = model_helper.ModelHelper("shuffle")
    builder = shufflenet.ShuffleNetV2Builder(
        model, "data", 3, 7, 2, width, True, detection, 1e-4)
    builder.create()
    workspace.FeedBlob("data", np.zeros((2, 3, 64, 64), np.float32))
    run(model)
    assert workspace.FetchBlob(builder.last_out).shape == (2, 7)
    channels = shufflenet.OUTPUT_CHANNELS[width if isinstance(width, str) else f"{width}x"]
    assert workspace.FetchBlob(builder.prev_blob).shape == (2, channels[3], 2, 2)
    assert builder.prev_blob == "stage4_stride1_repeat3_ch_shuffle"
    names = {str(param) for param in model.params}
    assert {"stage2_stride2left_dwconv_w", "stage3_stride1_repeat7_right_conv2_bn_s",
            "conv5_b"} <= names
    assert ("stage2_stride2_left_detection_conv_w" in names) == detection


def test_shufflenet_has_no_other_widths():
    with pytest.raises(ValueError, match=r"no ShuffleNet of width 3\.0"):
        shufflenet.ShuffleNetV2Builder(model_helper.ModelHelper("m"), "data", 3, 7, width=3.0)


def test_number_of_layers_of_resnext():
    # Three convolutions in each block, the first convolution and the classifier.
    for layers in (50, 101, 152, 200):
        assert 3 * sum(resnet.RESNEXT_BLOCK_CONFIG[layers]) + 2 == layers
    model = model_helper.ModelHelper("resnext")
    resnet.create_resnext(model, "data", 3, 10, num_layers=18, num_groups=1,
                          num_width_per_group=64, no_loss=True)
    strides = [argument.i for op in model.net.Proto().op if op.type == "Conv"
               for argument in op.arg if argument.name == "stride" and "comp" in op.output[0]]
    assert strides.count(2) == resnet.RESNEXT_STRIDES.count(2)


class Response(io.BytesIO):
    def __init__(self, content, length=None):
        super().__init__(content)
        self.headers = {"Content-Length": str(len(content) if length is None else length)}


class TornResponse(Response):
    """One whose connection is lost while it is read."""

    def read(self, *_):
        raise http.client.IncompleteRead(self.getvalue())


@pytest.fixture
def zoo(monkeypatch, tmp_path):
    """A zoo with one model, "small"; the dictionary of its files."""
    net = caffe2_pb2.NetDef(name="net")
    net.op.add(type="Relu", input=["x"], output=["y"])
    files = {"predict_net.pb": net.SerializeToString(), "init_net.pb": b"",
             "value_info.json": b'{"x": [1, [2, 3]]}'}

    def urlopen(url, timeout):
        model, name = url[len(download.DOWNLOAD_BASE_URL):].split("/")
        if model == "small":
            return Response(files[name])
        if model == "cut":
            return Response(b"ab", 3)
        if model == "torn":
            return TornResponse(b"ab")
        if model == "unknown":
            raise urllib.error.HTTPError(url, 404, "Not Found", {}, None)
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(download.urllib.request, "urlopen", urlopen)
    monkeypatch.chdir(tmp_path)
    return files


def test_download_makes_a_folder_once(zoo, tmp_path, capsys):
    assert download.main(["small"]) == 0
    assert (tmp_path / "small" / "predict_net.pb").read_bytes() == zoo["predict_net.pb"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small"]
    assert download.main(["small"]) == 1
    assert "--force replaces it" in capsys.readouterr().err
    (tmp_path / "small" / "init_net.pb").write_bytes(b"old")
    assert download.main(["--force", "small"]) == 0
    assert (tmp_path / "small" / "init_net.pb").read_bytes() == b""


@pytest.mark.parametrize(("model", "message"), [
    ("unknown", "HTTP error 404: Not Found"), ("away", "cannot be read: 'no network'"),
    ("cut", "received 2 of 3 bytes"), ("torn", "cannot be read: IncompleteRead"),
])
def test_download_that_fails_leaves_nothing(zoo, tmp_path, model, message):
    with pytest.raises(RuntimeError, match=message):
        download.downloadModel(model, argparse.Namespace(install=False, force=False))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A copy of the package caffe2.python.models, for a program; its folder."""
    folder = tmp_path / "package"
    shutil.copytree(download._PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(download, "_PACKAGE", str(folder))
    return folder


def run_with(package, program):
    """Runs a program in a process of its own, for which caffe2.python.models lies in a folder."""
    setup = ("import importlib.util, sys; import caffe2.python; "
             "s = importlib.util.spec_from_file_location('caffe2.python.models', "
             f"{str(package / '__init__.py')!r}, submodule_search_locations=[{str(package)!r}]); "
             "m = importlib.util.module_from_spec(s); sys.modules[s.name] = m; "
             "s.loader.exec_module(m); caffe2.python.models = m\n")
    return subprocess.run([sys.executable, "-c", setup + program], capture_output=True, text=True)


_QUICKLOAD = """
from caffe2.python import workspace
from caffe2.python.models import NAME as model
import numpy as np
workspace.FeedBlob("x", np.float32([-1, 2]))
workspace.RunNetOnce(model.init_net)
workspace.RunNetOnce(model.predict_net)
print(workspace.FetchBlob("y"))
"""


@pytest.mark.parametrize("source", ["small", "./small", "/small"])
def test_an_installed_model_is_a_module(zoo, package, tmp_path, source):
    if source != "small":  # a folder: no network
        (tmp_path / "small").mkdir()
        for name in ("predict_net.pb", "init_net.pb"):
            (tmp_path / "small" / name).write_bytes(zoo.pop(name))
    source = source if source[0] != "/" else str(tmp_path / "small")
    assert download.main(["-i", source]) == 0
    run = run_with(package, _QUICKLOAD.replace("NAME", "small"))
    assert run.stdout == "[0. 2.]\n", run.stderr
    assert download.main(["-i", source]) == 1
    assert download.main(["-i", "-f", source]) == 0
    download.deleteDirectory(str(package / "small"))
    assert not (package / "small").exists() and (package / "resnet.py").exists()


def test_a_model_that_is_not_installed_is_explained(package):
    run = run_with(package, _QUICKLOAD.replace("NAME", "squeezenet"))
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: the model squeezenet is not installed. python -m "
        "caffe2.python.models.download --install squeezenet fetches it; python -m "
        "caffe2.python.models.download --install ./squeezenet installs a folder that holds its "
        "predict_net.pb and init_net.pb")
    run = run_with(package, "from caffe2.python.models import resnet, download\n"
                   "import caffe2.python.models as m; print(hasattr(m, 'nothing'))")
    assert run.stdout == "False\n", run.stderr
    run = run_with(package, "from caffe2.python.models import nothing")
    assert "ImportError: cannot import name 'nothing'" in run.stderr


def test_what_cannot_be_installed_is_named(zoo, package, tmp_path, capsys):
    assert download.main(["--install", "away"]) == 1
    assert capsys.readouterr().err.splitlines()[1] == (
        "If you have predict_net.pb and init_net.pb of this model: python -m "
        "caffe2.python.models.download --install ./away")
    assert download.main(["--install", "shufflenet"]) == 1
    assert "shufflenet is a module of caffe2.python.models already" in capsys.readouterr().err
    (tmp_path / "torn").mkdir()
    assert download.main(["--install", "./torn"]) == 1
    assert "./torn/predict_net.pb" in capsys.readouterr().err
    (tmp_path / "torn" / "predict_net.pb").write_bytes(b"\xff\xff")
    (tmp_path / "torn" / "init_net.pb").write_bytes(b"")
    assert download.main(["--install", "./torn"]) == 1
    assert "./torn/predict_net.pb is not a NetDef" in capsys.readouterr().err
    assert download.main(["--install", "."]) == 1
    assert "'.' is not a valid model name" in capsys.readouterr().err
    assert sorted(path.name for path in package.iterdir()) == sorted(
        path.name for path in pathlib.Path(download.__file__).parent.iterdir()
        if path.name != "__pycache__")


def test_names_of_models(zoo):
    assert download.validModelName("bvlc_alexnet")
    for name in ("__init__", "../up", "a b", "/root", ""):
        assert not download.validModelName(name), name
    with pytest.raises(ValueError, match="not a valid model name"):
        download.downloadModel("../up", argparse.Namespace(install=False, force=True))


def test_model_downloader(zoo, tmp_path, monkeypatch):
    monkeypatch.setenv("CAFFE2_MODELS", str(tmp_path / "models"))
    init_net, predict_net, value_info, text = download.ModelDownloader().get_c2_model_dbg("small")
    assert (init_net.name, predict_net.name) == ("small_init", "small")
    assert predict_net.op[0].type == "Relu"
    assert value_info == {"x": [1, [2, 3]]}
    assert str(tmp_path) in text
    (tmp_path / "up").mkdir()
    with pytest.raises(ValueError, match="'../up' is not a valid model name"):
        download.ModelDownloader().get_c2_model("../up")
    zoo.clear()  # it is there already
    assert download.ModelDownloader().get_c2_model("small")[2] == value_info
