// Conditional, Find.
#include "operators/elementwise/conditional_op.h"

#include <unordered_map>

namespace caffe2 {
namespace {

template <class Context>
class ConditionalOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ConditionalOp);
  bool RunOnDevice() override {
    const Tensor &condition = Input(0), &yes = Input(1), &no = Input(2);
    CheckChoices(condition, yes, no);
    const bool* choose = condition.data<bool>();
    Tensor* Y = Output(0);
    Y->ResizeLike(yes);
    const TypeMeta meta = yes.dtype();
    const int64_t width = yes.size_from_dim(1);
    const size_t row = width * meta.itemsize();
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    for (int64_t i = 0; i < condition.numel(); ++i) {
      const Tensor& source = choose[i] ? yes : no;
      context_.CopyItems(meta, width, static_cast<const char*>(source.raw_data()) + i * row,
                         y + i * row);
    }
    return true;
  }
};

}  // namespace

template <typename T>
void FindLast(int64_t n, const T* values, int64_t queries, const T* query, T missing, T* y,
              CPUContext* /*context*/) {
  std::unordered_map<T, T> positions;
  for (int64_t i = 0; i < n; ++i) positions[values[i]] = static_cast<T>(i);
  for (int64_t i = 0; i < queries; ++i) {
    const auto found = positions.find(query[i]);
    y[i] = found == positions.end() ? missing : found->second;
  }
}

REGISTER_CPU_OPERATOR(Conditional, ConditionalOp<CPUContext>);
REGISTER_CPU_OPERATOR(Find, FindOp<CPUContext>);
OPERATOR_SCHEMA(Conditional)
    .NumInputs(3)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("Row by row, the first choice where the condition is true, the second elsewhere.")
    .Input(0, "Condition", "Bool, one element for each row.")
    .Input(1, "DataT", "Rows where the condition is true, of any type.")
    .Input(2, "DataF", "Rows where it is false; of DataT's type and shape.")
    .Output(0, "DataO", "The chosen rows.");
OPERATOR_SCHEMA(Find)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("For each query its position in the index; the last one if it is there twice.")
    .Arg("missing_value", "What stands for a query that is not there. Default -1.")
    .Input(0, "index", "int32 or int64 values.")
    .Input(1, "query", "Values looked for, of the index's type.")
    .Output(0, "query_indices", "Their positions, of the same type and shape.");
SHOULD_NOT_DO_GRADIENT(Conditional);
SHOULD_NOT_DO_GRADIENT(Find);

}  // namespace caffe2
