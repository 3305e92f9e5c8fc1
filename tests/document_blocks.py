"""The blocks of the documents: commands, programs and text between lines of three backquotes."""

import dataclasses
import pathlib
import re
from typing import Optional

ROOT = pathlib.Path(__file__).resolve().parents[1]

# A block starts where no other one is open; the comment before it says why no test runs it.
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n)?```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    reason: Optional[str]  # why no test runs it

    @property
    def first_line(self):
        return self.text.partition("\n")[0]


def pages():
    """The pages of the site, and the other documents for users and developers."""
    built = [ROOT / "build", ROOT / "docs" / "design", ROOT / ".git"]
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.rglob("README.md")]
    return sorted({str(path.relative_to(ROOT)) for path in found
                   if not any(folder in path.parents for folder in built)})


def blocks_of(page):
    text = (ROOT / page).read_text()
    return [Block(page, text.count("\n", 0, found.start("language")) + 1, found["language"],
                  found["text"], found["reason"]) for found in _BLOCK.finditer(text)]


def commands_of(page):
    """The blocks of commands that tests run, in order."""
    return [block for block in blocks_of(page) if block.language == "sh" and not block.reason]
