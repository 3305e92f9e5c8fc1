"""Processes that are forked, and workspaces that are switched and reset, while threads run nets and
make blobs: each in a process of its own, which may hang or crash."""

import os
import subprocess
import sys


def _lines(program, *flags):
    """What the program writes."""
    done = subprocess.run([sys.executable, *flags, "-c", program], capture_output=True, text=True,
                          timeout=300, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


_FORKED = """
import os, sys, threading, time
import numpy as np
from caffe2.python import core, workspace
workspace.FeedBlob("x", np.ones(2, np.float32))
net = core.Net("forked")
net.Proto().type, net.Proto().num_workers = "dag", 2
net.Relu("x", "y"), net.Relu("x", "z")
workspace.CreateNet(net)
workspace.RunNet(net)
wait = core.Net("wait")  # a run of another thread does not exist in the child
workspace.RunOperatorOnce(core.CreateOperator("CreateBlobsQueue", [], ["queue"]))
wait.DequeueBlobs("queue", "w")
workspace.CreateNet(wait)
thread = threading.Thread(target=lambda: workspace.RunNet(wait), daemon=True)
thread.start()
time.sleep(0.2)
child = os.fork()
if not child:
    workspace.FeedBlob("w", np.ones(9, np.float32))
try:
    workspace.RunNet(net)
    assert child
except RuntimeError as error:
    assert not child and "created before this process was forked" in str(error), error
    workspace.CreateNet(net, overwrite=True)
    workspace.RunNet(net)
    print("the child ran", workspace.FetchBlob("y").tolist(), flush=True)
if child:
    assert os.waitpid(child, 0)[1] == 0
    workspace.RunOperatorOnce(core.CreateOperator("CloseBlobsQueue", ["queue"], []))
    thread.join(30)
    print("the parent ends")
"""


def test_a_forked_process_makes_its_own_parallel_nets():
    assert _lines(_FORKED) == ["the child ran [1.0, 1.0]", "the parent ends"]


_FORKS = """
import os, signal, sys, threading
import numpy as np
from caffe2.python import core, workspace
workspace.FeedBlob("x", np.ones(2, np.float32))
net = core.Net("busy")
for i in range(20):
    net.Relu("x", f"y{i}")
step = core.ExecutionStep("step", net)
step.Proto().create_workspace = True  # its net is made without the GIL
outer = core.ExecutionStep("outer", num_iter=100)
outer.AddSubstep(step)
plan = core.Plan("plan")
plan.AddStep(outer)
stop = threading.Event()
def run():
    while not stop.is_set():
        workspace.RunPlan(plan)
def feed():
    while not stop.is_set():
        workspace.FeedBlob("fed", np.ones(1, np.float32))
        workspace.RemoveBlob("fed")
threads = [threading.Thread(target=run), threading.Thread(target=feed)]
for thread in threads:
    thread.start()
bad = 0
for i in range(200):
    child = os.fork()
    if not child:
        signal.alarm(20)
        workspace.FeedBlob("x", np.full(3, -1, np.float32))
        workspace.RunOperatorOnce(core.CreateOperator("Relu", ["x"], ["out"]))
        os._exit(workspace.FetchBlob("out").tolist() != [0, 0, 0])
    if os.waitpid(child, 0)[1] != 0:
        bad += 1
        break
stop.set()
for thread in threads:
    thread.join()
print("bad children:", bad)
"""


def test_a_forked_process_finds_no_lock_of_its_parents_threads():
    assert _lines(_FORKS) == ["bad children: 0"]


_SWITCHES = """
import threading
import numpy as np
from caffe2.python import core, workspace
big = np.arange(1000 * 1000, dtype=np.float32).reshape(1000, 1000)
values = [big.T, big[::2, ::2], big.astype(">f4"), "text", big[:3],
          np.array(["a", "b"] * 5000, object),
          workspace.Int8Tensor(np.zeros((900, 900), np.uint8), 0.5, 3)]
net = core.Net("copies")
net.Copy("x", "y")
stop = threading.Event()
rounds, errors = [0] * 6, []
def loop(number, function):
    try:
        while not stop.is_set():
            try:
                function(rounds[number])
            except RuntimeError:  # what is refused, or is not in the current workspace
                pass
            rounds[number] += 1
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=loop, args=task) for task in enumerate([
    lambda i: (workspace.SwitchWorkspace(["a", "b", "default"][i % 3], True), stop.wait(0.0003)),
    lambda i: (workspace.ResetWorkspace(), stop.wait(0.0005)),
    lambda i: workspace.FeedBlob("x", values[i % 7]),
    lambda i: workspace.FeedBlob("x", values[3 * i % 7]),
    lambda i: (workspace.RemoveBlob("x"), workspace.FetchBlob("x")),
    lambda i: workspace.RunNetOnce(net)])]
for thread in threads:
    thread.start()
stop.wait(8)
stop.set()
for thread in threads:
    thread.join()
print(all(rounds), errors)
"""


def test_threads_may_switch_and_reset_what_others_feed_and_run():
    assert _lines(_SWITCHES, "-X", "faulthandler") == ["True []"]
