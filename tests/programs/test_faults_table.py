"""docs/design/faults.md names tests that exist."""

import re

from conftest import ROOT

TABLE = ROOT / "docs" / "design" / "faults.md"
# `file` Name, Name (remark), name; up to the next file or cell.
FILE = re.compile(r"`((?:[a-z_]+/)+[a-z_0-9]+\.(?:cc|py))`([^`|]*)")
NAME = re.compile(r"\b(?:test_\w+|[A-Z]\w*[a-z][A-Z]\w*)\b")


def named_tests():
    """(file below tests/, names of tests in it) for each file that the tables name."""
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("| ")]
    for file, rest in FILE.findall("\n".join(rows)):
        if not file.startswith("scripts/"):
            yield file, NAME.findall(re.sub(r"\([^)]*\)", "", rest))


def test_every_named_test_is_there():
    tests = list(named_tests())
    assert sum(len(names) for _, names in tests) > 150
    missing = []
    for file, names in tests:
        path = ROOT / "tests" / file
        if not path.exists():
            missing.append(file)
            continue
        text = path.read_text()
        missing += [f"{name} in {file}" for name in names if not re.search(rf"\b{name}\b", text)]
    assert missing == []
