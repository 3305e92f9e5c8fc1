#!/usr/bin/env python3
"""Adds up the JUnit reports in a folder and prints "N passed, N failed, N skipped" last.

usage: summarize_tests.py FOLDER

Exits with 1 if a test failed or if no test ran. Skipped tests are listed with their reason.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def read_cases(folder):
    """Yields (name, outcome, reason) of every test case of the reports in `folder`."""
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        for case in ElementTree.parse(path).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                yield name, "failed", ""
            elif skipped is not None:
                yield name, "skipped", (skipped.get("message") or skipped.text or "").strip()
            else:
                yield name, "passed", ""


def main(folder):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, outcome, reason in read_cases(folder):
        counts[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {name} {reason}".splitlines()[0])
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
