// How plans of cuDNN are chosen, kept and replaced, over a library that lists what the test says
// (fake_cudnn.h).
#include "caffe2/cuda/cudnn_work.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/graph.h"
#include "caffe2/cuda/runtime.h"
#include "tests/core/log_lines.h"
#include "tests/cuda_runtime/fake_cuda.h"
#include "tests/cuda_runtime/fake_cudnn.h"

namespace caffe2::cuda {
namespace {

using fake::Engine;
using fake::SetEngines;
using fake::TakeRuns;
using Runs = std::vector<int>;

constexpr int kAlways = 1000000;
const Engine kBroken{.broken_runs = kAlways};
const Engine kWithoutPlan{.has_plan = false};

class CudnnWorkTest : public ::testing::Test {
 protected:
  CudnnWorkTest() {
    work_.key = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    work_.graph = [](const CudnnTarget&) {
      return CudnnDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "graph");
    };
    TakeRuns();
  }

  void Run() { RunCudnnWork(work_, {}, 0, GetStream(0, kComputeStream)); }
  bool Try() { return TryCudnnWork(work_, {}, 0, GetStream(0, kComputeStream)); }

  CudnnWork work_;
  const caffe2::testing::LogLines log_;
};

TEST_F(CudnnWorkTest, TakesTheFirstThatMayBeUsedHoweverManyMayNot) {
  std::vector<Engine> engines(60, Engine{.has_tensor_cores = true});
  engines.push_back({.is_deterministic = false});
  engines.push_back({.workspace_bytes = 1000});  // of a device with as many bytes in all
  engines.push_back(kWithoutPlan);
  engines.push_back({.workspace_bytes = 100});
  engines.push_back({});
  work_.rules.tensor_cores = false;
  SetEngines(engines, {{}});
  const int before = fake::LiveBlocks();
  Run();
  Run();
  EXPECT_EQ(TakeRuns(), (Runs{63, 63}));
  EXPECT_EQ(log_.Count("cuDNN cannot make 1 plans that it ranks higher"), 1);
  EXPECT_FALSE(log_.Contain("fallback"));
  EXPECT_EQ(fake::LiveBlocks(), before) << "workspaces are given back";
}

TEST_F(CudnnWorkTest, SaysThatOnlyTheFallbackHasAPlan) {
  SetEngines({kWithoutPlan}, {kWithoutPlan, {}});
  Run();
  EXPECT_EQ(TakeRuns(), Runs{2});
  EXPECT_EQ(log_.Count("fallback"), 1);
}

TEST_F(CudnnWorkTest, ThrowsTheLastReasonWhereThereIsNone) {
  SetEngines({kWithoutPlan}, {{.is_deterministic = false}});
  try {
    Run();
    FAIL() << "there is no plan";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("it is not deterministic"), std::string::npos)
        << error.what();
  }
}

TEST_F(CudnnWorkTest, APlanThatFailsAtFirstGivesWayToTheNext) {
  SetEngines({kBroken, kBroken, {}, {}});
  Run();
  EXPECT_EQ(TakeRuns().back(), 2);
  EXPECT_TRUE(log_.Contain(work_.key + ": looking for another plan"));
  Run();
  EXPECT_EQ(TakeRuns(), Runs{2});
}

TEST_F(CudnnWorkTest, APlanThatHasRunFailsAloud) {
  SetEngines({{}, {}});
  Run();
  SetEngines({{.broken_runs = 1}, {}});
  TakeRuns();
  EXPECT_THROW(Run(), Error);
  Run();
  EXPECT_EQ(TakeRuns(), (Runs{0, 0}));
}

TEST_F(CudnnWorkTest, NothingElseIsTriedInARecording) {
  SetEngines({{.broken_runs = 1}, {}});
  EXPECT_THROW(Graph(0, [&] { Run(); }), Error);
  EXPECT_EQ(TakeRuns(), Runs{0});
  Run();
  EXPECT_EQ(TakeRuns(), Runs{0});
}

TEST_F(CudnnWorkTest, WhatHasNoPlanIsDoneInParts) {
  SetEngines({kWithoutPlan}, {kWithoutPlan});
  EXPECT_FALSE(Try());
  SetEngines({{}});
  EXPECT_FALSE(Try()) << "it is remembered";
  EXPECT_EQ(TakeRuns(), Runs());
  EXPECT_EQ(log_.Count("not fused"), 1);
}

TEST_F(CudnnWorkTest, WhatHasNoPlanThatWorksIsDoneInParts) {
  SetEngines({kBroken, kBroken});
  EXPECT_FALSE(Try());
  SetEngines({{}});
  TakeRuns();
  EXPECT_FALSE(Try()) << "it is remembered";
  EXPECT_EQ(TakeRuns(), Runs());
}

// With a folder for plans, which are then measured.
class MeasuredCudnnWorkTest : public CudnnWorkTest {
 protected:
  MeasuredCudnnWorkTest() {
    std::string name = ::testing::TempDir() + "/plans.XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("CAFFE2_CUDA_PLAN_CACHE", folder_.c_str(), 1);
  }
  ~MeasuredCudnnWorkTest() override {
    unsetenv("CAFFE2_CUDA_PLAN_CACHE");
    std::filesystem::remove_all(folder_);
  }
  int Files() const {
    const std::filesystem::directory_iterator files(folder_);
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  std::string folder_;
};

TEST_F(MeasuredCudnnWorkTest, PassesOverWhatDoesNotRunAndKeepsTheChoice) {
  SetEngines({kBroken, {}, {}});
  Run();
  EXPECT_TRUE(log_.Contain("candidate 0 is skipped"));
  TakeRuns();
  Run();
  EXPECT_EQ(TakeRuns(), Runs{1});
  EXPECT_EQ(Files(), 1);
}

TEST_F(MeasuredCudnnWorkTest, APlanThatHasNoTextIsNotKept) {
  SetEngines({{.has_text = false}});
  Run();
  EXPECT_EQ(TakeRuns(), Runs{0});
  EXPECT_TRUE(log_.Contain("cannot be kept"));
  EXPECT_EQ(Files(), 0);
}

TEST_F(MeasuredCudnnWorkTest, WantOfMemoryIsNotHeldAgainstAPlanForEver) {
  SetEngines({{.workspace_bytes = 100}, {}});
  fake::LimitMemory(50);
  Run();
  EXPECT_EQ(TakeRuns().back(), 1);
  EXPECT_EQ(Files(), 0) << "the next program may have more memory";
  SetEngines({{.workspace_bytes = 100}, {.workspace_bytes = 100}});
  work_.key += " where all want memory";
  EXPECT_THROW(Try(), OutOfMemoryError) << "it stays fused";
  fake::LimitMemory(std::numeric_limits<size_t>::max());
  EXPECT_TRUE(Try());
}

TEST_F(MeasuredCudnnWorkTest, ARecordingMeasuresNothing) {
  SetEngines({{}, {}});
  Graph(0, [&] { Run(); });
  EXPECT_EQ(TakeRuns(), Runs{0});
  EXPECT_EQ(Files(), 0);
}

}  // namespace
}  // namespace caffe2::cuda
