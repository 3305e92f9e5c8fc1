"""Hosts for tests: network namespaces with process ids and host names of their own."""

import contextlib
import itertools
import os
import shutil
import subprocess
import time

import pytest

from conftest import BIN, last_line
from launcher_dialects import clean_environment

_networks = itertools.count()


def wait_until(condition, what, limit=120):
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit} s: {what}"
        time.sleep(0.05)


def skip_without_namespaces():
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        pytest.skip("ip or unshare is not installed")
    if subprocess.run(
        ["unshare", "--net", "--pid", "--mount", "--uts", "--fork", "true"]
    ).returncode:
        pytest.skip("this machine makes no namespaces")


class Hosts:
    """Hosts without a network between them. `addresses` are for a subclass to assign."""

    def __init__(self, count):
        number = (os.getpid() * 8 + next(_networks)) % 50_000
        self.number = number
        self.prefix = f"10.{100 + number % 100}.{number // 100 % 250}"
        self.names = [f"dp{number}h{i}" for i in range(count)]
        self.addresses = [f"{self.prefix}.{i + 1}" for i in range(count)]
        self.processes = []
        for name in self.names:
            self.ip("netns", "add", name)
            self.ip("-n", name, "link", "set", "lo", "up")

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def start(self, host, log, *words, setup="true", program="resnet50_trainer"):
        """Starts a trainer on a host, after `setup`, shell commands in its mount namespace."""
        inside = f'hostname {self.names[host]}; {setup}; exec "$@"'
        with open(log, "w") as output:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.names[host], "unshare", "--uts", "--pid", "--fork",
                 "--kill-child", "--mount", "--mount-proc", "sh", "-c", inside, "sh",
                 str(BIN / program), *map(str, words)],
                stdout=output, stderr=output, env=clean_environment(OMP_NUM_THREADS=1))  # fmt: skip
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()  # --kill-child ends the trainer, too
                process.wait()
        for name in self.names:
            with contextlib.suppress(subprocess.CalledProcessError):
                self.ip("netns", "delete", name)


class BridgedHosts(Hosts):
    """Hosts on a bridge, which is the address `store` of this machine."""

    def __init__(self, count):
        super().__init__(count)
        self.bridge = f"dpb{self.number}"
        self.store = f"{self.prefix}.254"
        self.ip("link", "add", self.bridge, "type", "bridge")
        self.ip("address", "add", f"{self.store}/24", "dev", self.bridge)
        self.ip("link", "set", self.bridge, "up")
        for name, address in zip(self.names, self.addresses):
            self.ip(
                "link", "add", f"{name}p", "type", "veth", "peer", "name", "eth0", "netns", name
            )
            self.ip("link", "set", f"{name}p", "master", self.bridge, "up")
            self.ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            self.ip("-n", name, "link", "set", "eth0", "up")

    def close(self):
        super().close()
        with contextlib.suppress(subprocess.CalledProcessError):
            self.ip("link", "delete", self.bridge)


class Run:
    """A run with a shard on each host. `words_of(shard)` gives the command line of a shard; its
    output goes into `folder`."""

    def __init__(self, hosts, folder, words_of, **options):
        self.hosts = hosts
        self.logs = [folder / f"shard{shard}.log" for shard in range(len(hosts.names))]
        self.processes = [hosts.start(shard, log, *words_of(shard), **options)
                          for shard, log in enumerate(self.logs)]  # fmt: skip

    def text(self, shard):
        return self.logs[shard].read_text(errors="replace")

    def iterations(self, shard):
        return self.text(shard).count("Finished iteration")

    def wait_for_iterations(self, more=3):
        for shard, process in enumerate(self.processes):
            wanted = self.iterations(shard) + more
            wait_until(
                lambda shard=shard, wanted=wanted, process=process: (
                    self.iterations(shard) >= wanted or process.poll() is not None
                ),
                f"{more} iterations of shard {shard}",
            )
            assert process.poll() is None, self.text(shard)[-2000:]

    def ends(self, limit=120):
        """(exit status, last line) of each shard."""
        deadline = time.monotonic() + limit
        for process in self.processes:
            process.wait(timeout=max(1, deadline - time.monotonic()))
        return [
            (process.returncode, last_line(self.text(shard)))
            for shard, process in enumerate(self.processes)
        ]
