"""`doppio doctor`: what it says of this machine, and of machines that are not well."""

import json
import os
import re
import socket
import subprocess

import pytest
from model_files import model as model_file
from model_files import op
from PIL import Image

from conftest import BIN, compiled, run
from launcher_dialects import clean_environment
from redis_server import RedisServer, redis_cli

TOPICS = ["doppio", "libraries", "image formats", "processor", "threads", "memory", "GPUs",
          "file descriptors", "disk", "clock", "interfaces", "allreduce"]
REDIS_TOPICS = ["Redis", "Redis safety", "Redis memory", "Redis clock"]


def doctor(*args, **options):
    """The exit status, and the findings by topic."""
    done = run("doppio", "doctor", "--json", *args, **options)
    report = json.loads(done.output)
    assert report["exit_code"] == done.returncode
    return done.returncode, {each["topic"]: each for each in report["findings"]}


def test_a_healthy_machine(tmp_path):
    done = run("doppio", "doctor", "--dir", tmp_path)
    assert done.returncode == 0, done.output
    lines = done.output.splitlines()
    assert [line[9:26].strip() for line in lines if line[:7].strip()][:-1] == TOPICS
    assert all(line[:7].strip() in ("OK", "warning") for line in lines[:-1] if line[:7].strip())
    assert lines[-1].startswith("0 errors, ")
    assert not list(tmp_path.iterdir())


def test_json_says_the_same_as_proc(tmp_path):
    status, found = doctor("--dir", tmp_path)
    assert status == 0
    assert list(found) == TOPICS
    cores = len(os.sched_getaffinity(0))
    assert int(found["threads"]["text"].split()[0]) <= cores
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    for feature in ("avx2", "avx512f", "amx_bf16"):
        assert (f" {feature}" in found["processor"]["text"]) == (feature in flags)
    libraries = found["libraries"]["text"]
    for name in ("Gloo", "LMDB", "LevelDB", "OpenCV", "hiredis", "libjpeg-turbo", "oneDNN",
                 "protobuf", "zlib"):
        assert f"{name} " in libraries
    assert "equal to the bit" in found["allreduce"]["text"]
    assert f"{tmp_path}: writes" in found["disk"]["text"]


def test_too_many_threads_are_a_warning():
    status, found = doctor(env={"OMP_NUM_THREADS": 4096})
    assert status == 0
    assert found["threads"]["level"] == "warning"
    assert "unset OMP_NUM_THREADS" in found["threads"]["fix"]


NO_CODECS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
// Finds no library of image codecs, as in a wheel.
void* dlopen(const char* name, int flags) {
  static void* (*real)(const char*, int);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "dlopen");
  if (name && strcmp(name, "libcaffe2_image_files.so.0") == 0) {
    name = "/nowhere/libcaffe2_image_files.so.0";
  }
  return real(name, flags);
}
"""


def test_an_installation_that_reads_only_jpeg_says_so(tmp_path):
    without = {"LD_PRELOAD": compiled(tmp_path, "no_codecs", NO_CODECS)}
    status, found = doctor(env=without)
    assert status == 0 and found["image formats"]["level"] == "warning"
    assert found["image formats"]["text"].startswith("JPEG only")
    assert found["image formats"]["fix"] == "convert other files to JPEG, or install the .deb"
    assert doctor()[1]["image formats"]["text"] == "JPEG, PNG, WebP, BMP, TIFF, PNM"
    model = tmp_path / "model.mdl"
    model.write_bytes(model_file(init=[op("ConstantFill", [], ["data"], shape=[1, 8, 8],
                                          value=0.0)]))
    for kind, status in (("png", 74), ("jpg", 0)):
        picture = tmp_path / f"grey.{kind}"
        Image.new("L", (20, 20), 90).save(picture)
        words = ("--num_channels", "1", "--image_size", "8", "--image_scale", "8", picture)
        done = run("predict", "--model", model, *words, env=without)
        assert done.returncode == status, done.output
        assert (status == 0) == ("this installation reads only JPEG" not in done.output)
        if status != 0:
            assert done.output == (
                "predict: this installation reads only JPEG files: convert it, or install the .deb "
                f"(picture {picture})\n")


def test_few_file_descriptors_are_a_warning():
    done = subprocess.run(
        ["bash", "-c", 'ulimit -n 256; exec "$0" doctor --json', str(BIN / "doppio")],
        capture_output=True, text=True, env=clean_environment())
    found = {each["topic"]: each for each in json.loads(done.stdout)["findings"]}
    assert found["file descriptors"]["level"] == "warning"
    assert found["file descriptors"]["text"].startswith("256 ")


def test_too_few_file_descriptors_for_two_shards_are_no_firewall():
    done = subprocess.run(
        ["bash", "-c", 'ulimit -n 64; exec "$0" doctor --json', str(BIN / "doppio")],
        capture_output=True, text=True, env=clean_environment())
    found = {each["topic"]: each for each in json.loads(done.stdout)["findings"]}
    assert found["allreduce"]["level"] == "error" and found["allreduce"]["exit_code"] == 71
    assert "allow more with `ulimit -n " in found["allreduce"]["text"]
    assert "ulimit" in found["allreduce"]["fix"] and "TCP" not in found["allreduce"]["fix"]


def test_a_folder_that_is_missing_is_an_error():
    status, found = doctor("--dir", "/nowhere/at/all")
    assert status == found["disk"]["exit_code"] != 0
    assert found["disk"]["level"] == "error"
    assert "/nowhere/at/all" in found["disk"]["text"]


def test_redis_without_a_password(redis_server):
    status, found = doctor("--redis_host", "127.0.0.1", "--redis_port", redis_server.port)
    assert status == 0
    assert list(found) == TOPICS + REDIS_TOPICS
    version = next(line.split(":")[1].strip()
                   for line in redis_cli(redis_server.port, "info", "server")
                   if line.startswith("redis_version"))
    assert f"version {version}" in found["Redis"]["text"]
    assert "only for this host" in found["Redis safety"]["text"]
    assert found["Redis clock"]["level"] == "OK"
    assert redis_server.keys() == []


def test_an_open_redis_is_a_warning(redis_server):
    redis_cli(redis_server.port, "config", "set", "protected-mode", "no")
    redis_cli(redis_server.port, "config", "set", "maxmemory", "100mb")
    redis_cli(redis_server.port, "config", "set", "maxmemory-policy", "allkeys-lru")
    status, found = doctor("--redis_host", "127.0.0.1", "--redis_port", redis_server.port)
    assert status == 0
    assert found["Redis safety"]["level"] == "warning"
    assert "requirepass" in found["Redis safety"]["fix"]
    assert found["Redis memory"]["level"] == "warning"
    assert "noeviction" in found["Redis memory"]["fix"]


def test_a_redis_with_a_password(tmp_path):
    server = RedisServer(password="secret word")
    try:
        where = ["--redis_host", "127.0.0.1", "--redis_port", server.port]
        status, found = doctor(*where)
        assert status == 77
        assert "needs a password" in found["Redis"]["text"]
        file = tmp_path / "password"
        file.write_text("secret word\n")
        file.chmod(0o600)
        status, found = doctor(*where, "--redis_password_file", file)
        assert status == 0
        assert found["Redis safety"]["text"].startswith("asks for a password")
        assert "secret" not in json.dumps(found)
    finally:
        server.kill()


def test_a_machine_whose_interfaces_are_down_is_told_to_raise_one():
    """Also its loopback interface is down, so that shards could not meet."""
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine makes no namespaces")
    done = subprocess.run([*alone, str(BIN / "doppio"), "doctor"], capture_output=True, text=True,
                          env=clean_environment())
    assert done.returncode != 0
    assert "-> run: ip link set lo up" in done.stdout
    assert re.search("allreduce .* address; this host has none$", done.stdout, re.MULTILINE)


def test_no_redis_is_an_error_with_a_fix():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        status, found = doctor("--redis_host", "127.0.0.1", "--redis_port",
                               unused.getsockname()[1])
    assert status == 69
    assert "start redis-server" in found["Redis"]["fix"]


@pytest.mark.parametrize("args, text", [
    (["--redis_prot", "1"], "doctor: unknown option --redis_prot; do you mean --redis_port?"),
    (["now"], 'doctor: unexpected argument "now"'),
    (["--redis_host", "x", "--redis_port", "0"], "doctor: --redis_port"),
])
def test_wrong_options_are_refused(args, text):
    done = run("doppio", "doctor", *args)
    assert done.returncode == 64
    assert len(done.output.strip().splitlines()) == 1
    assert text in done.output
