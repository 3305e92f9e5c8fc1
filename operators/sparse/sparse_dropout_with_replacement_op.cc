// SparseDropoutWithReplacement: replaces whole lists of ids at random.
#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/segment/segments.h"

namespace caffe2 {
namespace {

class SparseDropoutWithReplacementOp final : public Operator<CPUContext> {
 public:
  SparseDropoutWithReplacementOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        ratio_(GetSingleArgument<float>("ratio", 0)),
        replacement_(GetSingleArgument<int64_t>("replacement_value", 0)) {
    CAFFE_ENFORCE(ratio_ >= 0 && ratio_ <= 1, "argument ratio must be from 0 to 1, found ", ratio_);
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.dim() == 1, "X must be one-dimensional, found shape ", ShapeString(X.sizes()));
    const Segments lists = Segments::FromLengths(Input(1), X.size(0));
    const int64_t* x = X.data<int64_t>();
    std::vector<int64_t> ids;
    Output(1)->Resize(lists.count());
    int32_t* length = Output(1)->mutable_data<int32_t>();
    for (int64_t s = 0; s < lists.count(); ++s) {
      const auto before = static_cast<int64_t>(ids.size());
      if (context_.random().Uniform() < ratio_) {
        ids.push_back(replacement_);
      } else {
        const int64_t* first = x + lists.entry(s, 0);
        ids.insert(ids.end(), first, first + lists.length(s));
      }
      length[s] = static_cast<int32_t>(static_cast<int64_t>(ids.size()) - before);
    }
    Output(0)->Resize(static_cast<int64_t>(ids.size()));
    std::copy(ids.begin(), ids.end(), Output(0)->mutable_data<int64_t>());
    return true;
  }

 private:
  float ratio_;
  int64_t replacement_;
};

}  // namespace

REGISTER_CPU_OPERATOR(SparseDropoutWithReplacement, SparseDropoutWithReplacementOp);
OPERATOR_SCHEMA(SparseDropoutWithReplacement)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{UnknownTensorShape(),
                                      CreateTensorShape(GetDimsVector(in[1]), TensorProto::INT32)};
    })
    .SetDoc("Replaces each list of ids, an empty one too, by a single id with some probability.")
    .Arg<float>("ratio", "(from 0 to 1, default 0) The probability.")
    .Arg<int>("replacement_value", "(default 0) The id in place of a list.")
    .Input(0, "X", "int64: the ids of all lists.")
    .Input(1, "Lengths", "int32 or int64: the length of each list.")
    .Output(0, "Y", "int64: the ids; their number is known at run time only.")
    .Output(1, "OutputLengths", "int32: the new length of each list.")
    .CpuOnly(cpu_only::kRecordFeatures);
SHOULD_NOT_DO_GRADIENT(SparseDropoutWithReplacement);

}  // namespace caffe2
