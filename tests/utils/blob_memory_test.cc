#include "caffe2/utils/blob_memory.h"

#include <gtest/gtest.h>

#include "caffe2/core/tensor_int8.h"

namespace caffe2 {
namespace {

Tensor* Add(Workspace* ws, const std::string& name, const std::vector<int64_t>& dims) {
  auto* tensor = ws->CreateBlob(name)->GetMutable<Tensor>();
  tensor->Resize(dims);
  tensor->mutable_data<float>();
  return tensor;
}

TEST(BlobMemoryTest, CountsSharedBytesOnce) {
  Workspace ws;
  Tensor* block = Add(&ws, "block", {10, 10});
  *ws.CreateBlob("first")->GetMutable<Tensor>() = block->View(0, {20});
  *ws.CreateBlob("middle")->GetMutable<Tensor>() = block->View(10, {5, 6});
  Add(&ws, "alone", {3});
  ws.CreateBlob("copy")->GetMutable<Tensor>()->ShareData(*Add(&ws, "halves", {8}));
  const WorkspaceMemory memory = MeasureMemory(ws);
  std::map<std::string, int> shared;
  for (const BlobMemory& blob : memory.blobs) shared[blob.name] = blob.shared_with;
  EXPECT_EQ(
      shared,
      (std::map<std::string, int>{
          {"block", 2}, {"first", 2}, {"middle", 2}, {"alone", 0}, {"copy", 1}, {"halves", 1}}));
  EXPECT_EQ(memory.blob_bytes, 4 * (100 + 20 + 30 + 3 + 8 + 8));
  EXPECT_EQ(memory.distinct_bytes, 4 * (100 + 3 + 8));
  EXPECT_EQ(memory.blobs[0].name, "block");
  EXPECT_EQ(memory.blobs[1].name, "middle");
  EXPECT_EQ(memory.blobs[1].shape, "[5, 6]");
  EXPECT_EQ(memory.blobs[1].type, "float");
  EXPECT_EQ(memory.blobs[1].device, "cpu");
  EXPECT_EQ(memory.blobs[1].nbytes, 120);
}

TEST(BlobMemoryTest, CountsQuantizedTensors) {
  Workspace ws;
  auto* levels = ws.CreateBlob("levels")->GetMutable<int8::Int8TensorCPU>();
  levels->t.Resize(2, 3);
  levels->t.mutable_data<uint8_t>();
  const WorkspaceMemory memory = MeasureMemory(ws);
  ASSERT_EQ(memory.blobs.size(), 1u);
  EXPECT_EQ(memory.blobs[0].type, "uint8_t");
  EXPECT_EQ(memory.blob_bytes, 6);
  EXPECT_EQ(memory.distinct_bytes, 6);
}

TEST(BlobMemoryTest, NeighboursDoNotShare) {
  Workspace ws;
  Tensor* block = Add(&ws, "block", {100});
  *ws.CreateBlob("a")->GetMutable<Tensor>() = block->View(0, {50});
  *ws.CreateBlob("b")->GetMutable<Tensor>() = block->View(50, {50});
  ws.RemoveBlob("block");
  const WorkspaceMemory memory = MeasureMemory(ws);
  ASSERT_EQ(memory.blobs.size(), 2u);
  EXPECT_EQ(memory.blobs[0].shared_with + memory.blobs[1].shared_with, 0);
  EXPECT_EQ(memory.distinct_bytes, 400);
}

TEST(BlobMemoryTest, LeavesOutWhatHoldsNoValues) {
  Workspace parent;
  Add(&parent, "parents", {2});
  Workspace ws(&parent);
  Add(&ws, "empty", {0});
  ws.CreateBlob("shape_only")->GetMutable<Tensor>()->Resize(5);
  *ws.CreateBlob("text")->GetMutable<std::string>() = "not a tensor";
  ws.CreateBlob("nothing");
  const WorkspaceMemory memory = MeasureMemory(ws);
  ASSERT_EQ(memory.blobs.size(), 1u);
  EXPECT_EQ(memory.blobs[0].name, "parents");
  EXPECT_EQ(memory.distinct_bytes, 8);
}

}  // namespace
}  // namespace caffe2
