"""Installed programs and libraries carry the hardening that cmake/Compiler.cmake asks for."""

import re
import shutil

import pytest

from conftest import check_output

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not installed")


def installed(prefix):
    return [*sorted((prefix / "bin").iterdir()), *sorted((prefix / "lib").glob("*.so"))]


def test_addresses_are_random_and_bound_before_main(prefix):
    files = installed(prefix)
    assert len(files) > 12
    for file in files:
        text = check_output("readelf", "--wide", "--file-header", "--segments", "--dynamic", file)
        assert re.search(r"Type:\s+DYN", text), file
        assert "GNU_RELRO" in text, file
        assert re.search(r"FLAGS(_1)?\).*NOW", text), file
        stack = re.search(r"GNU_STACK.*", text).group()
        assert "RWE" not in stack, (file, stack)


def test_frames_and_buffers_are_checked(prefix):
    for file in installed(prefix):
        symbols = check_output("readelf", "--wide", "--dyn-syms", file)
        assert "__stack_chk_fail" in symbols, file
        if file.name == "libcaffe2.so":
            assert re.search(r"__(memcpy|snprintf|vsnprintf|read|recv)_chk", symbols)


def test_each_clone_belongs_to_one_library(prefix):
    """The loader calls a function (IFUNC) that chooses among clones. If two libraries export the
    same one, the loader may call the other library's, before that library is relocated."""
    owners = {}
    for file in installed(prefix):
        symbols = check_output("readelf", "--wide", "--dyn-syms", file)
        chooser = r"(?:IFUNC|<OS specific>: 10) +(?:GLOBAL|WEAK) +\S+ +\d+ (\S+)$"
        for name in re.findall(chooser, symbols, re.MULTILINE):
            owners.setdefault(name, []).append(file.name)
    assert len(owners) > 100
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
