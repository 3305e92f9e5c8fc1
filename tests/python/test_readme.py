"""The program in the README, as printed there."""

import os
import pathlib
import re
import subprocess
import sys

import caffe2

_README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def test_the_program_in_the_readme_learns(tmp_path):
    (program,) = re.findall(r"```python\n(.*?)```", _README.read_text(), re.DOTALL)
    environment = dict(os.environ, PYTHONPATH=str(pathlib.Path(caffe2.__file__).parent.parent))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    loss, *weights = map(float, re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", done.stdout))
    assert loss < 0.05, done.stdout
    assert len(weights) == 4
    assert all(abs(weight - 1) < 0.5 for weight in weights), done.stdout  # the sum of the columns
