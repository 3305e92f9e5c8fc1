"""The site of the documentation: it builds without a warning, and its pages are true.

test_page_commands.py runs their commands.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import caffe2

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))


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
    training = (tmp_path / "site" / "api" / "training.html").read_text()
    assert "<code>batch_size</code>: rows of a batch" in training
    notebook = (tmp_path / "site" / "notebooks" / "first_net.html").read_text()
    assert "param_init_net" in notebook and "model_helper" in notebook
    pages = [path.read_text() for path in (tmp_path / "site").rglob("*.html")]
    assert not any(re.search(r"<code>[^<]*(\\_|&amp;lt;)", page) for page in pages)


def test_every_page_is_in_the_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    missing = [str(page) for page in PAGES
               if f": {page.relative_to('docs')}\n" not in contents]
    assert not missing


def test_every_picture_is_shown_and_described():
    shown = set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text()):
            assert len(text.split()) > 2, f"{page.name}: say what {target} shows"
            shown.add((page.parent / target).resolve())
    assert shown == set((ROOT / "docs" / "pictures").iterdir())
    large = [path.name for path in shown if path.stat().st_size > 150_000]
    assert not large


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
