#!/usr/bin/env python3
"""Adds up the JUnit reports of test suites and prints "N passed, N failed, N skipped" last.

usage: summarize_tests.py FOLDER SUITE=OUTCOME...

FOLDER holds the report SUITE.xml of each suite. OUTCOME is the exit status of the suite, or words
that say why it was not started. Failed and skipped tests are listed, the skipped ones with their
reasons. The line before the last names the suites that did not finish: those without a readable
report or without a test in it, those that pytest could not collect, and those whose exit status
is a failure of which the report knows nothing. Such a suite counts as one failed test, unless its
report has failed tests to count. Exits with 1 if anything failed or no test passed.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

Case = collections.namedtuple("Case", "name outcome reason")


def read_case(element):
    """The Case of a <testcase> of GoogleTest's or pytest's report."""
    name = f"{element.get('classname')}.{element.get('name')}"
    skipped = element.find("skipped")
    for kind in ("failure", "error"):
        found = element.find(kind)
        if found is not None:
            return Case(name, "failed", found.get("message") or "")
    if skipped is not None:
        return Case(name, "skipped", (skipped.get("message") or skipped.text or "").strip())
    if element.get("status") == "notrun":
        return Case(name, "skipped", "disabled")
    return Case(name, "passed", "")


def read_suite(path, outcome):
    """The cases of a suite and why it did not finish ("" if it did).

    `path` is its report, `outcome` its exit status or why it was not started.
    """
    status = f"exit status {outcome}" if outcome.isdigit() else outcome
    try:
        cases = [read_case(element) for element in ElementTree.parse(path).iter("testcase")]
    except FileNotFoundError:
        return [], f"no report, {status}"
    except ElementTree.ParseError as error:
        return [], f"unreadable report: {error}, {status}"
    if not cases:
        return [], f"no tests, {status}"
    failed = [case for case in cases if case.outcome == "failed"]
    if any(case.reason == "collection failure" for case in failed):
        return cases, "not all tests could be collected"
    if outcome != "0" and not failed:
        return cases, f"{status}, though no test failed"
    return cases, ""


def main(folder, *suites):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    unfinished = []
    for suite in suites:
        name, _, outcome = suite.partition("=")
        cases, problem = read_suite(pathlib.Path(folder) / f"{name}.xml", outcome)
        for case in cases:
            counts[case.outcome] += 1
            if case.outcome != "passed":
                reason = case.reason if case.outcome == "skipped" else ""
                print(f"{case.outcome}: {case.name} {reason}".splitlines()[0])
        if problem:
            unfinished.append(f"{name} ({problem})")
            counts["failed"] += not any(case.outcome == "failed" for case in cases)
    if unfinished:
        print(f"suites that did not finish: {', '.join(unfinished)}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: summarize_tests.py FOLDER SUITE=OUTCOME...")
    sys.exit(main(*sys.argv[1:]))
