"""Runs that are cut short: by Ctrl-C at an awkward moment, by the end of Python."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import caffe2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, workspace

_PACKAGE = str(pathlib.Path(caffe2.__file__).parent.parent)

ENDLESS = """
import sys, threading
import numpy as np
from caffe2.python import core, workspace
workspace.FeedBlob("a", np.zeros((50, 50), np.float32))
net = core.Net("endless")
net.Proto().type = "simple"
for _ in range(100):
    net.MatMul(["a", "a"], "b")
workspace.CreateNet(net)
started = threading.Event()
def run():
    started.set()
    workspace.RunNet(net, 10**9)
threading.Thread(target=run, daemon=True).start()
started.wait()
while not workspace.HasBlob("b"):
    pass
sys.exit(3)
"""

# Python raises KeyboardInterrupt in the main thread. Here another one imports the package first.
IMPORTED_ELSEWHERE = """
import importlib, os, signal, threading
importer = threading.Thread(target=importlib.import_module, args=["caffe2.python.workspace"])
importer.start()
importer.join()
from caffe2.python import core, workspace
net = core.Net("endless")
net.Python(lambda inputs, outputs: os.kill(os.getpid(), signal.SIGINT))([], [])
net.ConstantFill([], "a", shape=[1])
workspace.CreateNet(net)
try:
    workspace.RunNet(net, 10**9)
except KeyboardInterrupt:
    print("interrupted")
"""

# The child has none of the threads that the parent computed with.
FORKS = """
import os
import numpy as np
from caffe2.python import core, workspace
a = np.random.default_rng(0).standard_normal((400, 400)).astype(np.float32)
workspace.FeedBlob("a", a)
net = core.Net("product")
net.Sin(net.MatMul(["a", "a"], "b"), "c")
workspace.CreateNet(net)
workspace.RunNet(net)
expected = workspace.FetchBlob("c")
child = os.fork()
if child == 0:
    workspace.FeedBlob("a", a)
    workspace.RunNet(net)
    workspace.RunNetOnce(net.Clone("new"))
    os._exit(0 if np.array_equal(workspace.FetchBlob("c"), expected) else 1)
status = os.waitpid(child, 0)[1]
workspace.RunNet(net)
print("child", status)
"""


def run_script(script, **environment):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": _PACKAGE, **environment})


def test_the_thread_that_imports_need_not_be_the_main_one():
    done = run_script(IMPORTED_ELSEWHERE)
    assert done.stdout == "interrupted\n", done.stderr


def test_a_forked_process_computes():
    done = run_script(FORKS, OMP_NUM_THREADS="3")
    assert done.stdout == "child 0\n", done.stderr


def test_interrupt_while_a_net_is_made():
    workspace.FeedBlob("a", np.zeros(1, np.float32))
    ran = []
    net = core.Net("interrupted")
    net.Python(lambda inputs, outputs: ran.append(True))([], [])
    # Sends the signal when the operator is made, by a C function, after which Python does not look.
    net.Python((ctypes.CDLL(None)["raise"], (signal.SIGINT,), {}))([], [])
    with pytest.raises(KeyboardInterrupt):
        workspace.RunNetOnce(net)
    assert not ran
    workspace.RunOperatorOnce(core.CreateOperator("Copy", "a", "c"))  # the next run is its own


@pytest.mark.parametrize("stop", ["cancel", "interrupt"])
def test_a_stop_reaches_the_runs_of_all_threads(stop):
    workspace.FeedBlob("a", np.zeros(1, np.float32))
    entered, go_on, errors = threading.Event(), threading.Event(), []

    def wait(inputs, outputs):
        entered.set()
        assert go_on.wait(60)

    long_run = core.Net("long_run")
    long_run.Python(wait)([], [])
    long_run.Copy("a", "b")
    created = C.Workspace.current.create_net(long_run)

    def run():
        try:
            created.run()
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    assert entered.wait(60)
    short_run = core.Net("short_run")
    short_run.Copy("a", "c")
    if stop == "cancel":
        created.cancel()
        with pytest.raises(RuntimeError, match="stopped on request"):
            workspace.RunNetOnce(short_run)
    else:
        interrupted = core.Net("interrupted")
        interrupted.Python(lambda inputs, outputs: signal.raise_signal(signal.SIGINT))([], [])
        with pytest.raises(KeyboardInterrupt):
            workspace.RunNetOnce(interrupted)
    go_on.set()
    thread.join()
    assert len(errors) == 1 and "stopped on request" in errors[0]
    workspace.RunNetOnce(short_run)  # all have ended: the workspace can be used again
    np.testing.assert_array_equal(workspace.FetchBlob("c"), [0])


def test_python_ends_while_a_daemon_thread_runs_a_net():
    result = subprocess.run(
        [sys.executable, "-c", ENDLESS], env=dict(os.environ, PYTHONPATH=_PACKAGE),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert result.returncode == 3, result.stdout


SIGNAL_STACK = """
import ctypes, sys
from caffe2.python import workspace

class Stack(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

stack = Stack()
ctypes.CDLL(None).sigaltstack(None, ctypes.byref(stack))
sys.exit(stack.size < 65536 or stack.flags != 0)
"""


def test_signal_handlers_have_a_stack_of_their_own():
    """On the ordinary one, a signal during a matrix product of oneDNN can corrupt the heap."""
    environment = {**os.environ, "PYTHONPATH": _PACKAGE}
    assert subprocess.run([sys.executable, "-c", SIGNAL_STACK], env=environment).returncode == 0
