// Operators that add, remove, split or merge dimensions: ExpandDims, Squeeze, PrependDim, MergeDim.
#pragma once

#include <algorithm>
#include <vector>

#include "operators/common/copy_elements.h"

namespace caffe2 {

// The `dims` argument, sorted and without duplicates.
inline std::vector<int> SortedDims(const ArgumentHelper& arguments) {
  std::vector<int> dims = arguments.GetRepeatedArgument<int>("dims");
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  CAFFE_ENFORCE(dims.empty() || dims[0] >= 0, "argument dims must not be negative, found ",
                dims[0]);
  return dims;
}

// Each rule computes the new shape from the old shape.
struct ExpandRule {
  std::vector<int> dims;
  explicit ExpandRule(const ArgumentHelper& arguments) : dims(SortedDims(arguments)) {}
  std::vector<int64_t> operator()(std::vector<int64_t> shape) const {
    for (const int d : dims) {
      CAFFE_ENFORCE(d <= static_cast<int>(shape.size()), "argument dims inserts axis ", d,
                    ", which leaves a gap after shape ", ShapeString(shape));
      shape.insert(shape.begin() + d, 1);
    }
    return shape;
  }
};

struct SqueezeRule {
  std::vector<int> dims;
  explicit SqueezeRule(const ArgumentHelper& arguments) : dims(SortedDims(arguments)) {}
  std::vector<int64_t> operator()(std::vector<int64_t> shape) const {
    for (auto d = dims.rbegin(); d != dims.rend(); ++d) {
      CAFFE_ENFORCE(*d < static_cast<int>(shape.size()) && shape[*d] == 1, "dimension ", *d,
                    " of shape ", ShapeString(shape), " is not 1");
      shape.erase(shape.begin() + *d);
    }
    return shape;
  }
};

struct PrependRule {
  int64_t size;
  explicit PrependRule(const ArgumentHelper& arguments)
      : size(arguments.GetSingleArgument<int64_t>("dim_size", 0)) {
    CAFFE_ENFORCE(size > 0, "argument dim_size must be positive, found ", size);
  }
  std::vector<int64_t> operator()(std::vector<int64_t> shape) const {
    CAFFE_ENFORCE(!shape.empty() && shape[0] % size == 0, "the first dimension of ",
                  ShapeString(shape), " is not a multiple of dim_size ", size);
    shape[0] /= size;
    shape.insert(shape.begin(), size);
    return shape;
  }
};

struct MergeRule {
  explicit MergeRule(const ArgumentHelper&) {}
  std::vector<int64_t> operator()(std::vector<int64_t> shape) const {
    CAFFE_ENFORCE(shape.size() >= size_t{2}, "MergeDim needs at least two axes, found shape ",
                  ShapeString(shape));
    shape[1] *= shape[0];
    shape.erase(shape.begin());
    return shape;
  }
};

template <class Context, class Rule>
class NewShapeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NewShapeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->Resize(rule_(X.sizes()));
    CopyElements(X, Y, &context_);
    return true;
  }

 private:
  Rule rule_;
};

}  // namespace caffe2
