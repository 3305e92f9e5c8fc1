"""Tests of checkpoint: jobs, and the blobs that they save and load."""

import numpy as np
import pytest

from caffe2.python import checkpoint, core, workspace
from caffe2.python.net_builder import ops
from caffe2.python.session import LocalSession
from caffe2.python.task import Node, Task, TaskGroup, WorkspaceType


def value(name):
    return workspace.FetchBlob(name)


def build_job(node=None):
    """A job of 4 epochs that adds 1 to "total" 3 times in each."""
    init = core.Net("init")
    one = init.ConstantFill([], "one", shape=[1], value=1.0)
    total = init.ConstantFill([], "total", shape=[1], value=0.0)
    epoch = core.Net("epoch")
    epoch.Add([total, one], [total])
    with checkpoint.Job() as job:
        with job.init_group, Node(node or "local"):
            Task(step=init)
        with Node(node or "local"):
            Task(step=core.execution_step("epoch", epoch, num_iter=3))
        checkpoint.epoch_limiter(job, 4)
    return job


@pytest.mark.parametrize("multi_node", [False, True])
def test_checkpoints_resume(multi_node, tmp_path):
    def manager():
        if multi_node:
            return checkpoint.MultiNodeCheckpointManager(str(tmp_path), "minidb")
        return checkpoint.CheckpointManager(str(tmp_path), "local", "minidb")

    job = build_job()
    job.compile(LocalSession)
    runner = checkpoint.JobRunner(job, manager())
    with LocalSession() as session:
        assert runner.train(session) == 4
    assert value("total") == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"local.{i}" for i in range(5)]

    for epoch in (1, 3):
        workspace.ResetWorkspace()
        job = build_job()
        job.compile(LocalSession)
        runner = checkpoint.JobRunner(job, manager(), resume_from_epoch=epoch)
        with LocalSession() as session:
            assert runner.train(session) == 4
        assert value("total") == 12


@pytest.mark.parametrize("saved_by_several", [False, True])
def test_managers_of_one_and_of_several_nodes_read_the_same_files(saved_by_several, tmp_path):
    def manager(multi_node):
        if multi_node:
            return checkpoint.MultiNodeCheckpointManager(str(tmp_path), "minidb")
        return checkpoint.CheckpointManager(str(tmp_path), "local", "minidb")

    checkpoint.JobRunner(build_job(), manager(saved_by_several)).train(LocalSession())
    for reader in (not saved_by_several, saved_by_several):
        for epoch in (1, 3):  # the reader of epoch 1 has written epoch 3
            workspace.ResetWorkspace()
            runner = checkpoint.JobRunner(build_job(), manager(reader), resume_from_epoch=epoch)
            assert runner.train(LocalSession()) == 4
            assert value("total") == 12
    workspace.RunOperatorOnce(core.CreateOperator(
        "Load", [], ["blob_names", "total"], db=str(tmp_path / "local.2"), db_type="minidb",
        absolute_path=True))
    assert {b"total", b"one"} <= set(value("blob_names")) and value("total") == 6


class Handler:
    """A metadata handler that notes its calls."""

    def __init__(self, last=None, accessible=True):
        self.last, self.accessible, self.calls = last, accessible, []

    def set_params(self, **kwargs):
        self.calls.append(("set_params", kwargs))

    def last_epoch(self, user_epoch):
        return self.last or user_epoch

    def cp_accessible(self, epoch):
        return self.accessible

    def write(self, epoch):
        self.calls.append(("write", epoch))

    def report(self, action, stats):
        self.calls.append((action, stats))


@pytest.mark.parametrize("multi_node", [False, True])
def test_metadata_handlers_are_told_where_and_how_long(multi_node, tmp_path):
    def train(handler):
        workspace.ResetWorkspace()
        place = (str(tmp_path),) if multi_node else (str(tmp_path), "local")
        make = (checkpoint.MultiNodeCheckpointManager if multi_node
                else checkpoint.CheckpointManager)
        manager = make(*place, "minidb", handler)
        runner = checkpoint.JobRunner(build_job(), manager)
        with LocalSession() as session:
            assert runner.train(session) == 4
        return manager

    handler = Handler()
    train(handler)
    names = [name for name, _ in handler.calls]
    assert names == ["set_params"] + ["write", "checkpoint_save"] * 5
    assert handler.calls[0][1] == {
        "db_prefix": str(tmp_path), "db_type": "minidb", "node_names": ["local"],
        "path_prefix": None, "path_type": None}
    for epoch, (_, stats) in enumerate(handler.calls[2::2]):
        assert list(stats) == [str(tmp_path / f"local.{epoch}")]
        assert 0 < stats[str(tmp_path / f"local.{epoch}")] < 60e9

    resumed = Handler(last=2)
    manager = train(resumed)
    assert [name for name, _ in resumed.calls] == [
        "set_params", "checkpoint_load", *["write", "checkpoint_save"] * 2]
    manager.set_params(["local"], path_prefix="s3:", path_type="minidb")
    manager.set_params(["local"])
    assert resumed.calls[-1][1]["path_prefix"] == "s3:"
    assert value("total") == 12


def test_nothing_is_saved_where_checkpoints_cannot_be_accessed(tmp_path, caplog):
    handler = Handler(accessible=False)
    manager = checkpoint.CheckpointManager(str(tmp_path), "local", "minidb", handler)
    stats = {}
    manager.collect_checkpoint_stats(stats)
    assert stats == {}
    assert checkpoint.JobRunner(build_job(), manager).train(LocalSession()) == 4
    assert not list(tmp_path.iterdir()) and "could not be accessed" in caplog.text
    assert [name for name, _ in handler.calls] == ["set_params"]
    with pytest.raises(ValueError, match="Checkpoint manager is None"):
        checkpoint.JobRunner(build_job()).save_checkpoints(1, LocalSession())


def test_a_resumed_job_is_not_initialized(tmp_path):
    initialized = []

    def job():
        made = build_job()
        with made.init_group, Task():
            ops.Python(lambda inputs, outputs: initialized.append(True))([], [])
        return made

    def manager():
        return checkpoint.CheckpointManager(str(tmp_path), "local", "minidb")

    checkpoint.JobRunner(job(), manager()).train(LocalSession())
    workspace.ResetWorkspace()
    checkpoint.JobRunner(job(), manager(), resume_from_epoch=3).train(LocalSession())
    assert len(initialized) == 1 and value("total") == 12


def test_a_path_prefix_is_for_one_load_only(tmp_path):
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    elsewhere.mkdir()
    here.mkdir()
    saved = checkpoint.MultiNodeCheckpointManager(str(elsewhere), "minidb")
    checkpoint.JobRunner(build_job(), saved).train(LocalSession())
    workspace.FeedBlob("total", np.float32([-1]))
    manager = checkpoint.MultiNodeCheckpointManager(str(here), "minidb")
    session = LocalSession()
    prefix = f"{elsewhere}/"
    manager.set_params(["local"], path_prefix=prefix)
    session.run(manager.init(["local"], retrieve_from_epoch=1, path_prefix=prefix))
    session.run(manager.load(1, path_prefix=prefix))
    assert value("total") == 3
    session.run(manager.save(7))
    assert [path.name for path in here.iterdir()] == ["local.7"]
    assert manager.get_ckpt_db_name("local", 7) == str(here / "local.7")


def test_blobs_of_an_epoch(tmp_path):
    manager = checkpoint.MultiNodeCheckpointManager(str(tmp_path), "minidb")
    runner = checkpoint.JobRunner(build_job(), manager)
    session = LocalSession()
    runner.train(session)
    assert manager.get_ckpt_db_name("local", 2) == str(tmp_path / "local.2")
    workspace.FeedBlob("total", np.float32([-1]))
    assert runner.load_blobs_from_checkpoints(["total"], 2, session)
    assert value("total") == 6
    assert not runner.load_blobs_from_checkpoints(["total"], 9, session)


def test_blobs_of_all_nodes_are_loaded_here(tmp_path):
    ran = []

    class Session(LocalSession):
        def run(self, runnable, *args, **kwargs):
            ran.append(runnable)
            super().run(runnable, *args, **kwargs)

    manager = checkpoint.MultiNodeCheckpointManager(str(tmp_path), "minidb")
    job = build_job()
    runner = checkpoint.JobRunner(job, manager, nodes_to_checkpoint=["a", "b"])
    assert runner.train(LocalSession()) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{node}.{epoch}" for node in "ab" for epoch in range(5)]
    workspace.FeedBlob("total", np.float32([-1]))
    assert runner.load_blobs_from_checkpoints(["total"], 3, Session())
    assert value("total") == 9
    assert [(type(task), task.node) for task in ran] == [(Task, "local")] * 4


def test_what_is_downloaded_comes_after_the_epochs():
    order = []

    def note(name):
        ops.Python(lambda inputs, outputs: order.append(name))([], [])

    with checkpoint.Job() as job:
        for name in ("init_group", "epoch_group", "download_group", "exit_group"):
            with getattr(job, name):
                with Task():
                    note(name)
    checkpoint.JobRunner(job)(LocalSession())
    assert order == ["init_group", "epoch_group", "download_group", "exit_group"]


def test_job_without_checkpoints_and_uploads(tmp_path):
    uploaded = []

    class Builder(checkpoint.UploadTaskGroupBuilder):
        def build(self, epoch, checkpoint_manager):
            uploaded.append(epoch)
            with TaskGroup(WorkspaceType.GLOBAL) as group:
                Task()
            return group

    assert checkpoint.JobRunner(build_job())(LocalSession()) == 4
    workspace.ResetWorkspace()
    manager = checkpoint.CheckpointManager(str(tmp_path), "local", "minidb")
    checkpoint.JobRunner(
        build_job(), manager, upload_task_group_builder=Builder()).train(LocalSession())
    assert uploaded == [4]
    assert checkpoint.db_name(3, "node", "/dir") == "/dir/node.3"
    assert checkpoint.db_name(3, "node", "/dir", path_prefix="s3:x_") == "s3:x_node.3"
