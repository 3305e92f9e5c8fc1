"""scripts/count_lines.py counts lines by folder and compares commits."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "count_lines.py"


def git(folder, *arguments):
    """Runs git with a name of its own; the machine's settings do not count."""
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t.invalid", *arguments],
        cwd=folder, check=True, capture_output=True,
    )


def commit(folder, **files):
    """Writes files ("a__b_py" is a/b.py) of so many lines and commits them."""
    for name, lines in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_md", ".md")
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n" * lines)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "step")


def count(folder, *arguments):
    """The script's (exit status, output lines, error text)."""
    result = subprocess.run(
        [sys.executable, SCRIPT, *arguments], cwd=folder, capture_output=True, text=True,
    )
    return result.returncode, [line.split() for line in result.stdout.splitlines()], result.stderr


def test_lines_and_their_change(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, db__a_py=3, tests__b_py=10, docs__c_md=50)
    status, rows, _ = count(tmp_path)
    assert status == 0
    assert rows[1:] == [["db", "3"], ["product", "3"], ["tests", "10"]]  # no parent to compare with
    commit(tmp_path, db__a_py=1, train__d_py=7)
    status, rows, _ = count(tmp_path)
    assert status == 0
    assert rows[1:] == [
        ["train", "7", "+7"], ["db", "1", "-2"], ["product", "8", "+5"], ["tests", "10", "+0"],
    ]


def test_an_unknown_base_is_an_error(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, db__a_py=3)
    status, rows, error = count(tmp_path, "nosuch")
    assert status == 1 and not rows
    assert error == "error: nosuch is no commit of this repository\n"
