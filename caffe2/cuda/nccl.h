// Groups of GPUs that exchange data by NCCL, in one process or in several.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Identifies a group. One member makes it and gives it to the others.
using NcclId = std::array<char, 128>;
// Throws Error if NCCL was not found at build time or cannot be loaded.
NcclId MakeNcclId();

// One member of a group. All members call the same operations in the same order. A call starts the
// operation on `stream`, after the work that the stream holds; Done() tells when it is done. A call
// waits for the other members in short steps. Between the steps it calls `wait`, which sleeps for a
// moment, or throws to give up. Every function throws Error with NCCL's text; the group cannot be
// used after that. Used by one thread at a time.
class NcclGroup {
 public:
  // `stream` is a stream of `device`. No other member of the group has the same device.
  NcclGroup(const NcclId& id, int rank, int size, int device, Stream stream,
            std::function<void()> wait);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  // Types: float, double, float16, bfloat16, int32, int64, uint8. Sums are formed in that type, in
  // the same way on every member.
  void Allreduce(void* data, int64_t count, TypeMeta type);
  void Broadcast(void* data, size_t bytes, int root);
  void Allgather(const void* input, void* output, size_t bytes);
  // Member i gets the sum of part i of `data`, which has counts[i] elements. The other parts become
  // undefined.
  void ReduceParts(void* data, const std::vector<int64_t>& counts, TypeMeta type);

  // True if all operations are done. Throws if one failed, on this member or another.
  bool Done();
  // Makes the stream `waiting` of the same device wait for all operations. Recorded operations
  // (graph.h) use it, with CheckErrors() in place of Done().
  void Join(Stream waiting);
  void CheckErrors();
  // Ends the operations in progress, so that the stream goes on. The group cannot be used after
  // that.
  void Abort();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A group of the devices of one process. One call starts an operation on all devices, in their
// compute streams, after the work that the streams hold. Pointers are in the order of the devices.
// An output may be the input of the same device, except for ReduceScatter and Allgather. Every
// function throws Error with NCCL's text.
class LocalNcclGroup {
 public:
  // The group of these devices; made at the first call and kept for ever. Null if NCCL is missing
  // or there are not at least two devices, all different. For two devices or more, the choice
  // and its reason are logged once for each list of devices.
  static LocalNcclGroup* Of(const std::vector<int>& devices);

  void Allreduce(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                 int64_t count, TypeMeta type);
  // The sum goes only to the device number `root` of the list.
  void Reduce(const std::vector<const void*>& inputs, void* output, int64_t count, TypeMeta type,
              int root);
  void Broadcast(const void* input, const std::vector<void*>& outputs, size_t bytes, int root);
  // Concatenates `bytes` of each input into every output.
  void Allgather(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                 size_t bytes);
  // Output i gets elements [i * count, (i + 1) * count) of the sum.
  void ReduceScatter(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                     int64_t count, TypeMeta type);

 private:
  struct State;
  explicit LocalNcclGroup(const std::vector<int>& devices);
  std::shared_ptr<State> state_;  // shared_ptr: State may stay incomplete here
};

// Implements LocalNcclGroup::Of; makes a group by `make`. Shared by the builds with and without
// NCCL and by the emulation of the tests.
LocalNcclGroup* FindLocalGroup(const std::vector<int>& devices,
                               const std::function<std::unique_ptr<LocalNcclGroup>()>& make);

}  // namespace caffe2::cuda
