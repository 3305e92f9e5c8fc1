// Plans the memory of a net before it runs: blobs that are not alive at the same time share memory.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "caffe2/core/device.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// The place of each planned blob in one block of memory.
struct MemoryPlan {
  struct Slot {
    int64_t offset;  // in bytes, a multiple of 64
    int64_t nbytes;
    TensorShape shape;
  };
  std::map<std::string, Slot> slots;
  int64_t arena_bytes = 0;      // size of the block
  int64_t unplanned_bytes = 0;  // size of the same blobs without sharing
};

// Plans the blobs that `net` writes before it reads them and whose shape is in `shapes`. A blob is
// alive from its first to its last access in definition order; blobs whose lives overlap get
// disjoint memory (greedy best fit, largest first).
//
// These blobs are left out and keep memory of their own:
//  - external inputs and outputs, and blobs in `keep` (fetched, saved or read elsewhere);
//  - operands of collectives, of queues, of operators that run nets, of operators that alias their
//    input (Alias) and of operators that need their last output (Iter);
//  - blobs that arguments and subnets name;
//  - blobs that no operator reads, and tensors of strings.
// The plan is valid for executors that run operators in definition order: `simple`, and `dag` with
// the net argument in_order = 1.
MemoryPlan PlanMemory(const NetDef& net, const std::map<std::string, TensorShape>& shapes,
                      const std::set<std::string>& keep = {});

// Lets candidates that are not alive at the same time share one blob, for callers that give each
// blob memory of its own. Returns {blob: the blob whose name it takes} for the blobs that share.
// When a blob is alive, and which blobs are left out, is as for PlanMemory without `keep`. A
// candidate whose shape is not in `shapes` counts as one float. Blobs on different devices or of
// different element types do not share. Greedy: each blob takes the free one of the nearest size.
std::map<std::string, std::string> PlanSharedBlobs(
    const NetDef& net, const std::set<std::string>& candidates,
    const std::map<std::string, TensorShape>& shapes);

// Renames blobs, {old: new}, in the inputs, outputs and control inputs of operators.
void RenameBlobs(const std::map<std::string, std::string>& renamed, NetDef* net);

// Allocates the block on `device` and makes the planned blobs of the workspace views of it, which
// share ownership of the block. Call it before the net first runs, and again if shapes change. A
// tensor that outgrows its slot gets memory of its own.
void ApplyMemoryPlan(const MemoryPlan& plan, const Device& device, Workspace* ws);

}  // namespace caffe2
