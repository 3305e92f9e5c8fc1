"""Fixtures of the Python tests. Without the package each test file is one skipped test."""

import importlib.util
import signal

import pytest

# A shell's background job starts with Ctrl-C ignored, which would keep tests of it waiting.
signal.signal(signal.SIGINT, signal.default_int_handler)


def _why_unavailable():
    for module in ("numpy", "google.protobuf", "caffe2.python.caffe2_pybind11_state"):
        try:
            if importlib.util.find_spec(module) is None:
                return f"no Python module {module}"
        except ModuleNotFoundError:
            return f"no Python module {module}"
    return None


_UNAVAILABLE = _why_unavailable()


class _SkippedItem(pytest.Item):
    def runtest(self):
        pytest.skip(_UNAVAILABLE)


class _SkippedModule(pytest.Module):
    def collect(self):
        yield _SkippedItem.from_parent(self, name="all")


def pytest_pycollect_makemodule(module_path, parent):
    if _UNAVAILABLE:
        return _SkippedModule.from_parent(parent, path=module_path)
    return None


@pytest.fixture(autouse=True)
def fresh_workspace():
    """Every test starts from an empty workspace."""
    from caffe2.python import workspace

    workspace.ResetWorkspace()
    yield
    workspace.ResetWorkspace()
