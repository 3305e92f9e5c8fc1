"""Sessions, which run tasks and groups of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from caffe2.python import core, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.task import _NO_GROUP, Cluster, Task, TaskGroup, WorkspaceType

_Self = TypeVar("_Self", bound="Session")


class CompiledRunnable:
    """The result of Session.compile for a task or group: `obj`, for sessions of `session_class`."""

    def __init__(self, obj: Any, session_class: type[Session]) -> None:
        self.obj = obj
        self.session_class = session_class


class Session:
    """Base of the sessions, which run tasks: ``session.run(task_or_group)``.

    Subclasses define _compile_task_group and _run_compiled. After close(), nothing runs any more.
    """

    def __init__(self) -> None:
        self._open = True

    def is_open(self) -> bool:
        """False after close()."""
        return self._open

    @classmethod
    def compile(cls, runnable: Any, workspace_type: str | None = None,
                setup_net_list: Sequence[core.Net] | None = None) -> CompiledRunnable:
        """The CompiledRunnable of a Task, TaskGroup, net, step, plan (whose steps run in sequence),
        list of nets or steps, or CompiledRunnable. `setup_net_list` are nets that run before it.

        Raises ValueError if it has another workspace type or was compiled for other sessions,
        TypeError for an object that cannot run.
        """
        if isinstance(runnable, CompiledRunnable):
            if runnable.session_class is not cls:
                raise ValueError("Runnable was compiled for different session type. Need: "
                                 f"{cls.__name__}, got: {runnable.session_class.__name__}")
            return runnable
        if isinstance(runnable, TaskGroup):
            group = runnable
            if workspace_type and group.workspace_type() not in (None, workspace_type):
                raise ValueError(f"the workspace of the group is {group.workspace_type()}, not "
                                 f"{workspace_type}")
            if group._workspace_type is None:
                group._workspace_type = workspace_type
        else:
            group = TaskGroup(workspace_type or WorkspaceType.GLOBAL)
            task = runnable
            if not isinstance(task, Task):
                steps = runnable.Steps() if isinstance(runnable, core.Plan) else runnable
                task = Task(step=core.to_execution_step(steps), group=_NO_GROUP)
            group.add(task)
        return CompiledRunnable(cls._compile_task_group(group, setup_net_list), cls)

    @classmethod
    def _compile_task_group(cls, group: TaskGroup,
                            setup_net_list: Sequence[core.Net] | None) -> Any:
        """What _run_compiled takes."""
        raise NotImplementedError(f"{cls.__name__} does not compile task groups")

    def _run_compiled(self, compiled: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not run task groups")

    def run(self, runnable: Any, workspace_type: str | None = None,
            setup_net_list: Sequence[core.Net] | None = None) -> None:
        """Runs `runnable`, which may be anything that compile takes, and keeps what compile returns
        for the next time.

        Raises RuntimeError if the session is closed or the plan fails, and the errors of compile.
        """
        if not self.is_open():
            raise RuntimeError("Session is closed.")
        if runnable is None:
            raise TypeError("there is nothing to run: None")
        slot = f"_compiled_for_{type(self).__name__}"
        compiled = getattr(runnable, slot, None)
        if compiled is None:
            compiled = self.compile(runnable, workspace_type, setup_net_list)
            if hasattr(runnable, "__dict__"):  # a list has none
                setattr(runnable, slot, compiled)
        self._run_compiled(compiled.obj)

    def fetch_output(self, output: BlobLike) -> Any:
        """The value of an output blob of a task that ran; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not fetch outputs")

    def close(self) -> None:
        """Ends the session: nothing runs in it any more."""
        if self.is_open():
            self._do_close()
            self._open = False

    def _do_close(self):
        """Releases what the session holds."""

    def __enter__(self: _Self) -> _Self:
        if not self._open:
            raise RuntimeError("Session already closed.")
        return self

    def __exit__(self, error_type: type[BaseException] | None, value: Any, traceback: Any) -> None:
        if error_type is None:
            self.close()


class LocalSession(Session):
    """Runs the tasks of all nodes at once in this process, in a workspace (default: the current
    one). Groups of the type WorkspaceType.PRIVATE run in a child of it, which sees its blobs but
    keeps new ones to itself, apart from outputs."""

    def __init__(self, ws: workspace.C.Workspace | None = None) -> None:
        Session.__init__(self)
        self._ws = ws or workspace.C.Workspace.current

    @classmethod
    def _compile_task_group(cls, group, setup_net_list):
        if group.remote_nets():
            raise ValueError(
                f"a LocalSession has no hosts for the remote nets {group.remote_nets()}")
        with Cluster():
            task = group.to_task()
        plan = core.Plan("task_group_plan")
        if setup_net_list:
            plan.AddStep(core.execution_step("setup", setup_net_list))
        plan.AddStep(task.get_step())
        return plan, task.output_list(), task.workspace_type()

    def _run_compiled(self, compiled):
        plan, output_list, workspace_type = compiled
        outputs = [core.BlobReference(str(name)) for name in output_list.names()]
        for name in outputs:
            self._ws.create_blob(str(name))  # here, not in the child
        output_list.set_values(outputs, _fetch_func=self.fetch_output)
        if workspace_type == WorkspaceType.PRIVATE:
            workspace.C.Workspace(self._ws).run(plan)
        else:
            self._ws.run(plan)

    def fetch_output(self, output: BlobLike) -> Any:
        """The value of a blob of the session's workspace, as FetchBlob."""
        return self._ws.fetch_blob(str(output))
