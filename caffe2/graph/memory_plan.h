// Memory of a net, planned before it runs: blobs that are not alive at the same time share it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Where each planned blob lies in one block of memory.
struct MemoryPlan {
  struct Slot {
    int64_t offset;  // bytes, a multiple of 64
    int64_t nbytes;
    TensorShape shape;
  };
  std::map<std::string, Slot> slots;
  int64_t arena_bytes = 0;      // of the block
  int64_t unplanned_bytes = 0;  // what the same blobs take without sharing
};

// Plans the blobs that `net` writes before it reads them and whose shape is in `shapes`. A blob is
// alive from its first to its last access in definition order; blobs whose lives overlap get
// disjoint memory (greedy best fit, largest first).
//
// Left out, each with its own memory as before: external inputs and outputs, blobs in `keep` (what
// is fetched, saved or read elsewhere), operands of communication, of queues, and of operators
// that alias their input (Alias) or keep their output (Iter), blobs that operators name in
// arguments (nested nets), and blobs that no operator reads. The plan holds for executors that run
// computing operators in definition order: `simple`, and `dag` with the net argument in_order = 1.
MemoryPlan PlanMemory(const NetDef& net, const std::map<std::string, TensorShape>& shapes,
                      const std::set<std::string>& keep = {});

// Lets blobs that are not alive at the same time be one blob, for callers that keep the memory of
// blobs in the workspace: {blob: the first blob it shares with}, for those that share. A blob is
// alive as for PlanMemory, which says also which of the `candidates` are left out; candidates whose
// shape is not in `shapes` are taken to have one size. Blobs of different devices or, where
// known, element types do not share. Greedy: each blob takes the free one of the nearest size.
std::map<std::string, std::string> PlanSharedBlobs(
    const NetDef& net, const std::set<std::string>& candidates,
    const std::map<std::string, TensorShape>& shapes);

// Renames blobs of operators, {old: new}: inputs, outputs and control inputs.
void RenameBlobs(const std::map<std::string, std::string>& renamed, NetDef* net);

// Allocates the block on `device` and makes the planned blobs of the workspace views of it. Call
// it before the net first runs, and again if shapes change; a tensor that outgrows its slot gets
// memory of its own.
void ApplyMemoryPlan(const MemoryPlan& plan, const Device& device, Workspace* ws);

}  // namespace caffe2
