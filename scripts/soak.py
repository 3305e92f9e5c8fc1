#!/usr/bin/env python3
"""Trains small nets again and again and injures the runs: kills, freezes, pauses of Redis, slow and
hanging disks, signals, at random times, over 2 to 8 shards.

After a fault that a run must survive, all shards train on and end cleanly with SIGTERM. After a
fault that ends the run, every survivor ends in time with exit status 75 and the same line, which
names an injured shard. Nothing is left: no process, no key without an end.

    scripts/soak.py [--rounds N] [--seed S] [--logs DIR] [--fault NAME]

Prints each deviation, keeps its logs in a folder, and closes with a table of counts, also when it
is interrupted. Fails if there is a deviation or a round is missing. Needs the programs of
build/release (or CAFFE2_BIN), redis-server, a C compiler, and the Python of build/venv.
"""

import argparse
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "programs")]
from conftest import write_idx  # noqa: E402
from launcher_dialects import clean_environment  # noqa: E402
from redis_server import RedisServer  # noqa: E402

BIN = pathlib.Path(os.environ.get("CAFFE2_BIN", ROOT / "build" / "release" / "bin"))
COLLECTIVE_TIMEOUT = 5
# The longest time from a fault to the end of the last survivor: a frozen shard is given up after a
# lease of 10 s, a hanging one ends itself 20 s later, and this machine may be loaded.
LIMIT = 75
PEER_LOST = 75


class Deviation(Exception):
    """What a round did that it must not do."""


def check(right, *what):
    if not right:
        raise Deviation(" ".join(map(str, what)))


class Round:
    """One run of several shards with a Redis server of its own."""

    def __init__(self, rng, folder, data, shim):
        self.rng, self.folder, self.shim = rng, folder, shim
        self.count = rng.choice((2, 2, 3, 3, 4, 5, 6, 8))
        self.redis = RedisServer()
        self.network = rng.choice(("lenet", "mlp"))
        self.processes = []
        for shard in range(self.count):
            self.start(shard, data)

    def log(self, shard):
        return self.folder / f"shard{shard}.log"

    def slow_file(self, shard):
        return self.folder / f"slow{shard}"

    def start(self, shard, data):
        flags = {
            "train_data": data, "db_type": "lmdb", "model": self.network, "image_size": 28,
            "num_channels": 1, "num_labels": 10, "batch_size": 4, "epoch_size": 100_000_000,
            "base_learning_rate": 0.001, "save_model_name": "", "log_csv": "", "log_every": 1,
            "num_shards": self.count, "shard_id": shard, "run_id": "soak",
            "redis_host": "127.0.0.1", "redis_port": self.redis.port, "rendezvous_timeout": 90,
            "collective_timeout": COLLECTIVE_TIMEOUT, "log_all_shards": True}
        words = ["--use_cpu"] + [word for name, value in flags.items()
                                 for word in (f"--{name}", str(value))]
        environment = clean_environment(
            OMP_NUM_THREADS=1, LD_PRELOAD=self.shim, SLOW_READS=self.slow_file(shard))
        with open(self.log(shard), "w") as log:
            self.processes.append(subprocess.Popen(
                [str(BIN / "resnet50_trainer"), *words], stdout=log, stderr=log, env=environment))

    def text(self, shard):
        return self.log(shard).read_text(errors="replace")

    def iterations(self, shard):
        return self.text(shard).count("Finished iteration")

    def wait_until(self, condition, what, limit=LIMIT):
        deadline = time.monotonic() + limit
        while not condition():
            check(time.monotonic() < deadline, f"not within {limit} s:", what)
            time.sleep(0.05)

    def wait_for_iterations(self, more=5):
        wanted = [self.iterations(shard) + more for shard in range(self.count)]
        for shard in range(self.count):
            def done(shard=shard):
                check(self.processes[shard].poll() is None, f"shard {shard} ended with",
                      self.processes[shard].returncode)
                return self.iterations(shard) >= wanted[shard]
            self.wait_until(done, f"{more} more iterations of shard {shard}")

    def send(self, shard, number):
        self.processes[shard].send_signal(number)

    def wait_for_end(self, shards):
        for shard in shards:
            self.wait_until(lambda shard=shard: self.processes[shard].poll() is not None,
                            f"the end of shard {shard}")

    def status(self, shard):
        return self.processes[shard].returncode

    # Faults. Each returns the shards that it injured for good, or () if the run must survive it.

    def fault_kill(self):
        number = self.rng.choice((1, 1, min(2, self.count - 1)))
        victims = self.rng.sample(range(self.count), number)
        for victim in victims:
            self.send(victim, signal.SIGKILL)
        return victims

    def fault_freeze(self):
        victim = self.rng.randrange(self.count)
        self.send(victim, signal.SIGSTOP)
        return [victim]

    def fault_short_freeze(self):
        victim = self.rng.randrange(self.count)
        self.send(victim, signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.1, COLLECTIVE_TIMEOUT - 2.5))
        self.send(victim, signal.SIGCONT)
        return ()

    def fault_pause_of_redis(self):
        self.redis.process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.5, 16))
        self.redis.process.send_signal(signal.SIGCONT)
        time.sleep(self.rng.uniform(0, 2))
        return ()

    def fault_kill_in_pause_of_redis(self):
        self.redis.process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.1, 4))
        victims = [self.rng.randrange(self.count)]
        self.send(victims[0], signal.SIGKILL)
        time.sleep(self.rng.uniform(0.1, 4))
        self.redis.process.send_signal(signal.SIGCONT)
        return victims

    def fault_slow_disk(self):
        victim = self.rng.randrange(self.count)
        self.slow_file(victim).write_text(str(self.rng.randrange(20, 1500)))
        time.sleep(self.rng.uniform(1, 4))
        self.slow_file(victim).unlink()
        return ()

    def fault_hanging_disk(self):
        victim = self.rng.randrange(self.count)
        self.slow_file(victim).write_text("100000")
        return [victim]

    def fault_signal(self):
        self.send(self.rng.randrange(self.count), signal.SIGTERM)
        self.expect_clean_end()
        return None

    def expect_clean_end(self):
        self.wait_for_end(range(self.count))
        for shard in range(self.count):
            check(self.status(shard) == 128 + signal.SIGTERM, f"shard {shard} ended with",
                  self.status(shard))
        check(self.redis.keys() == [], "keys are left:", self.redis.keys())

    def expect_blame(self, victims, faulted):
        survivors = [shard for shard in range(self.count) if shard not in victims]
        self.wait_for_end(survivors)
        seconds = time.monotonic() - faulted
        for victim in victims:
            if self.processes[victim].poll() is None:
                self.send(victim, signal.SIGCONT)
        self.wait_for_end(victims)
        lines = {}
        for shard in survivors:
            check(self.status(shard) == PEER_LOST, f"survivor {shard} ended with",
                  self.status(shard))
            found = re.findall(r"peer lost: shard=.*", self.text(shard))
            check(found, f"survivor {shard} blames nobody")
            lines.setdefault(found[-1].strip(), []).append(shard)
        check(len(lines) == 1, f"{len(lines)} different lines:", lines)
        blamed = int(re.match(r"peer lost: shard=(-?\d+)", *lines).group(1))
        check(blamed in victims, f"shard {blamed} is blamed, injured were {victims}:", *lines)
        for victim in victims:
            check(self.status(victim) != 0, f"the injured shard {victim} ended with 0")
        without_end = [key for key in self.redis.keys() if self.redis.cli("ttl", key) == ["-1"]]
        check(not without_end, "keys without an end:", without_end)
        return seconds

    def play(self, fault):
        """Returns the seconds from the fault to the end of the last survivor, or None."""
        self.wait_for_iterations(3)
        time.sleep(self.rng.uniform(0, 1))
        faulted = time.monotonic()
        victims = getattr(self, "fault_" + fault)()
        if victims is None:
            return None
        if victims:
            return self.expect_blame(victims, faulted)
        self.wait_for_iterations()
        for shard in range(self.count):
            self.send(shard, signal.SIGTERM)
        self.expect_clean_end()
        return None

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.redis.kill()


FAULTS = [name[len("fault_"):] for name in dir(Round) if name.startswith("fault_")]


def prepare(folder):
    """Makes the database and the library for slow disks; returns their paths."""
    write_idx(folder, "train", 640, seed=1)
    subprocess.run(
        [BIN / "make_mnist_db", "--image_file", folder / "train-images", "--label_file",
         folder / "train-labels", "--db", "lmdb", "--output_file", folder / "lmdb"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shim = folder / "slow_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", ROOT / "scripts" / "slow_disk.c", "-o", shim,
                    "-ldl"], check=True)
    return folder / "lmdb", shim


def play_rounds(options, folder, counts):
    """Plays the rounds, in `folder`; adds to the [rounds, deviations, seconds] of each fault."""
    data, shim = prepare(folder)
    for number in range(options.rounds):
        rng = random.Random(f"{options.seed}/{number}")
        fault = options.fault or rng.choice(FAULTS)
        logs = folder / f"round{number}"
        logs.mkdir()
        current = Round(rng, logs, data, shim)
        try:
            seconds = current.play(fault)
            if seconds is not None:
                counts[fault][2].append(seconds)
            counts[fault][0] += 1
        except Deviation as deviation:
            counts[fault][0] += 1
            counts[fault][1] += 1
            kept = options.logs / f"{options.seed}-{number}-{fault}"
            shutil.copytree(logs, kept, dirs_exist_ok=True)
            print(f"round {number}: {fault}, {current.count} shards: {deviation} "
                  f"(logs: {kept})", flush=True)
        finally:
            current.close()
            shutil.rmtree(logs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=pathlib.Path, default=ROOT / "build" / "soak")
    parser.add_argument("--fault", choices=FAULTS, help="only this one")
    options = parser.parse_args()
    counts = {name: [0, 0, []] for name in FAULTS}
    with tempfile.TemporaryDirectory(prefix="soak") as temporary:
        with contextlib.suppress(KeyboardInterrupt):
            play_rounds(options, pathlib.Path(temporary), counts)
    print(f"{'fault':24}{'rounds':>8}{'deviations':>12}{'median s':>10}{'longest s':>11}")
    for name, (rounds, deviations, seconds) in counts.items():
        times = sorted(seconds)
        shown = (f"{times[len(times) // 2]:10.1f}{times[-1]:11.1f}" if times else "")
        print(f"{name:24}{rounds:8}{deviations:12}{shown}")
    rounds, deviations = (sum(each[i] for each in counts.values()) for i in (0, 1))
    print(f"{rounds} rounds, {deviations} deviations")
    return 1 if deviations or rounds < options.rounds else 0


if __name__ == "__main__":
    sys.exit(main())
