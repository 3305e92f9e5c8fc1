"""Shards that connect with each other: one that is late, and one that freezes meanwhile."""

import signal
import time

from conftest import compiled, last_line, training

LATE = """
#include <dlfcn.h>
#include <unistd.h>
int listen(int fd, int backlog) {
  sleep(12);
  int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");
  return next(fd, backlog);
}
"""


def start(shards, databases, folder, number, **options):
    flags = {"num_shards": 2, "run_id": "connect", "file_store_path": folder, "max_iterations": 2,
             "collective_timeout": 5, "save_model_name": "", "test_data": None}
    return shards.start(*training(databases, folder, shard_id=number, **flags), **options)


def test_a_shard_that_connects_late_is_awaited(databases, shards, tmp_path):
    """By 12 s, although an exchange may take 5 s: its cores may be taken."""
    library = compiled(tmp_path, "late", "#define _GNU_SOURCE\n" + LATE)
    for shard in range(2):
        start(shards, databases, tmp_path, shard,
              env={"LD_PRELOAD": str(library)} if shard == 1 else {})
    for status, output in shards.wait():
        assert status == 0, output[-2000:]


def test_a_shard_that_freezes_while_it_connects_is_named(databases, shards, tmp_path):
    """By its heartbeats, long before the time for connecting is over."""
    waits, frozen = (start(shards, databases, tmp_path, shard) for shard in range(2))
    end = time.monotonic() + 60
    while not list((tmp_path / "connect").glob("*ready")):
        assert frozen.poll() is None and time.monotonic() < end
        time.sleep(0.005)
    frozen.send_signal(signal.SIGSTOP)
    output, _ = waits.communicate(timeout=60)
    assert waits.returncode == 75, output[-2000:]
    assert "peer lost: shard=1 host=" in last_line(output)
    assert f" pid={frozen.pid} " in last_line(output)
    assert "no sign of life for " in last_line(output)
