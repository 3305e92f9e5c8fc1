#!/usr/bin/env python3
"""Adds up the JUnit reports of test suites and prints "N passed, N failed, N skipped" last.

usage: summarize_tests.py FOLDER SUITE=OUTCOME...

FOLDER holds the report SUITE.xml of each suite. OUTCOME is the exit status of the suite, or words
that say why it was not started. Skipped tests are counted by reason. Failed tests follow, each with
the first lines of its message, so that the end of a long log names them. The last line also names
the suites that did not finish: the ones without a readable report or without a test in it, the ones
that pytest could not collect, and the ones whose exit status is a failure of which the report knows
nothing. Such a suite counts as one failed test, unless its report has failed tests to count. Exits
with 1 if anything failed or no test passed.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

Case = collections.namedtuple("Case", "name outcome reason")

MESSAGE_LINES = 12  # of a failed test


def read_case(element):
    """The Case of a <testcase> of GoogleTest's or pytest's report."""
    name = f"{element.get('classname')}.{element.get('name')}"
    skipped = element.find("skipped")
    for kind in ("failure", "error"):
        found = element.find(kind)
        if found is not None:
            return Case(name, "failed", (found.get("message") or "").strip())
    if skipped is not None:
        # GoogleTest's message has the line of the source before the reason.
        lines = (skipped.get("message") or skipped.text or "").strip().splitlines()
        return Case(name, "skipped", lines[-1] if lines else "no reason given")
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


def print_skipped(cases):
    """Prints the reasons of the skipped `cases`, the most frequent first, with one test of each."""
    names = collections.defaultdict(list)
    for case in cases:
        names[case.reason].append(case.name)
    for reason, skipped in sorted(names.items(), key=lambda item: -len(item[1])):
        print(f"skipped {len(skipped)}: {reason} ({skipped[0]}{', ...' if skipped[1:] else ''})")


def print_failed(cases):
    """Prints the failed `cases` with the first lines of their messages."""
    for case in cases:
        print(f"failed: {case.name}")
        lines = case.reason.splitlines()
        for line in lines[:MESSAGE_LINES]:
            print(f"    {line}")
        if lines[MESSAGE_LINES:]:
            print(f"    ... {len(lines) - MESSAGE_LINES} lines more")


def main(folder, *suites):
    cases = {"passed": [], "failed": [], "skipped": []}
    unfinished = []
    uncounted = 0  # suites that failed without a failed test
    for suite in suites:
        name, _, outcome = suite.partition("=")
        found, problem = read_suite(pathlib.Path(folder) / f"{name}.xml", outcome)
        for case in found:
            cases[case.outcome].append(case)
        if problem:
            unfinished.append(f"{name} ({problem})")
            uncounted += not any(case.outcome == "failed" for case in found)
    print_skipped(cases["skipped"])
    print_failed(cases["failed"])
    failures = len(cases["failed"]) + uncounted
    total = f"{len(cases['passed'])} passed, {failures} failed, {len(cases['skipped'])} skipped"
    print(f"{total}; did not finish: {', '.join(unfinished)}" if unfinished else total)
    return 1 if failures or not cases["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: summarize_tests.py FOLDER SUITE=OUTCOME...")
    sys.exit(main(*sys.argv[1:]))
