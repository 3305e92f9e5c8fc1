"""Trainings as jobs, which save their blobs after each epoch and can resume from there.

A Job has groups of tasks: to initialize, for one epoch, and to end. A JobRunner runs them in a
session; a checkpoint manager saves and loads the blobs of the session's workspace.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from caffe2.python import _import_c_extension as C
from caffe2.python import context, core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.net_builder import ops
from caffe2.python.session import Session
from caffe2.python.task import Node, Task, TaskGroup, TaskOutput, WorkspaceType

logger = logging.getLogger(__name__)


class Job(context.Managed):
    """A training. Within ``with Job() as job:`` new tasks belong to `epoch_group`; within
    ``with job.init_group:`` to the init_group, and so on.

    Args:
      init_group: tasks that make the parameters, in the session's own workspace.
      epoch_group: tasks of one epoch.
      download_group: tasks that run after the last epoch, before the exit_group.
      exit_group: tasks that run last.
      stop_conditions: TaskOutputs: the training ends after the epoch in which one of them is true.
      nodes_to_checkpoint: names of the nodes whose blobs are saved; default: the nodes of
        init_group.
    """

    def __init__(self, init_group: TaskGroup | None = None, epoch_group: TaskGroup | None = None,
                 download_group: TaskGroup | None = None, exit_group: TaskGroup | None = None,
                 stop_conditions: list[TaskOutput] | None = None,
                 nodes_to_checkpoint: Sequence[str] | None = None) -> None:
        self.init_group: Any = init_group or TaskGroup(workspace_type=WorkspaceType.GLOBAL)
        self.epoch_group: Any = epoch_group or TaskGroup()
        self.download_group: Any = download_group or TaskGroup()
        self.exit_group: Any = exit_group or TaskGroup()
        self.stop_conditions = stop_conditions or []
        self._nodes_to_checkpoint = nodes_to_checkpoint

    def nodes_to_checkpoint(self) -> Sequence[str]:
        """The names of the nodes whose blobs are saved."""
        return self._nodes_to_checkpoint or self.init_group.used_nodes()

    def compile(self, session_class: type[Session]) -> None:
        """Compiles all groups for sessions of one class, in place."""
        self._nodes_to_checkpoint = self.nodes_to_checkpoint()
        self.init_group = session_class.compile(self.init_group)
        self.epoch_group = session_class.compile(self.epoch_group)
        self.download_group = session_class.compile(self.download_group)
        self.exit_group = session_class.compile(self.exit_group)

    def __enter__(self) -> Job:
        self.epoch_group.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.epoch_group.__exit__(*error)

    def add_stop_condition(self, output: core.BlobReference | TaskOutput) -> None:
        """Adds a bool blob, or TaskOutput: true ends the training. Blobs need a current Task."""
        if isinstance(output, core.BlobReference):
            output = Task(outputs=[output], group=self.epoch_group).outputs()[0]
        if not isinstance(output, TaskOutput):
            raise TypeError(f"a stop condition is a blob or a TaskOutput, not {output!r}")
        self.stop_conditions.append(output)


def get_ckpt_filename(node_name: str, epoch: int) -> str:
    """The name of the file of one node and epoch: "<node>.<epoch>"."""
    return f"{node_name}.{epoch}"


def db_name(epoch: int, node_name: str, db_prefix: str, path_prefix: str | None = None) -> str:
    """The path of the checkpoint of one node and epoch: a file in the directory `db_prefix`, or, if
    `path_prefix` is given, the string `path_prefix` followed by the name of the file."""
    filename = get_ckpt_filename(node_name, epoch)
    return path_prefix + filename if path_prefix else os.path.join(db_prefix, filename)


class _Metadata:
    """Reports checkpoints to a metadata handler, if there is one."""

    def __init__(self, db_prefix: str, db_type: str, metadata_handler: Any) -> None:
        self._db_prefix = db_prefix
        self._db_type = db_type
        self._metadata_handler = metadata_handler
        self._path_prefix: str | None = None
        self._path_type: str | None = None

    def report_checkpoint_stats(self, action_name: str) -> None:
        """Reports the times of collect_checkpoint_stats to the handler."""
        stats: dict[str, int] = {}
        self.collect_checkpoint_stats(stats)
        if self._metadata_handler is not None:
            self._metadata_handler.report(action_name, stats)

    def collect_checkpoint_stats(self, stats: dict[str, int]) -> None:
        """Adds {path of a database: nanoseconds of the last action on it} to a dict."""
        raise NotImplementedError(f"{type(self).__name__} defines no collect_checkpoint_stats")

    def write_checkpoint_metadata(self, epoch: int) -> None:
        """Reports that an epoch was saved."""
        if self._metadata_handler is not None:
            self._metadata_handler.write(epoch=epoch)

    def get_resume_from_epoch_id(self, user_epoch: int | None = None) -> int | None:
        """The epoch to resume from: the handler's, or without a handler `user_epoch`."""
        if self._metadata_handler is None:
            return user_epoch
        return self._metadata_handler.last_epoch(user_epoch=user_epoch)

    def cp_accessible(self, epoch: int | None = None) -> bool:
        """True unless the handler says that checkpoints cannot be read and written."""
        if self._metadata_handler is None:
            return True
        return self._metadata_handler.cp_accessible(epoch)

    def set_params(self, nodes: Sequence[Node | str], path_prefix: str | None = None,
                   path_type: str | None = None) -> None:
        """Tells the handler where the checkpoints of some nodes are. A `path_prefix` or `path_type`
        of None means the one of an earlier call."""
        self._path_prefix = path_prefix or self._path_prefix
        self._path_type = path_type or self._path_type
        if self._metadata_handler is not None:
            self._metadata_handler.set_params(
                db_prefix=self._db_prefix, db_type=self._db_type,
                node_names=[str(node) for node in nodes], path_prefix=self._path_prefix,
                path_type=self._path_type)


class CheckpointManager(_Metadata):
    """Saves and loads the blobs of one node; the methods return Tasks that do the work.

    Args:
      db_prefix: directory of the checkpoints.
      node_name: the node.
      db_type: type of the databases, for instance "minidb".
      metadata_handler: None, or an object with set_params, last_epoch, cp_accessible, write and
        report that keeps track of checkpoints.
    """

    BLOB_NAMES = "blob_names"

    def __init__(self, db_prefix: str, node_name: str, db_type: str,
                 metadata_handler: Any = None) -> None:
        super().__init__(db_prefix, db_type, metadata_handler)
        self._node_name = node_name
        # Holds the names of the blobs after initialization; saved with them as BLOB_NAMES.
        self._blob_names = core.BlobReference(self.BLOB_NAMES)
        self._names_output: TaskOutput | None = None
        # (database, output of nanoseconds) of the last task of load or save.
        self._last_action: tuple[str, TaskOutput] | None = None

    def _database(self, epoch, path_prefix=None, path_type=None):
        """The arguments of Load and Save."""
        return {"db": db_name(epoch, self._node_name, self._db_prefix, path_prefix),
                "db_type": path_type or self._db_type, "absolute_path": True}

    @contextmanager
    def _timed_task(self, name, database):
        """A Task whose time is measured; within the block, operators on a database are added to
        it."""
        # Tensors, because another manager of the same workspace cannot save timers.
        begin, end = (core.BlobReference(f"{self._node_name}/{name}_{edge}")
                      for edge in ("begin", "nanoseconds"))
        with Task(name=name) as task:
            ops.WallClockTime([], begin)
            yield task
            ops.WallClockTime([], end)
            self._last_action = database["db"], task.add_output(ops.Sub([end, begin], end))

    def collect_checkpoint_stats(self, stats: dict[str, int]) -> None:
        """Adds {path of the database: nanoseconds} of the last task of load or save to a dict."""
        if self._last_action is None:
            logger.info("nothing was loaded or saved on %s yet", self._node_name)
            return
        database, nanoseconds = self._last_action
        stats[database] = int(nanoseconds.fetch())

    def init(self, nodes: Sequence[Node | str] | None = None,
             retrieve_from_epoch: int | None = None, path_prefix: str | None = None,
             path_type: str | None = None) -> Task:
        """Reads the names of the blobs to save: the present blobs, or the blobs of a saved epoch.

        Raises ValueError for several nodes.
        """
        if nodes is not None and len(nodes) != 1:
            raise ValueError(f"CheckpointManager only supports single node, not {nodes}; see "
                             "MultiNodeCheckpointManager")
        with Task(outputs=[self._blob_names]) as task:
            if retrieve_from_epoch is None:
                ops.GetAllBlobNames([], self._blob_names, include_shared=False)
            else:
                ops.Load([], self._blob_names, keep_device=True,
                         source_blob_names=[self.BLOB_NAMES],
                         **self._database(retrieve_from_epoch, path_prefix, path_type))
        self._names_output = task.outputs()[0]
        return task

    def blob_list(self) -> list[str]:
        """The names of the blobs that are saved. Raises ValueError before init ran."""
        if self._names_output is None:
            raise ValueError("the checkpoint manager is not initialized")
        return [name.decode() if isinstance(name, bytes) else str(name)
                for name in self._names_output.fetch().tolist()]

    def load(self, epoch: int, path_prefix: str | None = None,
             path_type: str | None = None) -> Task:
        """Loads all blobs of an epoch."""
        database = self._database(epoch, path_prefix, path_type)
        with self._timed_task("checkpoint_load", database) as task:
            ops.Load([], [core.BlobReference(name) for name in self.blob_list()],
                     keep_device=True, **database)
        return task

    def load_blobs_from_checkpoint(self, blob_names: Sequence[BlobLike], epoch: int) -> Task:
        """Loads some blobs of an epoch; blobs that the checkpoint lacks do not change."""
        database = self._database(epoch)
        with self._timed_task("checkpoint_partial_load", database) as task:
            ops.Load([], [core.BlobReference(str(name)) for name in blob_names],
                     allow_incomplete=True, **database)
        return task

    def check_db_exists(self, epoch: int) -> Task:
        """Checks whether an epoch was saved: the output of the task is a bool."""
        with Task() as task:
            database = self._database(epoch)
            exists = ops.DBExists([], core.BlobReference(f"{self._node_name}/db_exists"),
                                  db_name=database["db"], db_type=database["db_type"],
                                  absolute_path=True)
            task.add_output(exists)
        return task

    def save(self, epoch: int) -> Task:
        """Saves all blobs."""
        logger.info("Saving checkpoint of epoch %s of %s", epoch, self._node_name)
        database = self._database(epoch)
        blobs = {name: core.BlobReference(name) for name in self.blob_list()}
        blobs[self.BLOB_NAMES] = self._blob_names
        with self._timed_task("checkpoint_save", database) as task:
            ops.Save(list(blobs.values()), [], blob_name_overrides=list(blobs), **database)
        return task

    def set_params(self, nodes: Sequence[Node | str], path_prefix: str | None = None,
                   path_type: str | None = None) -> None:
        """Tells the metadata handler where the checkpoints of the manager's one node are; `nodes`
        is ignored."""
        super().set_params([self._node_name], path_prefix, path_type)


class MultiNodeCheckpointManager(_Metadata):
    """Saves and loads the blobs of several nodes, each in a file of its own; methods give groups of
    tasks. See CheckpointManager."""

    def __init__(self, db_prefix: str, db_type: str, metadata_handler: Any = None) -> None:
        super().__init__(db_prefix, db_type, metadata_handler)
        self._node_managers: list[tuple[str, CheckpointManager]] | None = None

    def _make_managers(self, nodes: Sequence[Node | str]) -> list[tuple[str, CheckpointManager]]:
        """Pairs (node, its manager). Raises ValueError if other nodes were named before."""
        names = [str(node) for node in nodes]
        if self._node_managers is None:
            self._node_managers = [
                (name, CheckpointManager(self._db_prefix, name, self._db_type)) for name in names]
            for _, manager in self._node_managers:
                # All nodes of a LocalSession share one workspace.
                manager._blob_names = core.BlobReference(
                    f"{manager._node_name}/{CheckpointManager.BLOB_NAMES}")
        elif [name for name, _ in self._node_managers] != names:
            raise ValueError(f"the nodes were {[name for name, _ in self._node_managers]} before, "
                             f"now they are {names}")
        return self._node_managers

    def _task_group(self, function, *args, **kwargs):
        if self._node_managers is None:
            raise ValueError("init must be called previously.")
        with TaskGroup(WorkspaceType.GLOBAL) as group:
            for name, manager in self._node_managers:
                with Node(name):
                    function(manager, *args, **kwargs)
        return group

    def init(self, nodes: Sequence[Node | str], retrieve_from_epoch: int | None = None,
             path_prefix: str | None = None, path_type: str | None = None) -> TaskGroup:
        """CheckpointManager.init on all nodes: a TaskGroup."""
        self._make_managers(nodes)
        return self._task_group(CheckpointManager.init, nodes=None,
                                retrieve_from_epoch=retrieve_from_epoch, path_prefix=path_prefix,
                                path_type=path_type)

    def load(self, epoch: int, path_prefix: str | None = None,
             path_type: str | None = None) -> TaskGroup:
        """CheckpointManager.load on all nodes: a TaskGroup."""
        return self._task_group(CheckpointManager.load, epoch, path_prefix, path_type)

    def load_blobs_locally(self, nodes: Sequence[Node | str], blob_names: Sequence[BlobLike],
                           epoch: int, session: Session) -> bool:
        """Loads some blobs of all nodes into this session, whichever node saved them.

        Returns whether all checkpoints exist; nothing is loaded if not.
        """
        managers = self._make_managers(nodes)
        for _, manager in managers:
            check = manager.check_db_exists(epoch)
            session.run(check)
            if not check.outputs()[0].fetch():
                logger.error("there is no checkpoint %s", manager._database(epoch)["db"])
                return False
        for _, manager in managers:
            session.run(manager.load_blobs_from_checkpoint(blob_names, epoch))
        return True

    def get_ckpt_db_name(self, node_name: Node | str, epoch: int) -> str:
        """The path of a node's checkpoint. Raises ValueError for an unknown node."""
        for name, manager in self._node_managers or ():
            if name == str(node_name):
                return manager._database(epoch)["db"]
        raise ValueError(f"there is no node {node_name}")

    def save(self, epoch: int) -> TaskGroup:
        """CheckpointManager.save on all nodes: a TaskGroup."""
        return self._task_group(CheckpointManager.save, epoch)

    def collect_checkpoint_stats(self, stats: dict[str, int]) -> None:
        """CheckpointManager.collect_checkpoint_stats of all nodes."""
        for _, manager in self._node_managers or ():
            manager.collect_checkpoint_stats(stats)


class UploadTaskGroupBuilder:
    """Makes the tasks that upload a checkpoint."""

    def build(self, epoch: int,
              checkpoint_manager: CheckpointManager | MultiNodeCheckpointManager | None
              ) -> TaskGroup:
        """Returns a TaskGroup."""
        raise NotImplementedError("an UploadTaskGroupBuilder defines build")


class JobRunner:
    """Runs a job.

    Args:
      checkpoint_manager: saves the blobs after initialization and each epoch; None saves nothing.
      resume_from_epoch: the epoch to load instead of running the job's init_group; None: start
        from the init_group. A metadata handler may give another epoch.
      upload_task_group_builder: its tasks run after the last epoch.
      nodes_to_checkpoint: default: the job's.
    """

    def __init__(self, job: Job,
                 checkpoint_manager: CheckpointManager | MultiNodeCheckpointManager | None = None,
                 resume_from_epoch: int | None = None,
                 upload_task_group_builder: UploadTaskGroupBuilder | None = None,
                 nodes_to_checkpoint: Sequence[str] | None = None) -> None:
        self.job = job
        self.checkpoint_manager = checkpoint_manager
        self.resume_from_epoch = resume_from_epoch
        self.upload_task_group_builder = upload_task_group_builder
        self.nodes_to_checkpoint = nodes_to_checkpoint

    def _nodes(self):
        return self.nodes_to_checkpoint or self.job.nodes_to_checkpoint()

    def train(self, session: Session) -> int:
        """Runs the job until a stop condition is true, or one epoch without stop conditions.
        Returns the number of the last epoch, from 1."""
        self._prepare(session)
        epoch = 1 if self.resume_from_epoch is None else self.resume_from_epoch + 1
        while True:
            logger.info("Starting epoch %s", epoch)
            session.run(self.job.epoch_group)
            stop = any(bool(output.fetch()) for output in self.job.stop_conditions)
            if self.checkpoint_manager is not None:
                self.save_checkpoints(epoch, session)
            if stop or not self.job.stop_conditions:
                break
            epoch += 1
        logger.info("Stopped after epoch %s", epoch)
        if self.upload_task_group_builder is not None:
            session.run(self.upload_task_group_builder.build(epoch, self.checkpoint_manager))
        session.run(self.job.download_group)
        session.run(self.job.exit_group)
        return epoch

    __call__ = train

    def _prepare(self, session):
        manager = self.checkpoint_manager
        if manager is not None:
            manager.set_params(nodes=self._nodes())
            self.resume_from_epoch = manager.get_resume_from_epoch_id(self.resume_from_epoch)
        if self.resume_from_epoch is None:
            session.run(self.job.init_group)
        if manager is None:
            return
        session.run(manager.init(self._nodes(), retrieve_from_epoch=self.resume_from_epoch))
        if self.resume_from_epoch is None:
            self.save_checkpoints(0, session)
        else:
            session.run(manager.load(self.resume_from_epoch))
            manager.report_checkpoint_stats("checkpoint_load")

    def _require_manager(self):
        if self.checkpoint_manager is None:
            raise ValueError("Checkpoint manager is None")
        return self.checkpoint_manager

    def load_blobs_from_checkpoints(self, blob_names: Sequence[BlobLike], epoch: int,
                                    session: Session) -> bool:
        """Loads some blobs of an epoch. Returns False if it was not saved completely."""
        manager = self._require_manager()
        loaded = manager.load_blobs_locally(self._nodes(), blob_names, epoch, session)
        manager.report_checkpoint_stats("checkpoint_partial_load")
        return loaded

    def save_checkpoints(self, epoch: int, session: Session) -> None:
        """Saves all blobs, unless the metadata handler says that checkpoints cannot be accessed. A
        failure is logged, and the training continues."""
        manager = self._require_manager()
        C.show_progress_state("saving")
        try:
            if not manager.cp_accessible(epoch=None):
                logger.warning("the checkpoint of epoch %s was not saved: the metadata handler "
                               "says that it could not be accessed", epoch)
                return
            session.run(manager.save(epoch))
            manager.write_checkpoint_metadata(epoch)
            manager.report_checkpoint_stats("checkpoint_save")
        except Exception as error:  # also what an operator written in Python raises
            logger.error("the checkpoint of epoch %s was not saved: %s", epoch, error)


def epoch_limiter(job: Job, num_epochs: int) -> None:
    """Ends a job after `num_epochs` epochs. The counter is saved with the blobs."""
    with job.init_group:
        init_net = core.Net("epoch_counter_init")
        counter = init_net.CreateCounter(
            [], core.BlobReference("epoch_counter"), init_count=num_epochs - 1)
        Task(step=init_net)
    with job.epoch_group:
        finish_net = core.Net("epoch_counter_finish")
        finished = finish_net.CountDown(counter)
        output = Task(step=finish_net, outputs=finished).outputs()[0]
    job.add_stop_condition(output)
