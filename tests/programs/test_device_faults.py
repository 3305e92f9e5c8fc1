"""Faults of GPUs while shards train: emulated ones, which hang or fail when a file says so."""

import pytest

from conftest import BIN, last_line, training, wait_for_line

EMULATED = BIN.parent / "lib" / "libcaffe2_cuda_emulated.so"


@pytest.fixture
def two_shards(request, databases, redis_server, shards, tmp_path):
    """Two shards that train, and the file that injures the GPU of shard 1. The parameter is the
    environment of the emulation."""
    if not EMULATED.exists():
        pytest.skip("the emulated GPU is not built")
    flags = {"model": "mlp", "epoch_size": 640, "num_epochs": 100_000, "test_data": None,
             "num_shards": 2, "run_id": "gpus", "redis_host": "127.0.0.1",
             "redis_port": redis_server.port, "collective_timeout": 5, "log_every": 1,
             "log_all_shards": True}
    processes = []
    for shard in range(2):
        words = [word for word in training(databases, tmp_path, shard_id=shard, **flags)
                 if word != "--use_cpu"]
        processes.append(shards.start(
            *words, env={"CAFFE2_CUDA_LIBRARY": EMULATED, **request.param,
                         "CUDA_EMULATION_FAULT": tmp_path / f"fault{shard}"}))
    for process in processes:
        wait_for_line(process, "Finished iteration 10/")
    return *processes, tmp_path / "fault1"


# The host goes on until it waits for the GPU.
@pytest.mark.parametrize("two_shards", [{"CUDA_EMULATION_ASYNC": 1}], indirect=True)
def test_a_shard_whose_gpu_hangs_is_named_and_ends(two_shards):
    works, hangs, fault = two_shards
    fault.write_text("hang 0")
    output, _ = works.communicate(timeout=90)
    assert works.returncode == 75, output[-2000:]
    line = last_line(output)
    assert "peer lost: shard=1" in line and "it does not take part in collective" in line, line
    output, _ = hangs.communicate(timeout=90)
    assert hangs.returncode > 0, output[-2000:]
    assert "peer lost: shard=1" in output
    assert "The process did not end within" in output and "Its threads:" in output


@pytest.mark.parametrize("two_shards", [{}], indirect=True)
def test_a_shard_whose_gpu_fails_says_so_and_is_named(two_shards):
    works, fails, fault = two_shards
    fault.write_text("fail 0")
    output, _ = fails.communicate(timeout=90)
    assert fails.returncode > 0, output[-2000:]
    line = last_line(output)
    assert "an illegal memory access was encountered (net train" in line, line
    output, _ = works.communicate(timeout=90)
    assert works.returncode == 75, output[-2000:]
    line = last_line(output)
    assert "peer lost: shard=1" in line and "an illegal memory access" in line, line
