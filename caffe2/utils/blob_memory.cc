#include "caffe2/utils/blob_memory.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "caffe2/core/tensor_int8.h"

namespace caffe2 {
namespace {

struct Range {
  uintptr_t begin, end;
  size_t blob;  // its place in the list
};

// The same memory may have the same addresses on two devices.
using RangesByDevice = std::map<std::string, std::vector<Range>>;

int64_t CountDistinct(const std::vector<Range>& by_begin) {
  int64_t bytes = 0;
  uintptr_t end = 0;
  for (const Range& range : by_begin) {
    if (range.end <= end) continue;
    bytes += static_cast<int64_t>(range.end - std::max(range.begin, end));
    end = range.end;
  }
  return bytes;
}

void CountSharers(const std::vector<Range>& by_begin, std::vector<BlobMemory>* blobs) {
  for (size_t i = 0; i < by_begin.size(); ++i) {
    for (size_t k = i + 1; k < by_begin.size() && by_begin[k].begin < by_begin[i].end; ++k) {
      ++(*blobs)[by_begin[i].blob].shared_with;
      ++(*blobs)[by_begin[k].blob].shared_with;
    }
  }
}

}  // namespace

WorkspaceMemory MeasureMemory(const Workspace& ws) {
  WorkspaceMemory memory;
  RangesByDevice ranges;
  for (const std::string& name : ws.Blobs()) {
    const Blob* blob = ws.GetBlob(name);
    const Tensor* found = blob == nullptr ? nullptr : BlobPlainOrInt8Tensor(*blob);
    if (found == nullptr || !found->has_data() || found->nbytes() == 0) continue;
    const Tensor& tensor = *found;
    const auto nbytes = static_cast<int64_t>(tensor.nbytes());
    const std::string device = tensor.device().ToString();
    const auto begin = reinterpret_cast<uintptr_t>(tensor.raw_data());
    ranges[device].push_back({begin, begin + tensor.nbytes(), memory.blobs.size()});
    memory.blobs.push_back(
        {name, ShapeString(tensor.sizes()), tensor.dtype().name(), device, nbytes});
    memory.blob_bytes += nbytes;
  }
  for (auto& [device, list] : ranges) {
    std::sort(list.begin(), list.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    memory.distinct_bytes += CountDistinct(list);
    CountSharers(list, &memory.blobs);
  }
  std::stable_sort(memory.blobs.begin(), memory.blobs.end(),
                   [](const BlobMemory& a, const BlobMemory& b) { return a.nbytes > b.nbytes; });
  return memory;
}

}  // namespace caffe2
