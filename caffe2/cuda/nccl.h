// One member's side of a group of GPUs that exchange data by NCCL, in whatever process they are.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Names a group: one member makes it and gives it to the others.
using NcclId = std::array<char, 128>;
// Throws Error, in one line, where NCCL was not found when this was built or cannot be loaded.
NcclId MakeNcclId();

// All members call the same operations in the same order. A call starts the operation on `stream`,
// behind what that stream holds; Done() tells when it is over. NCCL's own waits for the other
// members are broken into short ones, between which `wait` is called: it sleeps for a moment, and
// gives up by throwing. Every function throws Error with NCCL's text; the group is then of no use.
// One thread at a time.
class NcclGroup {
 public:
  // `stream` belongs to `device`, which no other member of the group has.
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
  // data[part i] = sums of that part, on member i alone; what the others hold there is undefined.
  void ReduceParts(void* data, const std::vector<int64_t>& counts, TypeMeta type);

  // True if all operations are over. Throws if one failed, also because of another member.
  bool Done();
  // `waiting`, of the same device, goes on only when all operations are over. For operations that
  // are recorded (graph.h), after which CheckErrors() tells what Done() would.
  void Join(Stream waiting);
  void CheckErrors();
  // Ends the operations in progress, so that the stream goes on; the group is of no use then.
  void Abort();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Devices of one process as a group: one thread calls for all of them. Operations go into the
// devices' compute streams, behind what these hold. Pointers are in the order of the devices; an
// output may be the input of the same device, but for ReduceScatter and Allgather. Every function
// throws Error with NCCL's text.
class LocalNcclGroup {
 public:
  // Made when first asked for, and kept. Null where NCCL is missing or the devices are not several
  // different ones; why, is logged once for each list of devices.
  static LocalNcclGroup* Of(const std::vector<int>& devices);

  void Allreduce(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                 int64_t count, TypeMeta type);
  // The sum on device number `root` alone.
  void Reduce(const std::vector<const void*>& inputs, void* output, int64_t count, TypeMeta type,
              int root);
  void Broadcast(const void* input, const std::vector<void*>& outputs, size_t bytes, int root);
  // `bytes` of each input, one behind the other, to every output.
  void Allgather(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                 size_t bytes);
  // Output i: elements [i * count, (i + 1) * count) of the sum.
  void ReduceScatter(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                     int64_t count, TypeMeta type);

 private:
  struct State;
  explicit LocalNcclGroup(const std::vector<int>& devices);
  std::shared_ptr<State> state_;  // which knows how to delete itself
};

// What LocalNcclGroup::Of does apart from making one.
LocalNcclGroup* FindLocalGroup(const std::vector<int>& devices,
                               const std::function<std::unique_ptr<LocalNcclGroup>()>& make);

}  // namespace caffe2::cuda
