// Collectives of CUDA tensors, through Gloo and NCCL. Shards are threads; they run where a device
// is, which may be the emulated one (CAFFE2_TEST_DEVICE=cuda).
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/net.h"
#include "caffe2/core/net_observer.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "caffe2/utils/waiting_time.h"
#include "distributed/collective.h"
#include "tests/core/log_lines.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

using Names = std::vector<std::string>;

std::string NewDevicePrefix() {
  static std::atomic<int> count{0};
  return "device_run" + std::to_string(++count);
}

// One shard, on a device of its own for NCCL, which wants that, and else on device 0 with the
// others.
class Shard {
 public:
  Shard(const std::string& engine, const std::string& prefix, int size, int rank, int timeout_ms)
      : engine_(engine), device_{CUDA, engine == "NCCL" ? rank : 0} {
    Run(MakeOp("MemoryStoreHandlerCreate", {}, {"store"},
               {MakeArgument<std::string>("prefix", prefix)}, Device{}));
    OperatorDef create =
        MakeOp("CreateCommonWorld", {"store"}, {"cw"},
               {MakeArgument("size", size), MakeArgument("rank", rank),
                MakeArgument<std::string>("interface", engine == "NCCL" ? "" : "127.0.0.1"),
                MakeArgument("timeout_ms", timeout_ms)});
    create.set_name("cw_op");
    Run(create);
  }

  OperatorDef MakeOp(const std::string& type, const Names& inputs, const Names& outputs,
                     const std::vector<Argument>& args = {}) const {
    return MakeOp(type, inputs, outputs, args, device_);
  }
  OperatorDef MakeOp(const std::string& type, const Names& inputs, const Names& outputs,
                     const std::vector<Argument>& args, const Device& device) const {
    OperatorDef op = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
    op.set_engine(engine_);
    *op.mutable_device_option() = ToDeviceOption(device);
    return op;
  }
  void Run(const OperatorDef& op) { CAFFE_ENFORCE(ws.RunOperatorOnce(op), op.type(), " failed"); }

  void Feed(const std::string& name, const std::vector<float>& values) {
    Feed(name, values, device_);
  }
  void Feed(const std::string& name, const std::vector<float>& values, const Device& device) {
    BlobGetMutableTensor(ws.CreateBlob(name), device)
        ->CopyFrom(Tensor({static_cast<int64_t>(values.size())}, values));
  }
  std::vector<float> Fetch(const std::string& name) {
    Tensor copy(CPU);
    const Tensor& tensor = OnHost(ws.GetBlob(name)->Get<Tensor>(), &copy);
    return {tensor.data<float>(), tensor.data<float>() + tensor.numel()};
  }
  const Device& device() const { return device_; }

  Workspace ws;

 private:
  const std::string engine_;
  const Device device_;
};

// The parameter is the engine.
class DeviceCollectiveTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const char* wanted = std::getenv("CAFFE2_TEST_DEVICE");
    if (wanted == nullptr || std::string(wanted) != "cuda") {
      GTEST_SKIP() << "CAFFE2_TEST_DEVICE is not cuda";
    }
    const int needed = GetParam() == "NCCL" ? 2 : 1, count = NumDevices(CUDA);
    if (count >= needed) return;
    const char* required = std::getenv("REQUIRE_GPU");
    if (count == 0 && required != nullptr && std::string(required) == "1") {
      FAIL() << "REQUIRE_GPU=1, but: " << DeviceProblem(CUDA);
    }
    GTEST_SKIP() << needed << " CUDA devices are needed, " << count << " are there";
  }

  static void RunShards(const std::function<void(Shard*, int rank)>& body, int timeout_ms = 20000) {
    const std::string prefix = NewDevicePrefix();
    RunThreads(2, [&](int rank) {
      Shard shard(GetParam(), prefix, 2, rank, timeout_ms);
      body(&shard, rank);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DeviceCollectiveTest, ::testing::Values("GLOO", "NCCL"),
                         [](const auto& info) { return info.param; });

TEST_P(DeviceCollectiveTest, AllreduceSumsWhatLiesOnTheDevices) {
  RunShards([](Shard* shard, int rank) {
    for (int run = 1; run <= 2; ++run) {
      shard->Feed("x", {1.f * rank, 10.f * run, -2.f});
      shard->Run(shard->MakeOp("Allreduce", {"cw", "x"}, {"x"}));
      EXPECT_EQ(shard->Fetch("x"), (std::vector<float>{1.f, 20.f * run, -4.f}));
      EXPECT_EQ(shard->ws.GetBlob("x")->Get<Tensor>().device(), shard->device());
    }
  });
}

TEST_P(DeviceCollectiveTest, LocalCopiesAreAddedAndReceiveTheSum) {
  RunShards([](Shard* shard, int rank) {
    shard->Feed("x", {1.f, 2.f});
    shard->Feed("copy", {10.f, 20.f * rank});
    shard->Run(shard->MakeOp("Allreduce", {"cw", "x", "copy"}, {"x", "copy"}));
    for (const char* name : {"x", "copy"}) {
      EXPECT_EQ(shard->Fetch(name), (std::vector<float>{22.f, 24.f}));
    }
  });
}

TEST_P(DeviceCollectiveTest, BucketsOfSeparateTensorsAreScaled) {
  RunShards([](Shard* shard, int rank) {
    shard->Feed("a", {1.f, 1.f * rank});
    shard->Feed("b", {4.f});
    shard->Run(shard->MakeOp("AllreduceBucket", {"cw", "a", "b"}, {"a", "b"},
                             {MakeArgument("scale", 0.5f)}));
    EXPECT_EQ(shard->Fetch("a"), (std::vector<float>{1.f, 0.5f}));
    EXPECT_EQ(shard->Fetch("b"), (std::vector<float>{4.f}));
  });
}

// Two flat buckets are under way when something else is computed.
TEST_P(DeviceCollectiveTest, WhatWasStartedIsThereAfterAwait) {
  RunShards([](Shard* shard, int rank) {
    const std::vector<Argument> args = {MakeArgument("flat", true), MakeArgument("async", true)};
    for (int run = 0; run < 3; ++run) {
      shard->Feed("arena", std::vector<float>(16, 1.f * rank + run));
      const Tensor& arena = shard->ws.GetBlob("arena")->Get<Tensor>();
      for (const auto& [name, offset] : {std::pair{"a", 0}, {"b", 4}, {"c", 8}}) {
        BlobGetMutableTensor(shard->ws.CreateBlob(name), shard->device())
            ->ShareData(arena.View(offset, {3}));
      }
      OperatorDef first = shard->MakeOp("AllreduceBucket", {"cw", "a", "b"}, {"a", "b"}, args);
      OperatorDef second = shard->MakeOp("AllreduceBucket", {"cw", "c"}, {"c"}, args);
      first.set_name("first");
      second.set_name("second");
      shard->Run(first);
      shard->Run(second);
      shard->Run(shard->MakeOp("AwaitCollectives", {"cw", "a", "b", "c"}, {"a", "b", "c"}));
      const float sum = 1.f + 2 * run, own = 1.f * rank + run;
      std::vector<float> expected(16, own);
      for (const int i : {0, 1, 2, 3, 4, 5, 6, 8, 9, 10}) expected[i] = sum;
      EXPECT_EQ(shard->Fetch("arena"), expected) << run;
    }
  });
}

// Twice x, summed over the shards, twice that.
NetDef RecordedNet(const Shard& shard) {
  NetDef net;
  net.set_name("net");
  net.set_type("cuda_graph");
  const auto scale = [&](const char* from, const char* to) {
    *net.add_op() = shard.MakeOp("Scale", {from}, {to}, {MakeArgument("scale", 2.f)});
    net.mutable_op(net.op_size() - 1)->clear_engine();
  };
  scale("x", "sum");
  *net.add_op() =
      shard.MakeOp("AllreduceBucket", {"cw", "sum"}, {"sum"}, {MakeArgument("async", true)});
  scale("x", "meanwhile");
  *net.add_op() = shard.MakeOp("AwaitCollectives", {"cw", "sum"}, {"sum"});
  scale("sum", "y");
  return net;
}

// A sum that is part of a recorded graph (NCCL), or lies between two (Gloo); then one shard stays
// away.
TEST_P(DeviceCollectiveTest, IterationsWithSumsAreRecorded) {
  std::atomic<bool> over{false};
  const LogLines log;
  RunShards(
      [&over](Shard* shard, int rank) {
        shard->Feed("x", {0.f, 0.f});
        shard->ws.CreateNet(RecordedNet(*shard));
        constexpr int kRuns = 6;  // two before it is recorded, one at it
        for (int run = 0; run < kRuns; ++run) {
          // Its place must stay.
          shard->ws.GetBlob("x")->GetMutable<Tensor>()->CopyFrom(
              Tensor({2}, std::vector<float>{1.f * run, 10.f * rank}));
          ASSERT_TRUE(shard->ws.RunNet("net"));
          EXPECT_EQ(shard->Fetch("y"), (std::vector<float>{8.f * run, 40.f})) << "run " << run;
          EXPECT_EQ(shard->Fetch("meanwhile"), (std::vector<float>{2.f * run, 20.f * rank}));
        }
        if (rank == 1) {
          while (!over) SleepMs(10);
          return;
        }
        const std::string error = ErrorOf([&] { shard->ws.RunNet("net"); });
        over = true;
        EXPECT_HAS(error, GetParam() == "NCCL" ? "a recorded iteration on common world cw_op: "
                                                 "another shard did not answer within 5000 ms"
                                               : "5000 ms");
      },
      5000);
  const bool nccl = GetParam() == "NCCL";
  EXPECT_EQ(log.Count(nccl ? "net net: 5 of 5 operators recorded in 1 CUDA graphs"
                           : "net net: 3 of 5 operators recorded in 2 CUDA graphs"),
            2);
}

// The others start their graphs all the same: a shard that cannot start its own must say so.
TEST_P(DeviceCollectiveTest, AShardDoesNotLeaveARecordedSum) {
  RunShards([](Shard* shard, int rank) {
    const bool recorded = GetParam() == "NCCL";
    shard->Feed("x", {1.f, 2.f});
    NetBase* net = shard->ws.CreateNet(RecordedNet(*shard));
    for (int run = 0; run < 4; ++run) ASSERT_TRUE(net->Run());
    if (!recorded) {
      // What is not part of a graph goes on as the shard likes.
      if (rank == 0) net->AttachObserver(CreateNetObserver("RunCountObserver", net));
      ASSERT_TRUE(net->Run());
      return;
    }
    if (rank == 1) return;
    const NetObserver* observer = net->AttachObserver(CreateNetObserver("RunCountObserver", net));
    const std::string observed = ErrorOf([&] { net->Run(); });
    EXPECT_HAS(observed, "the net is observed");
    EXPECT_HAS(observed, "net net, operator 1, AllreduceBucket is in a CUDA graph");
    net->DetachObserver(observer);
    Tensor* x = shard->ws.GetBlob("x")->GetMutable<Tensor>();
    const Tensor before = std::move(*x);  // its memory is not free for the next one
    *x = Tensor(shard->device());
    shard->Feed("x", {1.f, 2.f});
    const std::string moved = ErrorOf([&] { net->Run(); });
    EXPECT_HAS(moved, "a tensor of net net, operator 0, Scale has moved");
    EXPECT_HAS(moved, "net net, operator 1, AllreduceBucket is in a CUDA graph");
  });
}

// One that is watched from the start does not record, which the other one would.
TEST_P(DeviceCollectiveTest, ShardsAgreeOnWhatIsRecorded) {
  for (const bool all : {false, true}) {
    RunShards([all](Shard* shard, int rank) {
      shard->Feed("x", {1.f, 2.f});
      NetBase* net = shard->ws.CreateNet(RecordedNet(*shard));
      const NetObserver* observer =
          all || rank == 1 ? net->AttachObserver(CreateNetObserver("RunCountObserver", net))
                           : nullptr;
      for (int run = 0; run < 2; ++run) ASSERT_TRUE(net->Run());
      if (all || GetParam() != "NCCL") {
        ASSERT_TRUE(net->Run());
        // It is not recorded by one shard afterwards.
        if (rank == 0 && observer != nullptr) net->DetachObserver(observer);
        for (int run = 0; run < 3; ++run) ASSERT_TRUE(net->Run());
        EXPECT_EQ(shard->Fetch("y"), (std::vector<float>{8.f, 16.f}));
        return;
      }
      const std::string error = ErrorOf([&] { net->Run(); });
      EXPECT_HAS(error,
                 "the shards disagree: shard 0 runs AllreduceBucket sum in a CUDA graph; "
                 "shard 1 runs AllreduceBucket sum outside of CUDA graphs");
    });
  }
}

// The file of CUDA_EMULATION_FAULT, which the emulation reads when it is loaded.
const std::string& FaultFile() {
  static const auto* path = new std::string("/tmp/doppio_device_fault_" + std::to_string(getpid()));
  return *path;
}
const bool kFaultFileIsKnown = setenv("CUDA_EMULATION_FAULT", FaultFile().c_str(), 1) == 0;

// Device 1 hangs while its host goes on. The operation of its shard has not begun, and only the
// other shard waits.
TEST_P(DeviceCollectiveTest, AnOperationBeginsWhenItsDeviceGetsThere) {
  const char* library = std::getenv("CAFFE2_CUDA_LIBRARY");
  if (library == nullptr || std::string(library).find("emulated") == std::string::npos) {
    GTEST_SKIP() << "only emulated devices hang when they are told to";
  }
  if (GetParam() != "NCCL") GTEST_SKIP() << "operations of a host begin when they are called";
  ASSERT_TRUE(kFaultFileIsKnown);
  const bool is_async = std::getenv("CUDA_EMULATION_ASYNC") != nullptr;
  for (const bool recorded : {false, true}) {
    if (recorded && !is_async) continue;  // there a launch returns when its graph is done
    SCOPED_TRACE(recorded ? "recorded" : "not recorded");
    std::barrier both(2);
    RunShards([&](Shard* shard, int rank) {
      shard->Feed("x", {1.f, 2.f});
      NetDef def = RecordedNet(*shard);
      if (!recorded) def.set_type("simple");
      NetBase* net = shard->ws.CreateNet(def);
      for (int run = 0; run < 4; ++run) EXPECT_TRUE(net->Run());
      EXPECT_EQ(shard->Fetch("y"), (std::vector<float>{8.f, 16.f}));
      both.arrive_and_wait();
      const int64_t before = CurrentCollectiveProgress().started;
      std::jthread observer;
      if (rank == 0) {
        std::ofstream(FaultFile()) << "hang 1";
        observer = std::jthread([before] {
          for (int i = 0; i < 1000 && CurrentWaitSeconds(WaitFor::kShards) < 0.2; ++i) SleepMs(10);
          EXPECT_EQ(CurrentCollectiveProgress().started, before + 1);
          std::filesystem::remove(FaultFile());
        });
      }
      both.arrive_and_wait();
      EXPECT_TRUE(net->Run());
      EXPECT_EQ(shard->Fetch("y"), (std::vector<float>{8.f, 16.f}));
      both.arrive_and_wait();
      if (rank == 0) observer.join();
      EXPECT_EQ(CurrentCollectiveProgress().started, before + 2);
      EXPECT_EQ(CurrentCollectiveProgress().operation, "Allreduce sum");
    });
  }
}

TEST_P(DeviceCollectiveTest, BroadcastOfDeviceAndHostTensors) {
  RunShards([](Shard* shard, int rank) {
    const OperatorDef broadcast =
        shard->MakeOp("Broadcast", {"cw", "x"}, {"x"}, {MakeArgument("root", 1)});
    for (const Device& device : {shard->device(), Device{}}) {
      shard->ws.RemoveBlob("x");
      shard->Feed("x", {1.f * rank, 7.f}, device);
      shard->Run(broadcast);
      EXPECT_EQ(shard->Fetch("x"), (std::vector<float>{1.f, 7.f}));
      EXPECT_EQ(shard->ws.GetBlob("x")->Get<Tensor>().device(), device);
    }
  });
}

TEST_P(DeviceCollectiveTest, AllgatherReduceScatterBarrierAndClone) {
  RunShards([](Shard* shard, int rank) {
    OperatorDef clone = shard->MakeOp("CloneCommonWorld", {"cw"}, {"cw2"});
    clone.set_name("cw2_op");
    shard->Run(clone);
    for (const char* world : {"cw", "cw2"}) {
      shard->Feed("x", {1.f * rank, 2.f});
      shard->Run(shard->MakeOp("Allgather", {world, "x"}, {"all"}));
      EXPECT_EQ(shard->Fetch("all"), (std::vector<float>{0.f, 2.f, 1.f, 2.f}));
      shard->Feed("rows", std::vector<float>(1 + rank, 3.f + rank));
      shard->Run(shard->MakeOp("AllgatherRows", {world, "rows"}, {"all_rows"}));
      EXPECT_EQ(shard->Fetch("all_rows"), (std::vector<float>{3.f, 4.f, 4.f}));
      shard->Feed("y", {1.f, 2.f, 3.f + rank});
      BlobGetMutableTensor(shard->ws.CreateBlob("counts"), Device{})
          ->CopyFrom(Tensor({2}, std::vector<int32_t>{1, 2}));
      shard->Run(shard->MakeOp("ReduceScatter", {world, "y", "counts"}, {"y"}));
      std::vector<float> part = shard->Fetch("y");
      part.resize(rank == 0 ? 1 : 2);
      EXPECT_EQ(part, rank == 0 ? std::vector<float>({2.f}) : std::vector<float>({4.f, 7.f}));
      shard->Run(shard->MakeOp("Barrier", {world}, {}));
    }
    shard->Run(shard->MakeOp("DestroyCommonWorld", {"cw2"}, {"cw2"}));
  });
}

TEST_P(DeviceCollectiveTest, DisagreementNamesBothSides) {
  RunShards([](Shard* shard, int rank) {
    shard->Feed("x", std::vector<float>(3 + rank, 1.f));
    const std::string error = ErrorOf([&] {
      shard->Run(shard->MakeOp("Allreduce", {"cw", "x"}, {"x"}));
    });
    EXPECT_HAS(error, "the shards disagree: shard 0 runs Allreduce of 3 x float");
    EXPECT_HAS(error, "shard 1 runs Allreduce of 4 x float");
  });
}

TEST_P(DeviceCollectiveTest, AShardThatDoesNotComeIsNotWaitedForForEver) {
  std::atomic<bool> over{false};
  RunShards(
      [&over](Shard* shard, int rank) {
        if (rank == 1) {
          while (!over) SleepMs(10);
          return;
        }
        shard->Feed("x", {1.f});
        const std::string error = ErrorOf([&] {
          shard->Run(shard->MakeOp("Allreduce", {"cw", "x"}, {"x"}));
        });
        over = true;
        EXPECT_HAS(error, "did not answer within 500 ms");
      },
      500);
}

// The shards of this test share a process: all worlds are aborted at once where that ends waiting
// by itself, which for Gloo it is the other side that does.
TEST_P(DeviceCollectiveTest, AbortEndsWaiting) {
  std::atomic<bool> over{false};
  RunShards([&over](Shard* shard, int rank) {
    if (rank == 1) {
      SleepMs(200);
      if (GetParam() == "NCCL") {
        AbortCommunicators("shard 7 is gone");
      } else {
        shard->ws.GetBlob("cw")->Get<std::shared_ptr<Communicator>>()->Abort("shard 7 is gone");
      }
      while (!over) SleepMs(10);
      return;
    }
    shard->Feed("x", {1.f});
    const std::string error = ErrorOf([&] {
      shard->Run(shard->MakeOp("Allreduce", {"cw", "x"}, {"x"}));
    });
    over = true;
    EXPECT_HAS(error, GetParam() == "NCCL" ? "shard 7 is gone" : "is lost");
  });
}

// What a machine with one GPU can see of NCCL.
TEST(DeviceNcclTest, OneShardIsAWorld) {
  const char* wanted = std::getenv("CAFFE2_TEST_DEVICE");
  if (wanted == nullptr || std::string(wanted) != "cuda") {
    GTEST_SKIP() << "CAFFE2_TEST_DEVICE is not cuda";
  }
  if (NumDevices(CUDA) == 0) GTEST_SKIP() << DeviceProblem(CUDA);
  Shard shard("NCCL", NewDevicePrefix(), 1, 0, 20000);
  shard.Feed("x", {1.f, 2.f});
  shard.Run(shard.MakeOp("Allgather", {"cw", "x"}, {"all"}));
  EXPECT_EQ(shard.Fetch("all"), (std::vector<float>{1.f, 2.f}));
  shard.Run(shard.MakeOp("Allreduce", {"cw", "x"}, {"x"}));
  shard.Run(shard.MakeOp("Barrier", {"cw"}, {}));
  EXPECT_EQ(shard.Fetch("x"), (std::vector<float>{1.f, 2.f}));
}

}  // namespace
}  // namespace caffe2::testing
