"""Finds the place of this process among the shards that train together, from the launcher that
started it; part of data_parallel_model."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from caffe2.python import _import_c_extension as C
from caffe2.python._core.net import Net

log = logging.getLogger("data_parallel_model")

_DEFAULT_JOIN_TIMEOUT_SEC = 300
# The library names the flags of the programs, which are the arguments here.
_FLAG = re.compile(r"--(?=(num_shards|shard_id|run_id|init_method|redis_host)\b)")


def _call(function, *args):
    try:
        return function(*args)
    except ValueError as error:
        raise ValueError(_FLAG.sub("", str(error))) from None


def RendezvousFromEnvironment(
    num_shards: int | None = None,
    shard_id: int | None = None,
    run_id: str | None = None,
    init_method: str | None = None,
    redis_host: str | None = None,
    redis_port: int = 6379,
    file_store_path: str = "/tmp",
    engine: str = "GLOO",
    transport: str = "auto",
    interface: str = "",
    port_range: str = "",
    exit_nets: Sequence[Net] | None = None,
    kv_handler: str = "store_handler",
    timeout_sec: float = _DEFAULT_JOIN_TIMEOUT_SEC,
) -> dict[str, Any]:
    """The `rendezvous` of Parallelize for a process that a launcher has started.

    torchrun (env://), mpirun of Open MPI and MPICH, srun, horovodrun, TF_CONFIG, MXNet's launch.py
    and indexed Jobs of Kubernetes tell each process its place in environment variables;
    docs/launchers.md lists them. The arguments take precedence.

    Args:
      num_shards, shard_id: the place of this process. If both are given, the variables are not
        read. If only one is given, it must agree with the launcher.
      run_id: name of the run, the same on all shards; most launchers give one.
      init_method: where the shards meet: "tcp://host:port" (shard 0 runs a store there),
        "redis://[:password@]host[:port][/db]", "file:///directory", or "env://" (the launcher's
        variables, which must then be set).
      redis_host, redis_port: a Redis server to meet at, instead of init_method. Passwords, also
        for tcp://, are read from the file that CAFFE2_REDIS_PASSWORD_FILE names, or from
        REDISCLI_AUTH.
      file_store_path: the directory where the shards meet if they are all on one host, or have
        num_shards and shard_id, and nothing names another place. All shards must be able to access
        it.
      engine, transport, interface, port_range, exit_nets: as Parallelize takes them.
      kv_handler: the blob that gets the store, in the current workspace.
      timeout_sec: how long to wait for the store and for the other shards.

    Returns a dict with the keys that Parallelize reads, and run_id, local_rank and local_size
    (the place among the shards of this host; local_size is 0 if the launcher does not tell). For a
    single process, num_shards is 1 and there is no store.

    A process that does not train, such as MXNet's scheduler and servers, does its work in this
    call, which then raises SystemExit. Raises ValueError if variables or arguments are wrong,
    missing or contradict each other: such a process must not train alone.
    """
    launch = _call(
        C.resolve_launch,
        num_shards,
        shard_id,
        run_id or "",
        init_method or "",
        redis_host or "",
        redis_port,
        file_store_path,
        timeout_sec,
    )
    if launch.describe():
        log.info(launch.describe())
    if not launch.trains:
        sys.exit(launch.serve())
    if launch.num_shards > 1:
        launch.make_store(kv_handler)
    return {
        "kv_handler": kv_handler if launch.num_shards > 1 else None,
        "num_shards": launch.num_shards,
        "shard_id": launch.shard_id,
        "run_id": launch.run_id,
        "local_rank": launch.local_rank,
        "local_size": launch.local_size,
        "engine": engine,
        "transport": transport,
        "interface": interface,
        "port_range": port_range,
        "exit_nets": exit_nets,
    }


def complete_rendezvous(rendezvous: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The complete rendezvous of a model that trains.

    Caffe2's trainers ask for mpi_rendezvous if mpirun has started them; then the variables of
    mpirun say where the shards meet. Raises ValueError if a process would train alone that a
    launcher has started as one of several."""
    if rendezvous is None:
        _check_alone()
    elif rendezvous.get("mpi_rendezvous") and not rendezvous.get("kv_handler"):
        return _mpi_rendezvous(rendezvous)
    return rendezvous


def _mpi_rendezvous(rendezvous):
    names = {"engine", "transport", "interface", "port_range", "exit_nets"} & set(rendezvous)
    found = RendezvousFromEnvironment(**{name: rendezvous[name] for name in names})
    for name in ("num_shards", "shard_id"):
        if rendezvous[name] != found[name]:
            raise ValueError(
                f"the rendezvous has {name} {rendezvous[name]}, but the environment "
                f"says {found[name]}"
            )
    return found


def _check_alone():
    shards, launch = _call(C.launched_shards)
    if shards > 1:
        raise ValueError(
            f"{launch}; but this model has no rendezvous, so that each shard would train alone: "
            "pass rendezvous=data_parallel_model.RendezvousFromEnvironment(), or "
            "RendezvousFromEnvironment(num_shards=1, shard_id=0) to train alone"
        )
