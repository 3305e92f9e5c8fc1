"""The notebooks under docs/ run from top to bottom, in order, and assert what they show."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import caffe2

_NOTEBOOKS = sorted(
    (pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def _cells(notebook):
    return [(cell["cell_type"], "".join(cell["source"]))
            for cell in json.loads(notebook.read_text())["cells"]]


def test_there_are_two():
    assert len(_NOTEBOOKS) == 2


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path):
    cells = _cells(notebook)
    assert cells[0][0] == "markdown" and cells[0][1].startswith("# ")
    program = "\n".join(source for kind, source in cells if kind == "code")
    assert "assert " in program
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(caffe2.__file__).parent.parent))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Warning" not in done.stdout


@pytest.mark.parametrize("notebook", _NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook):
    for cell in json.loads(notebook.read_text())["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
