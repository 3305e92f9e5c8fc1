"""How launchers describe two shards on this host: the environment variables of each shard."""

import contextlib
import json
import os
import random
import socket

# Every variable that a launcher sets; a test may itself have been started by one.
_PREFIXES = ("DMLC_", "HOROVOD_", "OMPI_", "PMI", "SLURM_", "TORCHELASTIC_", "MPI_LOCAL",
             "MASTER_", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK", "WORLD_SIZE", "TF_CONFIG",
             "JOB_COMPLETION_INDEX", "REDISCLI_AUTH", "CAFFE2_REDIS_PASSWORD_FILE")


def clean_environment(**variables):
    """This process's environment without the variables of launchers, and with `variables`."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(_PREFIXES)}
    return {**environment, **{name: str(value) for name, value in variables.items()}}


def free_port():
    """A port of the loopback address that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def listening_port():
    """A port on which somebody listens, as launchers do on the one that they name."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def _torchrun(port, **variables):
    return [{"RANK": i, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
             **variables} for i in range(2)]


def _slurm():
    job = random.randrange(10**6)
    return [{"SLURM_JOB_ID": job, "SLURM_STEP_ID": 0, "SLURM_PROCID": i, "SLURM_NTASKS": 2,
             "SLURM_STEP_NUM_TASKS": 2, "SLURM_LOCALID": i, "SLURM_NODEID": 0,
             "SLURM_STEP_TASKS_PER_NODE": "2", "SLURM_STEP_NODELIST": "localhost",
             "SLURM_JOB_NODELIST": "localhost"} for i in range(2)]


def _open_mpi(local_size):
    job = str(random.randrange(2**32))
    return [{"OMPI_COMM_WORLD_RANK": i, "OMPI_COMM_WORLD_SIZE": 2,
             "OMPI_COMM_WORLD_LOCAL_RANK": i if local_size == 2 else 0,
             "OMPI_COMM_WORLD_LOCAL_SIZE": local_size, "OMPI_MCA_ess_base_jobid": job,
             "OMPI_MCA_orte_hnp_uri": f"{job}.0;tcp://127.0.0.1,192.0.2.1:40123;tcp6://[::1]:1"}
            for i in range(2)]


def _tf_config(cluster):
    tasks = [(kind, index) for kind in ("chief", "worker")
             for index in range(len(cluster.get(kind, [])))]
    return [{"TF_CONFIG": json.dumps(
        {"cluster": cluster, "task": {"type": kind, "index": index}})} for kind, index in tasks]


def mxnet(port, worker_ids):
    """The variables of a scheduler, a server and two workers, in this order."""
    shared = {"DMLC_NUM_WORKER": 2, "DMLC_NUM_SERVER": 1, "DMLC_PS_ROOT_URI": "127.0.0.1",
              "DMLC_PS_ROOT_PORT": port}
    workers = [{"DMLC_ROLE": "worker", **({"DMLC_WORKER_ID": i} if worker_ids else {})}
               for i in range(2)]
    return [{**shared, **role}
            for role in ({"DMLC_ROLE": "scheduler"}, {"DMLC_ROLE": "server"}, *workers)]


def _addresses(count):
    return [f"127.0.0.1:{free_port()}" for _ in range(count)]


@contextlib.contextmanager
def _busy(make):
    with listening_port() as port:
        yield make(port)


# name -> (context of the variables of each shard, how the log's line about them begins)
DIALECTS = {
    "env": (lambda: contextlib.nullcontext(_torchrun(free_port())), "torchrun: shard"),
    "torchrun": (lambda: _busy(lambda port: [
        {**shard, "LOCAL_RANK": i, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RESTART_COUNT": 0}
        for i, shard in enumerate(_torchrun(
            port, TORCHELASTIC_RUN_ID="none", TORCHELASTIC_USE_AGENT_STORE="True"))]),
        "torchrun: shard"),
    "slurm": (lambda: contextlib.nullcontext(_slurm()), "Slurm: shard"),
    "open_mpi_one_host": (lambda: contextlib.nullcontext(_open_mpi(2)), "mpirun: shard"),
    "open_mpi_two_hosts": (lambda: contextlib.nullcontext(_open_mpi(1)), "mpirun: shard"),
    "hydra": (lambda: contextlib.nullcontext([
        {"PMI_RANK": i, "PMI_SIZE": 2, "MPI_LOCALRANKID": i, "MPI_LOCALNRANKS": 2,
         "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for port in [free_port()] for i in range(2)]), "mpirun: shard"),
    "horovod": (lambda: _busy(lambda port: [
        {"HOROVOD_RANK": i, "HOROVOD_SIZE": 2, "HOROVOD_LOCAL_RANK": i, "HOROVOD_LOCAL_SIZE": 2,
         "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1", "HOROVOD_GLOO_RENDEZVOUS_PORT": port}
        for i in range(2)]), "Horovod: shard"),
    "tf_workers": (lambda: contextlib.nullcontext(_tf_config({"worker": _addresses(2)})),
                   "TF_CONFIG: shard"),
    "tf_chief": (lambda: contextlib.nullcontext(
        _tf_config({"chief": _addresses(1), "worker": _addresses(1)})), "TF_CONFIG: shard"),
    "kubernetes": (lambda: contextlib.nullcontext([
        {"JOB_COMPLETION_INDEX": i, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1",
         "MASTER_PORT": port} for port in [free_port()] for i in range(2)]), "Kubernetes: shard"),
}
