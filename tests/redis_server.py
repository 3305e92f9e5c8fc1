"""A private Redis server for tests, and what stands in it."""

import shutil
import socket
import subprocess
import time

import pytest


class RedisServer:
    """A Redis server on loopback. Skips the test where redis-server is not installed.

    `password` is what clients have to say, redis-cli below included.
    """

    def __init__(self, password=None):
        if shutil.which("redis-server") is None:
            pytest.skip("redis-server is not installed")
        self.process = None
        self.password = password
        for _ in range(3):  # somebody may take the port before the server does
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = probe.getsockname()[1]
            if self._listens():
                return
        pytest.fail("redis-server does not start")

    def start(self):
        """Starts it again, without any keys, and waits until it listens."""
        if not self._listens():
            pytest.fail("redis-server does not start again")

    def _listens(self):
        """Starts the server; False if it does not listen, as when its port is taken."""
        wanted = [] if self.password is None else ["--requirepass", self.password]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "no", *wanted],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(1200):
            with socket.socket() as client:
                answers = client.connect_ex(("127.0.0.1", self.port)) == 0
            if self.process.poll() is not None:
                return False
            if answers:
                return True
            time.sleep(0.05)
        return False

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def cli(self, *words):
        """What redis-cli prints for a command, as lines."""
        return redis_cli(self.port, *words, password=self.password)

    def keys(self):
        """All keys, sorted."""
        return redis_keys(self.port, password=self.password)


def redis_cli(port, *words, password=None):
    """What redis-cli prints for a command, as lines."""
    login = [] if password is None else ["--no-auth-warning", "-a", password]
    done = subprocess.run(
        ["redis-cli", "-p", str(port), *login, *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def redis_keys(port, password=None):
    """All keys of the server, sorted."""
    return sorted(redis_cli(port, "--scan", password=password))
