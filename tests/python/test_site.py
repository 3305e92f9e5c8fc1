"""The site of the documentation: it builds without a warning, and its pages are true.

Commands in blocks marked `sh` run, in order, in a folder of their own.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zlib

import pytest

import caffe2

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAFFE2_BIN", ROOT / "build" / "release" / "bin"))
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))


def _blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(),
                      re.DOTALL | re.MULTILINE)


def _environment(**variables):
    python = pathlib.Path(caffe2.__file__).parent.parent
    return {**os.environ, "PYTHONPATH": str(python), "OMP_NUM_THREADS": "1",
            "DOPPIO_PYTHON": sys.executable, "PATH": f"{BIN}:{os.environ['PATH']}", **variables}


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    built_package = pathlib.Path(caffe2.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(built_package)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]
    home = (tmp_path / "site" / "index.html").read_text()
    assert "Five minutes" in home
    conv = (tmp_path / "site" / "operators" / "conv.html").read_text()
    assert 'id="conv"' in conv and "<code>kernel</code>" in conv
    core = (tmp_path / "site" / "api" / "core.html").read_text()
    assert "caffe2.python.core" in core


def test_every_page_is_in_the_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    missing = [str(page) for page in PAGES
               if f": {page.relative_to('docs')}\n" not in contents]
    assert not missing


def _write_png(path, color):
    """A picture of 80 x 80 pixels of one colour and some noise."""
    rows = b"".join(b"\0" + bytes((channel + 7 * (x * y) % 40) % 256
                                  for x in range(80) for channel in color) for y in range(80))

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    path.write_bytes(b"\x89PNG\r\n\x1a\n"
                     + chunk(b"IHDR", struct.pack(">2I5B", 80, 80, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def _make_photos(folder):
    for part, count in (("train", 16), ("test", 4)):
        for name, color in (("cat", (200, 40, 40)), ("dog", (40, 40, 200))):
            (folder / part / name).mkdir(parents=True)
            for i in range(count):
                _write_png(folder / part / name / f"{i}.png", [c + i for c in color])


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page, "sh")],
                         ids=lambda page: page.stem)
def test_commands_run_as_printed(page, tmp_path):
    commands = "\n".join(_blocks(page, "sh"))
    if "doppio run" in commands and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    if "photos/" in commands:
        _make_photos(tmp_path / "photos")
    done = subprocess.run(["bash", "-euc", commands], cwd=tmp_path,
                          env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]


@pytest.mark.parametrize("page", ["docs/from_pytorch.md"])
def test_programs_run_as_printed(page, tmp_path):
    (program,) = _blocks(page, "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=_environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert 0 < float(done.stdout) < 1.2


def _sources():
    """All C++ sources; string literals that continue on the next line are joined."""
    folders = [ROOT / name for name in ("caffe2", "db", "operators", "distributed", "train")]
    text = "\n".join(path.read_text() for folder in folders for path in sorted(folder.rglob("*.*"))
                     if path.suffix in (".cc", ".h"))
    return re.sub(r'"\s*\n\s*"', "", text)


def test_messages_in_the_table_exist():
    text = (ROOT / "docs" / "troubleshooting.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    quoted = [text for row in rows for text in re.findall(r"`([^`]+)`", row)]
    assert len(quoted) > 15
    sources = _sources()
    missing = [text for text in quoted if text not in sources]
    assert not missing
