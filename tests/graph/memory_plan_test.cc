#include "caffe2/graph/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

#include "caffe2/core/workspace.h"
#include "tests/graph/gradient_check.h"

namespace caffe2 {
namespace {

using testing::Op;

std::map<std::string, TensorShape> Shapes(const std::map<std::string, int64_t>& elements) {
  std::map<std::string, TensorShape> shapes;
  for (const auto& [blob, n] : elements) shapes[blob] = CreateTensorShape({n}, TensorProto::FLOAT);
  return shapes;
}

TEST(MemoryPlanTest, AChainAlternatesBetweenTwoBuffers) {
  NetDef net;
  std::map<std::string, int64_t> sizes;
  for (int i = 0; i < 6; ++i) {
    *net.add_op() = Op("Relu", {"b" + std::to_string(i)}, {"b" + std::to_string(i + 1)});
    sizes["b" + std::to_string(i + 1)] = 1024;
  }
  *net.add_op() = Op("Relu", {"b6"}, {"out"});
  net.add_external_input("b0");
  net.add_external_output("out");
  const MemoryPlan plan = PlanMemory(net, Shapes(sizes));
  EXPECT_EQ(plan.slots.size(), 6u);
  EXPECT_EQ(plan.arena_bytes, 2 * 4096);
  EXPECT_EQ(plan.unplanned_bytes, 6 * 4096);
}

TEST(MemoryPlanTest, WhatOthersReadKeepsItsOwnMemory) {
  NetDef net;
  *net.add_op() = Op("Relu", {"x"}, {"kept"});
  *net.add_op() = Op("Relu", {"kept"}, {"reduced"});
  *net.add_op() = Op("AllreduceBucket", {"cw", "reduced"}, {"reduced"});
  *net.add_op() = Op("Relu", {"carried"}, {"y"});
  *net.add_op() = Op("Relu", {"y"}, {"carried"});
  *net.add_op() = Op("Relu", {"y"}, {"unread"});
  *net.add_op() = Op("Relu", {"y"}, {"unknown"});
  *net.add_op() = Op("Relu", {"unknown"}, {"unknown"});
  const MemoryPlan plan = PlanMemory(
      net, Shapes({{"kept", 1}, {"reduced", 1}, {"carried", 1}, {"y", 1}, {"unread", 1}}),
      {"kept"});
  ASSERT_EQ(plan.slots.size(), 1u);
  EXPECT_TRUE(plan.slots.count("y"));
}

// Nets inside operators see blobs that the operator does not list.
TEST(MemoryPlanTest, WhatNestedNetsTouchKeepsItsOwnMemory) {
  NetDef nested, net;
  *nested.add_op() = Op("Sum", {"a", "b"}, {"a"});
  *net.add_op() = Op("Relu", {"x"}, {"a"});
  *net.add_op() = Op("Relu", {"a"}, {"b"});
  *net.add_op() = Op("Relu", {"b"}, {"c"});
  *net.add_op() = Op("If", {"condition"}, {});
  *net.mutable_op(3)->add_arg() = MakeArgument("then_net", nested);
  *net.add_op() = Op("Relu", {"c"}, {"d"});
  const MemoryPlan plan = PlanMemory(net, Shapes({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}));
  ASSERT_EQ(plan.slots.size(), 1u);
  EXPECT_TRUE(plan.slots.count("c"));
}

// Operators that keep what an output held, or that hand the memory of a blob on.
TEST(MemoryPlanTest, OutputsThatOutliveTheRunKeepTheirOwnMemory) {
  NetDef net;
  *net.add_op() = Op("Iter", {}, {"iter"});
  *net.add_op() = Op("SafeDequeueBlobs", {"queue"}, {"record", "closed"});
  *net.add_op() = Op("Sum", {"iter", "record"}, {"moved"});
  *net.add_op() = Op("EnqueueBlobs", {"other_queue", "moved"}, {"moved"});
  *net.add_op() = Op("Relu", {"closed"}, {"y"});
  EXPECT_TRUE(PlanMemory(net, Shapes({{"iter", 1}, {"record", 1}, {"closed", 1}, {"moved", 1}}))
                  .slots.empty());
}

// Views go where the memory they are views of goes.
TEST(MemoryPlanTest, ViewsKeepTheirOwnMemory) {
  NetDef net;
  *net.add_op() = Op("Relu", {"x"}, {"a"});
  *net.add_op() = Op("AliasWithName", {"a"}, {"b"});
  *net.add_op() = Op("Relu", {"b"}, {"c"});
  *net.add_op() = Op("UnsafeCoalesce", {"c"}, {"c", "all"});
  *net.add_op() = Op("Relu", {"all"}, {"y"});
  EXPECT_TRUE(PlanMemory(net, Shapes({{"a", 1}, {"b", 1}, {"c", 1}, {"all", 1}})).slots.empty());
}

TEST(MemoryPlanTest, BlobsThatLiveAtTheSameTimeNeverOverlap) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    NetDef net;
    std::map<std::string, int64_t> sizes;
    std::vector<std::string> blobs = {"x"};
    for (int i = 0; i < 40; ++i) {
      const std::string blob = "b" + std::to_string(i);
      sizes[blob] = 1 + random() % 5000;
      *net.add_op() = Op("Sum", {blobs[random() % blobs.size()], blobs.back()}, {blob});
      blobs.push_back(blob);
    }
    const MemoryPlan plan = PlanMemory(net, Shapes(sizes));
    std::map<std::string, std::pair<int, int>> lives;
    for (int i = 0; i < net.op_size(); ++i) {
      for (const auto* list : {&net.op(i).input(), &net.op(i).output()}) {
        for (const std::string& blob : *list) {
          auto [it, inserted] = lives.try_emplace(blob, i, i);
          it->second.second = i;
        }
      }
    }
    int64_t peak = 0;
    for (int i = 0; i < net.op_size(); ++i) {
      int64_t alive = 0;
      for (const auto& [blob, slot] : plan.slots) {
        if (lives[blob].first <= i && i <= lives[blob].second) alive += slot.nbytes;
      }
      peak = std::max(peak, alive);
    }
    EXPECT_GE(plan.arena_bytes, peak);
    EXPECT_LE(plan.arena_bytes, plan.unplanned_bytes);
    for (const auto& [a, slot_a] : plan.slots) {
      EXPECT_EQ(slot_a.offset % 64, 0);
      for (const auto& [b, slot_b] : plan.slots) {
        if (a == b || lives[a].second < lives[b].first || lives[b].second < lives[a].first)
          continue;
        EXPECT_TRUE(slot_a.offset + slot_a.nbytes <= slot_b.offset ||
                    slot_b.offset + slot_b.nbytes <= slot_a.offset)
            << a << " and " << b;
      }
    }
  }
}

TEST(MemoryPlanTest, APlannedNetGivesTheSameResult) {
  NetDef net;
  net.set_name("n");
  *net.add_op() = Op("Relu", {"x"}, {"a"});
  *net.add_op() = Op("Sum", {"a", "x"}, {"b"});
  *net.add_op() = Op("Sum", {"b", "a"}, {"c"});
  *net.add_op() = Op("Relu", {"c"}, {"d"});
  *net.add_op() = Op("Sum", {"d", "x"}, {"y"});
  net.add_external_output("y");
  Workspace ws;
  Tensor* x = BlobGetMutableTensor(ws.CreateBlob("x"), Device{});
  x->CopyFrom(Tensor({3}, std::vector<float>{1, -2, 3}));
  const MemoryPlan plan = PlanMemory(net, Shapes({{"a", 3}, {"b", 3}, {"c", 3}, {"d", 3}}));
  EXPECT_LT(plan.arena_bytes, plan.unplanned_bytes);
  ApplyMemoryPlan(plan, Device{}, &ws);
  NetBase* created = ws.CreateNet(net);
  const void* storage = ws.GetBlob("c")->Get<Tensor>().raw_data();
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(created->Run());
    const float* y = ws.GetBlob("y")->Get<Tensor>().data<float>();
    EXPECT_FLOAT_EQ(y[0], 4);  // relu(2 * relu(x) + x) + x
    EXPECT_FLOAT_EQ(y[1], -2);
    EXPECT_FLOAT_EQ(y[2], 12);
  }
  EXPECT_EQ(ws.GetBlob("c")->Get<Tensor>().raw_data(), storage);
}

TEST(SharedBlobsTest, AChainAlternatesBetweenTwoBlobs) {
  NetDef net;
  for (int i = 0; i < 5; ++i) {
    *net.add_op() = Op("Relu", {"b" + std::to_string(i)}, {"b" + std::to_string(i + 1)});
  }
  const auto shared = PlanSharedBlobs(net, {"b1", "b2", "b3", "b4"}, {});
  const std::map<std::string, std::string> expected = {{"b3", "b1"}, {"b4", "b2"}};
  EXPECT_EQ(shared, expected);
  RenameBlobs(shared, &net);
  EXPECT_EQ(net.op(2).input(0), "b2");
  EXPECT_EQ(net.op(2).output(0), "b1");
  EXPECT_EQ(net.op(4).output(0), "b5");
}

TEST(SharedBlobsTest, LikeSizesShareAndTypesDevicesAndNestedNetsDoNot) {
  NetDef net;
  *net.add_op() = Op("Relu", {"x"}, {"small"});
  *net.add_op() = Op("Relu", {"x"}, {"large"});
  *net.add_op() = Op("Sum", {"small", "large"}, {"sum"});
  *net.add_op() = Op("Relu", {"x"}, {"next"});
  *net.add_op() = Op("Relu", {"next"}, {"next"});
  std::map<std::string, TensorShape> shapes =
      Shapes({{"small", 1}, {"large", 100}, {"sum", 5}, {"next", 90}});
  const std::set<std::string> all = {"small", "large", "next"};
  EXPECT_EQ(PlanSharedBlobs(net, all, shapes).at("next"), "large");
  shapes["next"].set_data_type(TensorProto::INT32);
  EXPECT_TRUE(PlanSharedBlobs(net, all, shapes).empty());
  shapes["next"].set_data_type(TensorProto::FLOAT);
  net.mutable_op(3)->mutable_device_option()->set_device_type(CUDA);
  EXPECT_TRUE(PlanSharedBlobs(net, all, shapes).empty());
  net.mutable_op(3)->clear_device_option();
  NetDef on_gpu = net;  // the other operators run where the net does
  on_gpu.mutable_device_option()->set_device_type(CUDA);
  on_gpu.mutable_op(3)->mutable_device_option()->set_device_type(CPU);
  EXPECT_TRUE(PlanSharedBlobs(on_gpu, all, shapes).empty());
  on_gpu.mutable_op(3)->mutable_device_option()->set_device_type(CUDA);
  EXPECT_EQ(PlanSharedBlobs(on_gpu, all, shapes).at("next"), "large");
  OperatorDef* loop = net.add_op();
  *loop = Op("While", {"condition"}, {});
  *loop->add_arg() = MakeArgument("loop_net", net);
  EXPECT_TRUE(PlanSharedBlobs(net, all, shapes).empty());
}

}  // namespace
}  // namespace caffe2
