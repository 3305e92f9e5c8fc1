// caffe2/cuda/runtime.cc, which the emulation of devices replaces, over a library that refuses what
// CUDA refuses (fake_cuda.h): what is asked of it, in which order, and what becomes of errors.
#include "caffe2/cuda/runtime.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/host_values.h"
#include "caffe2/cuda/scratch.h"
#include "caffe2/cuda/stream_memory.h"
#include "tests/cuda_runtime/fake_cuda.h"

namespace caffe2::cuda {
namespace {

class RuntimeTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(fake::TakeViolations(), std::vector<std::string>());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error that was thrown is over";
  }

  static Stream Compute(int device = 0) { return GetStream(device, kComputeStream); }
  static int* Ints(int n, int device = 0) {
    return static_cast<int*>(Allocate(n * sizeof(int), device));
  }
  static void Copy(int* to, const int* from, int n, Stream stream = Compute()) {
    CopyAsync(to, from, n * sizeof(int), stream);
  }
  static std::string ErrorOf(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  static int CurrentDevice() {
    int device = -1;
    cudaGetDevice(&device);
    return device;
  }
};

TEST_F(RuntimeTest, DevicesAreCountedAndDescribed) {
  EXPECT_EQ(DeviceCount(), 2);
  EXPECT_EQ(DeviceProblem(), "");
  EXPECT_EQ(Properties(1).name, "fake 1");
  EXPECT_EQ(Properties(1).multiprocessors, 3);
  EXPECT_NE(ErrorOf([] { Properties(2); }).find("there is no device cuda:2; this machine has 2"),
            std::string::npos);
  const FreeMemory memory = MemoryOf(0);
  EXPECT_EQ(memory.free, 140u) << "with what the pool keeps unused";
  EXPECT_EQ(memory.total, 1000u);
}

TEST_F(RuntimeTest, NothingChangesWhichDeviceIsCurrent) {
  SetDevice(0);
  {
    const DeviceGuard guard(1);
    EXPECT_EQ(CurrentDevice(), 1);
    const DeviceGuard inner(0);
    EXPECT_EQ(CurrentDevice(), 0);
  }
  EXPECT_EQ(CurrentDevice(), 0);
  // Events and streams belong to the device that is asked for.
  Event event(1);
  event.Record(GetStream(1, kCopyStream));
  event.Delay(Compute(0));
  Free(Ints(1, 1), 1);
  EXPECT_EQ(CurrentDevice(), 0);
  EXPECT_EQ(GetStream(1, kCopyStream), GetStream(1, kCopyStream));
  EXPECT_NE(GetStream(1, kCopyStream), GetStream(1, kCommunicationStream));
}

TEST_F(RuntimeTest, ErrorsNameTheCall) {
  const std::string error = ErrorOf([] { CopyAsync(nullptr, nullptr, 4, Compute()); });
  EXPECT_NE(error.find("cudaMemcpyAsync"), std::string::npos) << error;
  EXPECT_NE(error.find("invalid argument"), std::string::npos) << error;
  fake::LimitMemory(100);
  EXPECT_EQ(Allocate(101, 0), nullptr);
  fake::LimitMemory(SIZE_MAX);
}

TEST_F(RuntimeTest, EventsAndTimes) {
  Event event(0);
  EXPECT_TRUE(event.Done()) << "nothing was marked";
  event.Record(Compute());
  event.Synchronize();
  EXPECT_TRUE(event.Done());
  int calls = 0;
  EXPECT_EQ(MillisecondsOf(Compute(), [&calls] { ++calls; }), 2.5);
  EXPECT_EQ(calls, 1);
}

// Memory that one piece of work gives back serves the next one, and goes when the graph does.
TEST_F(RuntimeTest, GraphsDoAgainWhatWasRecorded) {
  const int before = fake::LiveBlocks();
  int *x = Ints(3), *y = Ints(3);
  {
    std::vector<void*> scratch;
    Graph graph(0, [&] {
      for (const int n : {3, 2}) {
        auto* data = Ints(n);
        scratch.push_back(data);
        Copy(data, x, 2);
        Copy(y, data, 2);
        Free(data, 0);
      }
      SetBytesAsync(y + 2, 0, sizeof(int), Compute());
    });
    EXPECT_EQ(scratch[0], scratch[1]);
    EXPECT_EQ(fake::LiveBlocks(), before + 3);
    for (const int value : {5, 6}) {
      x[0] = value;
      x[1] = y[2] = -value;
      graph.Launch();
      EXPECT_EQ(std::vector<int>(y, y + 3), (std::vector<int>{value, -value, 0}));
    }
  }
  Free(x, 0);
  Free(y, 0);
  EXPECT_EQ(fake::LiveBlocks(), before);
}

// What cannot be recorded throws, and the device is as before.
TEST_F(RuntimeTest, WhatCannotBeRecordedThrows) {
  int* x = Ints(2);
  const std::vector<int> host = {1, 2};
  Event event(0);
  const std::vector<std::pair<const char*, std::function<void()>>> bodies = {
      {"cudaStreamSynchronize", [] { Synchronize(Compute()); }},
      {"the host cannot be recorded", [&] { Copy(x, host.data(), 2); }},
      {"the host cannot be recorded",
       [&] { CopyRowsAsync(x, 4, host.data(), 4, 4, 2, Compute()); }},
      {"cudaEventQuery",
       [&] {
         event.Record(Compute());
         event.Done();
       }},
      {"still in use", [] { Ints(1); }},
      {"cudaStreamEndCapture",  // a branch that nobody joins
       [&] {
         event.Record(Compute());
         event.Delay(GetStream(0, kCommunicationStream));
         SetBytesAsync(x, 0, 4, GetStream(0, kCommunicationStream));
       }},
      {"while the thread records another one", [] { Graph inner(0, [] {}); }},
  };
  for (const auto& [text, body] : bodies) {
    const std::string error = ErrorOf([&body = body] { Graph graph(0, body); });
    EXPECT_NE(error.find(text), std::string::npos) << text << ": " << error;
    cudaGetLastError();  // of bodies that were not told
    Copy(x, host.data(), 2);
    Synchronize(Compute());
    EXPECT_FALSE(IsRecorded(Compute()));
    EXPECT_FALSE(IsRecorded(GetStream(0, kCommunicationStream)));
    Graph graph(0, [x] { Copy(x + 1, x, 1); });
    graph.Launch();
    EXPECT_EQ(x[1], 1);
  }
  Free(x, 0);
}

TEST_F(RuntimeTest, MemoryOfBeforeGoesBackAfterwards) {
  const int before = fake::LiveBlocks();
  int* x = Ints(1);
  Graph graph(0, [x] {
    SetBytesAsync(x, 0, sizeof(int), Compute());
    Free(x, 0);
  });
  EXPECT_EQ(fake::LiveBlocks(), before);
}

// Other threads wait, copy and allocate on the same device while one records, and record, too.
TEST_F(RuntimeTest, OtherThreadsGoOnWhileOneRecords) {
  int *x = Ints(1), *y = Ints(1), *z = Ints(1);
  *x = 1;
  *y = *z = 0;
  std::unique_ptr<Graph> theirs;
  Graph graph(0, [&] {
    Copy(y, x, 1);
    std::thread([&] {
      EXPECT_FALSE(IsRecorded(Compute()));
      const int five = 5;
      Copy(z, &five, 1);
      Synchronize(Compute());
      EXPECT_EQ(*z, 5);
      Event event(0);
      event.Record(Compute());
      event.Delay(GetStream(0, kCopyStream));
      EXPECT_TRUE(event.Done());
      Free(Ints(3), 0);
      theirs = std::make_unique<Graph>(0, [&] { Copy(z, x, 1); });
    }).join();
    EXPECT_TRUE(IsRecorded(Compute()));
  });
  EXPECT_EQ(*y, 0) << "recorded, not done";
  graph.Launch();
  EXPECT_EQ(*y, 1);
  EXPECT_EQ(*z, 5) << "of the other graph alone";
  theirs->Launch();
  EXPECT_EQ(*z, 1);
  for (int* data : {x, y, z}) Free(data, 0);
}

// Values of the host go to recorded work before each run.
TEST_F(RuntimeTest, RecordedWorkReadsValuesOfTheHost) {
  HostValues values(0);
  int *x = Ints(1), next = 3;
  std::unique_ptr<Graph> graph;
  {
    const HostValuesScope scope(&values);
    EXPECT_EQ(RecordedHostValues(), &values);
    graph = std::make_unique<Graph>(
        0, [&] { Copy(x, RecordedHostValues()->Add<int>([&next] { return next++; }), 1); });
  }
  EXPECT_EQ(RecordedHostValues(), nullptr);
  for (const int expected : {3, 4}) {
    values.Send();
    graph->Launch();
    EXPECT_EQ(*x, expected);
  }
  Free(x, 0);
}

TEST_F(RuntimeTest, ValuesOfTheHostThatDoNotFitAreOutOfMemory) {
  fake::LimitMemory(100);
  EXPECT_THROW(HostValues(0), OutOfMemoryError);
  fake::LimitMemory(std::numeric_limits<size_t>::max());
}

TEST_F(RuntimeTest, PinnedMemoryAndReports) {
  void* data = AllocatePinned(8);
  ASSERT_NE(data, nullptr);
  FreePinned(data);
  KernelReport* report = ReportOf(0);
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->kind, KernelReport::kNone);
  EXPECT_EQ(ReportOf(0), report);
  EXPECT_NE(ReportOf(1), report);
}

}  // namespace
}  // namespace caffe2::cuda
