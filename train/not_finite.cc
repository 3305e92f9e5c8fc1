#include "train/not_finite.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/nested_net.h"

namespace caffe2 {
namespace {

double ToDouble(double value) { return value; }
double ToDouble(float value) { return value; }
double ToDouble(float16 value) { return ToFloat(value); }
double ToDouble(bfloat16 value) { return ToFloat(value); }

template <typename T>
NotFinite FindIn(const Tensor& tensor) {
  const T* data = tensor.data<T>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    const double value = ToDouble(data[i]);
    if (!std::isfinite(value)) return {i, value};
  }
  return {};
}

bool HasFloats(const Tensor& tensor) {
  return tensor.IsType<float>() || tensor.IsType<double>() || tensor.IsType<float16>() ||
         tensor.IsType<bfloat16>();
}

// The tensor of a blob; null if there is none or if it has no content.
const Tensor* ContentOf(const Workspace& ws, const std::string& name) {
  const Blob* blob = ws.GetBlob(name);
  const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
  return tensor != nullptr && tensor->has_data() ? tensor : nullptr;
}

bool IsNotFinite(const Workspace& ws, const std::string& name) {
  const Tensor* tensor = ContentOf(ws, name);
  return tensor != nullptr && FindNotFinite(*tensor).index >= 0;
}

// Ranges of memory.
class Ranges {
 public:
  void Add(const Tensor& tensor) {
    auto [begin, end] = RangeOf(tensor);
    for (auto it = FirstAfter(begin); it != ends_.end() && it->second < end; it = ends_.erase(it)) {
      begin = std::min(begin, it->second);
      end = std::max(end, it->first);
    }
    if (begin < end) ends_[end] = begin;
  }

  bool Overlap(const Tensor& tensor) const {
    const auto [begin, end] = RangeOf(tensor);
    const auto it = FirstAfter(begin);
    return it != ends_.end() && it->second < end;
  }

 private:
  using Map = std::map<const char*, const char*>;  // end -> begin; disjoint

  static std::pair<const char*, const char*> RangeOf(const Tensor& tensor) {
    const auto* begin = static_cast<const char*>(tensor.raw_data());
    return {begin, begin + tensor.nbytes()};
  }
  // The first range that ends after this address.
  Map::const_iterator FirstAfter(const char* address) const { return ends_.upper_bound(address); }

  Map ends_;
};

struct Output {
  int op;
  std::string blob;
};

// The outputs that no later operator has overwritten, in the order of the operators.
std::vector<Output> KeptOutputs(const NetDef& net, const Workspace& ws) {
  std::vector<Output> kept;
  std::set<std::string> names;
  Ranges memory;
  for (int i = net.op_size() - 1; i >= 0; --i) {
    const std::vector<std::string> writes = OperandsOf(net.op(i)).writes;
    for (auto blob = writes.rbegin(); blob != writes.rend(); ++blob) {
      const Tensor* tensor = ContentOf(ws, *blob);
      if (tensor == nullptr || names.count(*blob) > 0 || memory.Overlap(*tensor)) continue;
      kept.push_back({i, *blob});
    }
    for (const std::string& blob : writes) {
      names.insert(blob);
      if (const Tensor* tensor = ContentOf(ws, blob)) memory.Add(*tensor);
    }
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::string DescribeOperator(const NetDef& net, int i) {
  const OperatorDef& op = net.op(i);
  return MakeString("operator ", i, ", ", op.type(), op.name().empty() ? "" : " " + op.name());
}

bool HasBlob(const std::vector<std::string>& blobs, const std::string& blob) {
  return std::find(blobs.begin(), blobs.end(), blob) != blobs.end();
}

// The operator that made what a later one changed in place.
int MakerOf(const NetDef& net, const Output& output) {
  int maker = output.op;
  for (int i = output.op - 1; i >= 0; --i) {
    if (!HasBlob(OperandsOf(net.op(maker)).reads, output.blob)) break;
    if (HasBlob(OperandsOf(net.op(i)).writes, output.blob)) maker = i;
  }
  return maker;
}

std::string Describe(const NetDef& net, const Output& output) {
  const int maker = MakerOf(net, output);
  std::string text = output.blob + " of " + DescribeOperator(net, maker);
  if (maker == output.op) return text;
  return text + " (changed in place, last by " + DescribeOperator(net, output.op) + ")";
}

}  // namespace

NotFinite FindNotFinite(const Tensor& tensor) {
  if (!HasFloats(tensor)) return {};
  Tensor copy(CPU);
  const Tensor& host = OnHost(tensor, &copy);
  if (host.IsType<float>()) return FindIn<float>(host);
  if (host.IsType<double>()) return FindIn<double>(host);
  if (host.IsType<float16>()) return FindIn<float16>(host);
  return FindIn<bfloat16>(host);
}

std::string DescribeNotFinite(const NetDef& net, const std::vector<std::string>& params,
                              const Workspace& ws) {
  std::string text = "all outputs that are still in memory are finite";
  std::optional<Output> finite;
  for (const Output& output : KeptOutputs(net, ws)) {
    if (!HasFloats(*ContentOf(ws, output.blob))) continue;
    if (!IsNotFinite(ws, output.blob)) {
      finite = output;
      continue;
    }
    text = "the first output that is not finite, of those still in memory, is " +
           Describe(net, output);
    if (finite) text += "; the last finite one before it is " + Describe(net, *finite);
    break;
  }
  for (const std::string& param : params) {
    if (IsNotFinite(ws, param)) return text + "; parameter " + param + " is not finite now";
  }
  return text;
}

}  // namespace caffe2
