"""Stands in for torchrun, mpirun, srun, sbatch and ssh where these are not installed.

    launcher_stand_ins.py LAUNCHER ARGUMENTS...

It starts processes on this host with the variables that the launcher would set, waits for them, and
ends as the first one that failed. It takes the options that the documents show, and no others.
"""

import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

from launcher_dialects import clean_environment, listening_port


def _wait(commands):
    """Runs (words, variables) of all processes together, and passes signals on to them."""
    processes = [subprocess.Popen(words, env=clean_environment(**variables))
                 for words, variables in commands]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda sent, _: [each.send_signal(sent) for each in processes])
    return next((status for status in [process.wait() for process in processes] if status), 0)


def _torchrun(words):
    options = argparse.ArgumentParser("torchrun")
    options.add_argument("--nproc_per_node", type=int, required=True)
    options.add_argument("--nnodes", type=int, default=1)
    options.add_argument("--no_python", action="store_true", required=True)
    options.add_argument("--rdzv_backend", choices=["c10d"])
    options.add_argument("--rdzv_endpoint", default="127.0.0.1:29500")
    options.add_argument("command", nargs=argparse.REMAINDER)
    flags = options.parse_args(words)
    address, port = flags.rdzv_endpoint.split(":")
    node, local = int(os.environ.get("NODE", 0)), flags.nproc_per_node
    with listening_port() as own_port:
        # Nodes that meet at an endpoint agree on the port of one of them.
        common = {"MASTER_ADDR": address, "WORLD_SIZE": local * flags.nnodes,
                  "MASTER_PORT": own_port if flags.nnodes == 1 else int(port) + 1,
                  "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": 0,
                  "LOCAL_WORLD_SIZE": local}
        if flags.nnodes == 1:
            common["TORCHELASTIC_USE_AGENT_STORE"] = "True"
        return _wait([(flags.command, {**common, "RANK": node * local + i, "LOCAL_RANK": i})
                      for i in range(local)])


def _mpirun(words):
    options = argparse.ArgumentParser("mpirun")
    options.add_argument("-n", type=int, required=True)
    options.add_argument("command", nargs=argparse.REMAINDER)
    flags = options.parse_args(words)
    job = os.getpid() << 16
    return _wait([(flags.command, {
        "OMPI_COMM_WORLD_RANK": i, "OMPI_COMM_WORLD_SIZE": flags.n,
        "OMPI_COMM_WORLD_LOCAL_RANK": i, "OMPI_COMM_WORLD_LOCAL_SIZE": flags.n,
        "OMPI_MCA_ess_base_jobid": job,
        "OMPI_MCA_orte_hnp_uri": f"{job}.0;tcp://127.0.0.1:40123"}) for i in range(flags.n)])


def _slurm_options(words):
    options = argparse.ArgumentParser("sbatch")
    options.add_argument("--job-name")
    options.add_argument("--nodes", type=int, default=1)
    options.add_argument("--ntasks-per-node", type=int, default=1)
    options.add_argument("--cpus-per-task", type=int, default=1)
    options.add_argument("--requeue", action="store_true")
    return options.parse_args(words)


def _sbatch(words):
    (script,) = words
    lines = re.findall(r"^#SBATCH (.*)$", pathlib.Path(script).read_text(), re.MULTILINE)
    flags = _slurm_options([word for line in lines for word in shlex.split(line)])
    return _wait([(["bash", script], {
        "SLURM_JOB_ID": os.getpid(), "SLURM_JOB_NUM_NODES": flags.nodes,
        "SLURM_NTASKS_PER_NODE": flags.ntasks_per_node,
        "SLURM_CPUS_PER_TASK": flags.cpus_per_task})])


def _srun(words):
    options = argparse.ArgumentParser("srun")
    options.add_argument("-n", "--ntasks", type=int, dest="n")
    for ignored in ("--kill-on-bad-exit", "--export"):
        options.add_argument(ignored)
    options.add_argument("--unbuffered", action="store_true")
    options.add_argument("command", nargs=argparse.REMAINDER)
    flags = options.parse_args(words)
    nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", 1))
    local = flags.n or int(os.environ["SLURM_NTASKS_PER_NODE"])
    hosts = ",".join(["localhost"] * nodes)
    common = {"SLURM_JOB_ID": os.environ.get("SLURM_JOB_ID", os.getpid()), "SLURM_STEP_ID": 0,
              "SLURM_NTASKS": nodes * local, "SLURM_STEP_NUM_TASKS": nodes * local,
              "SLURM_STEP_TASKS_PER_NODE": f"{local}(x{nodes})" if nodes > 1 else str(local),
              "SLURM_STEP_NODELIST": hosts, "SLURM_JOB_NODELIST": hosts}
    return _wait([(flags.command, {
        **common, "SLURM_PROCID": i, "SLURM_LOCALID": i % local, "SLURM_NODEID": i // local})
        for i in range(nodes * local)])


def _ssh(words):
    """ssh [OPTION...] HOST COMMAND..., with a clean environment, in the home folder."""
    with_value = "bcDEeFIiJLlmOopQRSWw"
    place = 0
    while words[place].startswith("-"):
        place += 2 if words[place][1:] in with_value else 1
    folders = {name: os.environ[name] for name in ("HOME", "PATH")}
    return subprocess.run(["sh", "-c", " ".join(words[place + 1:])], env=folders,
                          cwd=folders["HOME"]).returncode


if __name__ == "__main__":
    launchers = {"torchrun": _torchrun, "mpirun": _mpirun, "sbatch": _sbatch, "srun": _srun,
                 "ssh": _ssh}
    status = launchers[sys.argv[1]](sys.argv[2:])
    sys.exit(status if status >= 0 else 128 - status)
