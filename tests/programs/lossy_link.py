"""A link between two hosts that delays, loses, damages or swallows IP packets, for kernels without
netem.

Each host has a TUN device, and a thread of this process passes the packets from one to the other.
The devices have no offloading, so the kernel of each host computes and verifies all checksums.
"""

import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections import Counter

from network_hosts import Hosts

# linux/if_tun.h
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_IPV4, _TCP, _SYN = 4, 6, 0x02


def _open_tun(name):
    """A new TUN device; each read of the descriptor is one packet that the kernel sends."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        request = struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(device, _TUNSETIFF, request)
    except OSError:
        os.close(device)
        raise
    return device


def is_syn(packet):
    """True for a TCP packet that opens a connection: SYN, also with ACK."""
    return packet[9] == _TCP and bool(packet[(packet[0] & 15) * 4 + 13] & _SYN)


class Link:
    """Passes packets between two TUN devices until it is closed.

    The attributes say what happens to a packet and may change at any time. `counts` says how many
    packets were "passed", "lost", "damaged" and "swallowed".
    """

    def __init__(self, devices, seed=1):
        self.delay = 0.0  # seconds, in each direction
        self.loss = 0.0  # share of the packets
        self.damage = 0.0  # share of the packets of which one byte changes
        self.max_bytes = 1 << 16  # longer packets vanish
        self.swallows_syn_of = None  # the side (0 or 1) whose SYN packets vanish
        self.counts = Counter()
        self._devices = devices
        self._random = random.Random(seed)
        self._under_way = []  # heap of (time, number, receiving side, packet)
        self._number = itertools.count()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self):
        self._closed.set()
        self._thread.join()
        for device in self._devices:
            os.close(device)

    def _work(self):
        while not self._closed.is_set():
            wait = 0.1
            if self._under_way:
                wait = min(wait, max(0.0, self._under_way[0][0] - time.monotonic()))
            readable, _, _ = select.select(self._devices, [], [], wait)
            for device in readable:
                self._read(self._devices.index(device))
            now = time.monotonic()
            while self._under_way and self._under_way[0][0] <= now:
                _, _, side, packet = heapq.heappop(self._under_way)
                self._write(side, packet)

    def _read(self, side):
        for _ in range(64):  # then the other side has its turn
            try:
                packet = os.read(self._devices[side], 1 << 16)
            except OSError:  # there are no more, or the device is down
                return
            if packet and packet[0] >> 4 == _IPV4:
                self._take(side, packet)

    def _take(self, side, packet):
        swallowed = side == self.swallows_syn_of and is_syn(packet)
        if swallowed or len(packet) > self.max_bytes:
            self.counts["swallowed"] += 1
            return
        if self._random.random() < self.loss:
            self.counts["lost"] += 1
            return
        if self._random.random() < self.damage:
            self.counts["damaged"] += 1
            place = self._random.randrange(len(packet))
            changed = packet[place] ^ self._random.randrange(1, 256)
            packet = packet[:place] + bytes([changed]) + packet[place + 1:]
        due = time.monotonic() + self.delay
        heapq.heappush(self._under_way, (due, next(self._number), 1 - side, packet))

    def _write(self, side, packet):
        try:
            os.write(self._devices[side], packet)
            self.counts["passed"] += 1
        except OSError:  # a damaged header, or the device is down
            self.counts["refused"] += 1


class LinkedHosts(Hosts):
    """Two hosts whose only network is a Link, `link`."""

    def __init__(self):
        super().__init__(2)
        devices = []
        for side, name in enumerate(self.names):
            tun = f"{name}t"
            devices.append(_open_tun(tun))
            self.ip("link", "set", tun, "netns", name)
            self.ip("-n", name, "address", "add", self.addresses[side],
                    "peer", self.addresses[1 - side], "dev", tun)  # fmt: skip
            # So long that only the link loses packets.
            self.ip("-n", name, "link", "set", tun, "txqueuelen", "10000", "up")
            # Shards that meet through files listen where the default route begins.
            self.ip("-n", name, "route", "add", "default", "dev", tun)
        self.link = Link(devices)

    def damaged_segments(self, host):
        """The number of TCP segments that the host's kernel has refused for their checksum."""
        names, values = subprocess.run(
            ["ip", "netns", "exec", self.names[host], "grep", "^Tcp:", "/proc/net/snmp"],
            check=True, capture_output=True, text=True).stdout.splitlines()  # fmt: skip
        return int(dict(zip(names.split(), values.split()))["InCsumErrors"])

    def close(self):
        super().close()
        self.link.close()
