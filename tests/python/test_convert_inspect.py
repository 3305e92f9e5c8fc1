"""`doppio inspect`: the layers, shapes and parameters of a model, as text, JSON and a picture."""

import json
import xml.etree.ElementTree

from test_convert import error_of, inspect, small_model

from caffe2.python.convert import formats, inspect_command


def test_inspect(tmp_path, capsys):
    model = small_model()
    model.info["class_names"] = "cat\ndog\n"
    formats.write(model, f"{tmp_path}/a.mdl")
    lines = [line.split() for line in inspect(capsys, tmp_path / "a.mdl").splitlines()]
    # Conv: 4 x 3 x 3 outputs of 3 x 3 x 3 products, and their bias; FC: 36 x 5 products.
    assert lines[0] == ["input", "x:", "Nx3x7x8"]
    conv, _, fc, softmax = lines[2:6]
    assert conv[:4] == ["Conv", "c", "1x4x3x3", "112"]
    assert int(conv[4].replace(",", "")) in (2 * 27 * 36, 2 * 27 * 36 + 36)
    assert fc[:4] == ["FC", "scores", "1x5", "185"] and softmax == ["Softmax", "y", "1x5", "0", "5"]
    assert lines[-2:] == [["class_names:", "cat,", "dog"], ["mean:", "1,2,3"]]
    two = json.loads(inspect(capsys, tmp_path / "a.mdl", "--json", "--batch_size", 2))
    assert two["parameters"] == 112 + 185 and two["outputs"] == ["y"]
    assert [layer["shape"] for layer in two["layers"]] == [
        [2, 4, 3, 3], [2, 4, 3, 3], [2, 5], [2, 5]]
    assert two["flops"] == sum(layer["flops"] for layer in two["layers"])


def test_inspect_a_net_without_parameters(tmp_path, capsys):
    (tmp_path / "predict.pb").write_bytes(small_model().net.SerializeToString())
    out = inspect(capsys, tmp_path / "predict.pb")
    assert "input x: ?" in out and "--input_shape" in out
    net = small_model().net
    net.external_input[:] = ["w", "b", "fb", "x", "fw"]  # as old model zoos have it
    (tmp_path / "predict.pb").write_bytes(net.SerializeToString())
    assert inspect(capsys, tmp_path / "predict.pb").startswith("input x: ?\n")
    del net.external_input[:]
    (tmp_path / "predict.pb").write_bytes(net.SerializeToString())
    assert inspect(capsys, tmp_path / "predict.pb").startswith("input x: ?\n")
    status, line = error_of(capsys, tmp_path / "none.pb", command=inspect_command)
    assert status == 66 and "none.pb" in line
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    status, line = error_of(capsys, tmp_path / "a.mdl", "--input_shape", "5,7,8",
                            command=inspect_command)
    assert status == 65 and "the shapes do not fit" in line


def test_names_cannot_control_the_terminal(tmp_path, capsys):
    model = small_model()
    model.net.op[0].output[0] = model.net.op[1].input[0] = "c\x1b]0;owned\x07\n"
    model.info["class_names"] = "cat\x1b[31m"
    (tmp_path / "predict.pb").write_bytes(model.net.SerializeToString())
    out = inspect(capsys, tmp_path / "predict.pb")
    assert "\x1b" not in out and "c?]0;owned??" in out
    status, line = error_of(capsys, tmp_path / "none\x1b.pb", command=inspect_command)
    assert status == 66 and "none?.pb" in line


def test_the_picture(tmp_path, capsys, monkeypatch):
    formats.write(small_model(), f"{tmp_path}/a.mdl")
    monkeypatch.setenv("PATH", str(tmp_path))  # no other program is needed
    inspect(capsys, tmp_path / "a.mdl", "--svg", tmp_path / "a.svg")
    root = xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot()
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[texts.index("Conv") + 1] == "1 x 4 x 3 x 3" and "x" in texts
    assert "fw" not in texts  # a parameter
