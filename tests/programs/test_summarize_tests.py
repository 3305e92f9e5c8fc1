"""scripts/summarize_tests.py: what it counts, and which suites it says did not finish."""

import subprocess
import sys

import pytest

from conftest import ROOT

SCRIPT = ROOT / "scripts" / "summarize_tests.py"

GTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="AllTests"><testsuite name="Relu">
<testcase name="Forward" status="run" result="completed" classname="Relu"/>
<testcase name="OnDevice" status="run" result="skipped" classname="Relu">
<skipped message="relu_op_test.cc:9&#x0A;no GPU"><![CDATA[no GPU]]></skipped></testcase>
<testcase name="Later" status="notrun" result="suppressed" classname="Relu"/>{more}
</testsuite></testsuites>"""

GTEST_SKIPPED = """
<testcase name="Half" status="run" result="skipped" classname="Relu">
<skipped message="relu_op_test.cc:20&#x0A;no GPU"/></testcase>"""

GTEST_FAILURE = """
<testcase name="Gradient" status="run" result="completed" classname="Relu">
<failure message="relu_op_test.cc:12&#x0A;Expected equality"/></testcase>"""

PYTEST = """
def test_good():
    pass

def test_bad():
    assert {condition}
"""


def summarize(folder, *suites):
    """The (exit status, lines) of the script."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), *suites], capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def run_pytest(folder, name, source):
    """Runs `source` as a suite of pytest with the report NAME.xml; returns "NAME=exit status"."""
    tests = folder / f"{name}_suite"
    tests.mkdir()
    (tests / "test_it.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tests}",
         f"--junitxml={folder / name}.xml", str(tests)],
        capture_output=True, text=True,
    )
    return f"{name}={done.returncode}"


def test_cases_of_all_suites_are_added_up(tmp_path):
    (tmp_path / "core.xml").write_text(GTEST.format(more=""))
    python = run_pytest(tmp_path, "python", PYTEST.format(condition=True))
    status, lines = summarize(tmp_path, "core=0", python)
    assert status == 0
    assert lines == ["skipped 1: no GPU (Relu.OnDevice)", "skipped 1: disabled (Relu.Later)",
                     "3 passed, 0 failed, 2 skipped"]


def test_skipped_cases_are_counted_by_reason(tmp_path):
    (tmp_path / "core.xml").write_text(GTEST.format(more=""))
    (tmp_path / "more.xml").write_text(GTEST.format(more=GTEST_SKIPPED))
    _, lines = summarize(tmp_path, "core=0", "more=0")
    assert lines == ["skipped 3: no GPU (Relu.OnDevice, ...)",
                     "skipped 2: disabled (Relu.Later, ...)", "2 passed, 0 failed, 5 skipped"]


def test_failed_cases_are_named_and_counted_once(tmp_path):
    (tmp_path / "core.xml").write_text(GTEST.format(more=GTEST_FAILURE))
    python = run_pytest(tmp_path, "python", PYTEST.format(condition=False))
    status, lines = summarize(tmp_path, "core=8", python)
    assert status == 1
    assert lines[2:] == [
        "failed: Relu.Gradient", "    relu_op_test.cc:12", "    Expected equality",
        "failed: test_it.test_bad", "    assert False", "2 passed, 2 failed, 2 skipped"]


def test_long_messages_are_cut(tmp_path):
    report = GTEST_FAILURE.replace("Expected equality", "&#x0A;".join("abcdefghijklmn"))
    (tmp_path / "core.xml").write_text(GTEST.format(more=report))
    _, lines = summarize(tmp_path, "core=8")
    assert lines[-4:] == ["    j", "    k", "    ... 3 lines more",
                          "1 passed, 1 failed, 2 skipped"]


@pytest.mark.parametrize(
    "report, outcome, reason",
    [
        (None, "no Python environment", "no report, no Python environment"),
        (None, "139", "no report, exit status 139"),
        (None, "0", "no report, exit status 0"),
        (GTEST[:100], "8", "unreadable report: "),
        ("", "8", "unreadable report: "),
        ("<testsuites/>", "0", "no tests, exit status 0"),
        (GTEST.format(more=""), "23", "exit status 23, though no test failed"),
    ],
    ids=["not started", "crashed", "silent", "cut off", "empty", "no tests", "failed at its end"],
)
def test_a_suite_that_did_not_finish_is_a_failure(tmp_path, report, outcome, reason):
    (tmp_path / "good.xml").write_text(GTEST.format(more=""))
    if report is not None:
        (tmp_path / "bad.xml").write_text(report)
    status, lines = summarize(tmp_path, "good=0", f"bad={outcome}")
    assert status == 1
    passed, skipped = (2, 4) if "though" in reason else (1, 2)
    assert lines[-1].startswith(
        f"{passed} passed, 1 failed, {skipped} skipped; did not finish: bad ({reason}")


def test_all_suites_that_did_not_finish_are_named(tmp_path):
    status, lines = summarize(tmp_path, "core=139", "python=no Python environment")
    assert status == 1
    assert lines == ["0 passed, 2 failed, 0 skipped; did not finish: core (no report, exit status "
                     "139), python (no report, no Python environment)"]


def test_a_suite_that_pytest_cannot_collect_is_named(tmp_path):
    suite = run_pytest(tmp_path, "python", "import no_such_module\n")
    assert suite == "python=2"
    status, lines = summarize(tmp_path, suite)
    assert status == 1
    assert lines[-1] == ("0 passed, 1 failed, 0 skipped; "
                         "did not finish: python (not all tests could be collected)")


def test_no_suites_are_a_failure(tmp_path):
    assert summarize(tmp_path) == (1, ["0 passed, 0 failed, 0 skipped"])


def test_only_skipped_tests_are_a_failure(tmp_path):
    skipping = PYTEST.format(condition=True).replace("pass\n", "pytest.skip('no data')\n")
    suite = run_pytest(tmp_path, "python", "import pytest\n" + skipping.split("def test_bad")[0])
    assert suite == "python=0"
    assert summarize(tmp_path, suite) == (
        1, ["skipped 1: no data (test_it.test_good)", "0 passed, 0 failed, 1 skipped"])
