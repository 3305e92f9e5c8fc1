#include "operators/common/broadcast.h"

#include <algorithm>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

// b's dimensions aligned with the dimensions of a, under the legacy rule. Leading and trailing
// dimensions of size 1 of b match any size, as in Caffe2.
std::vector<int64_t> AlignLegacy(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                                 int axis) {
  std::vector<int64_t> aligned(a.size(), 1);
  if (CheckedNumel(b) == 1) return aligned;
  const int a_dims = static_cast<int>(a.size()), b_dims = static_cast<int>(b.size());
  CAFFE_ENFORCE(a_dims >= b_dims, "with broadcast=1 the second shape ", ShapeString(b),
                " must be a part of the first ", ShapeString(a));
  if (axis == -1) axis = a_dims - b_dims;
  CAFFE_ENFORCE(axis >= 0 && axis <= a_dims - b_dims, "broadcast axis ", axis,
                " is out of range for shapes ", ShapeString(a), " and ", ShapeString(b));
  int first = 0, last = b_dims - 1;
  while (first < b_dims && b[first] == 1) ++first;
  while (last > first && b[last] == 1) --last;
  for (int i = first; i <= last; ++i) {
    CAFFE_ENFORCE(a[axis + i] == b[i], "broadcast dimension mismatch: ", a[axis + i], " and ", b[i],
                  " of shapes ", ShapeString(a), " and ", ShapeString(b), " at axis ", axis);
    aligned[axis + i] = b[i];
  }
  return aligned;
}

// Adds a dimension before the planned ones, or merges it with the first of them.
void AddOuterDimension(BroadcastPlan* plan, int64_t size, int64_t a_stride, int64_t b_stride) {
  if (size == 1) return;
  if (plan->dims > 0) {
    const int d = plan->dims - 1;
    if (a_stride == plan->a_stride[d] * plan->size[d] &&
        b_stride == plan->b_stride[d] * plan->size[d]) {
      plan->size[d] *= size;
      return;
    }
  }
  CAFFE_ENFORCE(plan->dims < BroadcastPlan::kMaxDims, "at most ", BroadcastPlan::kMaxDims,
                " axes can be broadcast, found more");
  plan->size[plan->dims] = size;
  plan->a_stride[plan->dims] = a_stride;
  plan->b_stride[plan->dims] = b_stride;
  ++plan->dims;
}

int64_t DimFromEnd(const std::vector<int64_t>& dims, size_t i) {
  return i < dims.size() ? dims[dims.size() - 1 - i] : 1;
}

int64_t CombinedDim(const std::vector<int64_t>& a, const std::vector<int64_t>& b, size_t i) {
  const int64_t a_dim = DimFromEnd(a, i), b_dim = DimFromEnd(b, i);
  CAFFE_ENFORCE(a_dim == b_dim || a_dim == 1 || b_dim == 1, "shapes ", ShapeString(a), " and ",
                ShapeString(b), " cannot be broadcast: ", a_dim, " vs ", b_dim,
                " (did you forget to set broadcast=1?)");
  return a_dim == 1 ? b_dim : a_dim;
}

}  // namespace

BroadcastPlan BroadcastPlan::Part(int d, int64_t begin, int64_t end) const {
  BroadcastPlan part = *this;
  part.size[d] = end - begin;
  part.numel = size[d] == 0 ? 0 : numel / size[d] * (end - begin);
  return part;
}

BroadcastPlan MakeBroadcastPlan(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  BroadcastPlan plan;
  if (a == b) {
    plan.dims = 1;
    plan.size[0] = plan.numel = CheckedNumel(a);
    plan.a_stride[0] = plan.b_stride[0] = 1;
    return plan;
  }
  plan.numel = 1;
  int64_t a_stride = 1, b_stride = 1;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const int64_t size = CombinedDim(a, b, i);
    const int64_t a_dim = DimFromEnd(a, i), b_dim = DimFromEnd(b, i);
    AddOuterDimension(&plan, size, a_dim == 1 ? 0 : a_stride, b_dim == 1 ? 0 : b_stride);
    CAFFE_ENFORCE(!__builtin_mul_overflow(plan.numel, size, &plan.numel),
                  "the number of elements overflows for shapes ", ShapeString(a), " and ",
                  ShapeString(b));
    a_stride *= a_dim;
    b_stride *= b_dim;
  }
  if (plan.dims == 0) {  // one element
    plan.dims = 1;
    plan.size[0] = plan.a_stride[0] = plan.b_stride[0] = 1;
  }
  std::reverse(plan.size.begin(), plan.size.begin() + plan.dims);
  std::reverse(plan.a_stride.begin(), plan.a_stride.begin() + plan.dims);
  std::reverse(plan.b_stride.begin(), plan.b_stride.begin() + plan.dims);
  return plan;
}

BroadcastRule::BroadcastRule(const ArgumentHelper& arguments)
    : legacy(arguments.GetSingleArgument<bool>("broadcast", false)),
      axis(arguments.GetSingleArgument<int>("axis", -1)) {
  const std::string axis_str = arguments.GetSingleArgument<std::string>("axis_str", "");
  if (axis_str.empty()) return;
  CAFFE_ENFORCE(axis == -1, "the arguments axis and axis_str cannot be used together");
  CAFFE_ENFORCE(axis_str.size() == 1, "argument axis_str must be one letter, found ", axis_str);
  const std::string order = arguments.GetSingleArgument<std::string>("order", "NCHW");
  const size_t position = order.find(axis_str);
  CAFFE_ENFORCE(position != std::string::npos, "axis_str ", axis_str, " is not part of order ",
                order);
  axis = static_cast<int>(position);
}

std::vector<int64_t> BroadcastRule::OutputShape(const std::vector<int64_t>& a,
                                                const std::vector<int64_t>& b) const {
  if (legacy) {
    AlignLegacy(a, b, axis);
    return a;
  }
  std::vector<int64_t> shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) shape[shape.size() - 1 - i] = CombinedDim(a, b, i);
  return shape;
}

BroadcastPlan BroadcastRule::Plan(const std::vector<int64_t>& a,
                                  const std::vector<int64_t>& b) const {
  // The common cases need no aligned copy of b's shape, and so no memory.
  if (!legacy || a == b) return MakeBroadcastPlan(a, b);
  if (CheckedNumel(b) == 1) return MakeBroadcastPlan(a, {});
  return MakeBroadcastPlan(a, AlignLegacy(a, b, axis));
}

}  // namespace caffe2
