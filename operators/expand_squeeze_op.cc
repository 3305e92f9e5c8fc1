// Operators that change the shape by dimensions alone: ExpandDims, Squeeze, PrependDim, MergeDim.
#include <algorithm>

#include "operators/copy_elements.h"

namespace caffe2 {
namespace {

// The `dims` argument, sorted, each once.
std::vector<int> SortedDims(const ArgumentHelper& arguments) {
  std::vector<int> dims = arguments.GetRepeatedArgument<int>("dims");
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  CAFFE_ENFORCE(dims.empty() || dims[0] >= 0, "the argument dims must not be negative: ", dims[0]);
  return dims;
}

// Each rule gives the new shape for an old one.
struct ExpandRule {
  std::vector<int> dims;
  explicit ExpandRule(const ArgumentHelper& arguments) : dims(SortedDims(arguments)) {}
  std::vector<int64_t> operator()(std::vector<int64_t> shape) const {
    for (const int d : dims) {
      CAFFE_ENFORCE_LE(d, static_cast<int>(shape.size()),
                       "the argument dims leaves a gap behind shape ", ShapeString(shape));
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
    CAFFE_ENFORCE_GT(size, 0, "the argument dim_size must be positive");
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
    CAFFE_ENFORCE_GE(shape.size(), size_t{2}, "there are no two dimensions to merge in ",
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

class GetInverseGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::string& type = Def().type();
    const char* inverse = type == "ExpandDims" ? "Squeeze"
                          : type == "Squeeze"  ? "ExpandDims"
                                               : "MergeDim";
    return SingleGradientDef(inverse, "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};
// The number of merged rows is known from the input alone.
class GetMergeDimGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0),
                  "the gradient of MergeDim needs the input's shape, but the "
                  "output was written in place: ",
                  O(0));
    return SingleGradientDef("ResizeLike", "", std::vector<std::string>{GO(0), I(0)},
                             std::vector<std::string>{GI(0)});
  }
};

template <class Rule>
void DescribeNewShape(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{
            CreateTensorShape(Rule(ArgumentHelper(def))(GetDimsVector(in[0])), in[0].data_type())};
      })
      .Input(0, "data", "A tensor of any type.")
      .Output(0, "reshaped", "The same elements in the new shape.");
}

}  // namespace

REGISTER_CPU_OPERATOR(ExpandDims, NewShapeOp<CPUContext, ExpandRule>);
REGISTER_CPU_OPERATOR(Squeeze, NewShapeOp<CPUContext, SqueezeRule>);
REGISTER_CPU_OPERATOR(PrependDim, NewShapeOp<CPUContext, PrependRule>);
REGISTER_CPU_OPERATOR(MergeDim, NewShapeOp<CPUContext, MergeRule>);

OPERATOR_SCHEMA(ExpandDims)
    .FillUsing(DescribeNewShape<ExpandRule>)
    .SetDoc("Inserts dimensions of size 1.")
    .Arg("dims", "Positions of the new dimensions in the output.");
OPERATOR_SCHEMA(Squeeze)
    .FillUsing(DescribeNewShape<SqueezeRule>)
    .SetDoc("Removes dimensions of size 1.")
    .Arg("dims", "Positions of the dimensions to remove.");
OPERATOR_SCHEMA(PrependDim)
    .FillUsing(DescribeNewShape<PrependRule>)
    .SetDoc("Splits the first dimension into one of `dim_size` and one of what is left.")
    .Arg("dim_size", "Size of the new first dimension.");
OPERATOR_SCHEMA(MergeDim)
    .FillUsing(DescribeNewShape<MergeRule>)
    .SetDoc("Merges the first two dimensions.");
REGISTER_GRADIENT(ExpandDims, GetInverseGradient);
REGISTER_GRADIENT(Squeeze, GetInverseGradient);
REGISTER_GRADIENT(PrependDim, GetInverseGradient);
REGISTER_GRADIENT(MergeDim, GetMergeDimGradient);

}  // namespace caffe2
