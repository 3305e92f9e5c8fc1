"""NetDefs that cannot run, through every program that reads them from a file."""

import pytest

from conftest import last_line, run

FILL = 'op { type: "ConstantFill" output: "%s" arg { name: "shape" %s } }'


def fill(name, *dims):
    """Text of an operator that makes a float tensor."""
    return FILL % (name, " ".join(f"ints: {dim}" for dim in dims))


# Name: (text of the operators, what the error line must say).
BAD_NETS = {
    "unknown operator": ('op { type: "Rellu" input: "data" output: "y" }', "Relu"),
    "missing input": ('op { type: "Relu" input: "absent" output: "y" }', "absent"),
    "cycle": (
        'op { type: "Relu" input: "b" output: "a" } op { type: "Relu" input: "a" output: "b" }',
        "b",
    ),
    "shapes that do not match": (
        fill("a", 2, 3) + fill("b", 4, 5)
        + 'op { type: "MatMul" input: "a" input: "b" output: "y" }',
        "MatMul",
    ),
    "sizes that do not match": (
        fill("a", 2, 3) + fill("b", 2, 4)
        + 'op { type: "Add" input: "a" input: "b" output: "y" }',
        "Add",
    ),
    "negative size": (fill("a", 2, -3), "-3"),
    "size that overflows": (fill("a", 1 << 62, 4), "overflow"),
    "more than there is": (fill("a", 1 << 40), "ConstantFill"),
    "too few inputs": ('op { type: "Add" input: "data" output: "y" }', "Add"),
    "kernel of zero": (
        fill("x", 1, 1, 8, 8) + fill("w", 1, 1, 3, 3)
        + 'op { type: "Conv" input: "x" input: "w" output: "y" arg { name: "kernel" i: 0 } }',
        "kernel",
    ),
    "negative stride": (
        fill("x", 1, 1, 8, 8) + fill("w", 1, 1, 3, 3)
        + 'op { type: "Conv" input: "x" input: "w" output: "y" arg { name: "kernel" i: 3 } '
        'arg { name: "stride" i: -1 } }',
        "stride",
    ),
    "huge pad": (
        fill("x", 1, 1, 8, 8) + 'op { type: "MaxPool" input: "x" output: "y" '
        'arg { name: "kernel" i: 3 } arg { name: "pad" i: 2147483647 } }',
        "MaxPool",
    ),
    "axis out of range": (
        fill("x", 2, 3) + 'op { type: "Softmax" input: "x" output: "y" '
        'arg { name: "axis" i: -7 } }',
        "axis",
    ),
    "no text form": ("op { type: ", "net.pbtxt"),
}


def check(done, expected):
    assert 0 < done.returncode < 128, f"status {done.returncode}: {done.output[-2000:]}"
    assert expected in last_line(done.output), done.output[-2000:]
    assert "enforce fail" not in last_line(done.output)
    assert "terminate called" not in done.output


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "grey.pgm"
    path.write_bytes(b"P5 8 8 255\n" + bytes(range(64)))
    return path


@pytest.mark.parametrize("net_type", ["simple", "dag"])
@pytest.mark.parametrize("case", BAD_NETS)
def test_run_plan(case, net_type, tmp_path):
    text, expected = BAD_NETS[case]
    plan = tmp_path / "net.pbtxt"
    plan.write_text(f"""
        name: "plan" network {{ name: "net" type: "{net_type}" {fill("data", 1, 1, 8, 8)} {text} }}
        execution_step {{ name: "step" network: "net" }}
    """)
    check(run("run_plan", "--plan", plan), expected)


def test_verbose_programs_print_where_a_check_failed(tmp_path):
    plan = tmp_path / "net.pbtxt"
    plan.write_text(f"""
        name: "plan" network {{ name: "net" {fill("data", 2, -3)} }}
        execution_step {{ name: "step" network: "net" }}
    """)
    done = run("run_plan", "--plan", plan, "--v", 1)
    assert "[enforce fail at tensor.cc:" in last_line(done.output), done.output[-2000:]


@pytest.mark.parametrize("case", BAD_NETS)
def test_speed_benchmark(case, tmp_path):
    text, expected = BAD_NETS[case]
    net = tmp_path / "net.pbtxt"
    net.write_text(f'name: "net" {text}')
    flags = ["--net", net, "--input", "data", "--input_dims", "1,1,8,8", "--iter", 1]
    check(run("speed_benchmark", *flags), expected)


@pytest.mark.parametrize("case", BAD_NETS)
@pytest.mark.parametrize("where", ["init", "predict"])
def test_predict(where, case, picture, tmp_path):
    text, expected = BAD_NETS[case]
    nets = {
        "init": 'name: "init"',
        "predict": 'op { type: "Copy" input: "data" output: "y" } external_input: "data"',
    }
    nets[where] = text + (' external_input: "data"' if where == "predict" else "")
    for role, net in nets.items():
        (tmp_path / role).mkdir()
        (tmp_path / role / "net.pbtxt").write_text(net)
    done = run(
        "predict", "--init_net", tmp_path / "init" / "net.pbtxt", "--predict_net",
        tmp_path / "predict" / "net.pbtxt", "--image_size", 8, "--image_scale", 8,
        "--num_channels", 1, picture,
    )
    # An init net gets no picture.
    check(done, "data" if where == "init" and 'input: "data"' in text else expected)


@pytest.mark.parametrize("program, flag", [("run_plan", "--plan"), ("speed_benchmark", "--net")])
def test_files_that_are_no_nets(program, flag, tmp_path):
    for name, content in (("junk.pb", b"\xff" * 100), ("cut.pb", b"\x0a\xff\xff\xff\x7f")):
        (tmp_path / name).write_bytes(content)
        check(run(program, flag, tmp_path / name), name)
    check(run(program, flag, tmp_path / "absent.pb"), "absent.pb")
    check(run(program, flag, tmp_path), str(tmp_path))
    check(run(program), flag)
