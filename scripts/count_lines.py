#!/usr/bin/env python3
"""Prints the lines of code of each top-level folder and how they changed.

usage: count_lines.py [BASE]

BASE is the commit to compare with. Default: origin/main if HEAD is another commit, else the first
parent of HEAD. Without such a commit (a shallow clone) only the lines are printed. Tests and
documents stand apart from the product.
"""

import collections
import subprocess
import sys

SUFFIXES = (".cc", ".h", ".cu", ".cuh", ".py", ".pyi", ".sh", ".proto")
NOT_PRODUCT = ("tests", "docs")


def git(*arguments):
    """The output of a git command, or None if git refuses."""
    result = subprocess.run(["git", *arguments], capture_output=True, text=True, errors="replace")
    return result.stdout if result.returncode == 0 else None


def count(commit):
    """Lines by top-level folder at a commit."""
    lines = collections.Counter()
    listing = git("grep", "-c", "", commit, "--", *(f"*{suffix}" for suffix in SUFFIXES)) or ""
    for entry in listing.splitlines():
        path, number = entry[len(commit) + 1:].rsplit(":", 1)
        lines[path.split("/")[0] if "/" in path else "."] += int(number)
    return lines


def default_base():
    """origin/main, or the first parent where HEAD is origin/main; None if neither exists."""
    head = git("rev-parse", "HEAD")
    for name in ("origin/main", "HEAD~1"):
        commit = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if commit is not None and commit != head:
            return commit.strip()
    return None


def report(now, before):
    """The table as lines of text; `before` may be None."""
    def line(name, folders):
        total = sum(now[folder] for folder in folders)
        if before is None:
            return f"{name:<14}{total:>8}"
        return f"{name:<14}{total:>8}{total - sum(before[folder] for folder in folders):>+8}"

    every = sorted(set(now) | set(before or ()), key=lambda folder: -now[folder])
    product = [folder for folder in every if folder not in NOT_PRODUCT]
    rows = [line(folder, [folder]) for folder in product]
    rows.append(line("product", product))
    rows += [line(folder, [folder]) for folder in every if folder in NOT_PRODUCT]
    return rows


def main(arguments):
    if len(arguments) > 1:
        sys.exit("usage: count_lines.py [BASE]")
    base = arguments[0] if arguments else default_base()
    if base is not None and git("rev-parse", "--verify", "--quiet", f"{base}^{{commit}}") is None:
        sys.exit(f"error: {base} is no commit of this repository")
    print("lines of code" + (f", and the change since {base[:12]}" if base else ""))
    print("\n".join(report(count("HEAD"), count(base) if base else None)))


if __name__ == "__main__":
    main(sys.argv[1:])
