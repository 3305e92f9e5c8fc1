// RowWiseCounter: how often the rows of a parameter were updated lately.
#include <algorithm>
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/optimizer_check.h"

namespace caffe2 {
namespace {

class RowWiseCounterOp final : public Operator<CPUContext> {
 public:
  RowWiseCounterOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        halflife_(GetSingleArgument<int64_t>("counter_halflife", -1)) {}

  bool RunOnDevice() override {
    const Tensor &last = Input(PREV_ITER), &counts = Input(COUNTER), &iter = Input(ITER);
    CAFFE_ENFORCE_EQ(last.numel(), counts.numel(), "iterations and counts of rows");
    CAFFE_ENFORCE_EQ(iter.numel(), 1, "the iteration counter has one element");
    if (halflife_ <= 0) return true;
    const int64_t now = *iter.data<int64_t>();
    auto* last_of = UpdatedData<int64_t>(Output(0));
    auto* count_of = UpdatedData<double>(Output(1));
    for (const int64_t row : ReadIndices(Input(INDICES), counts.numel())) {
      // Iterations may come out of order (an old one restored, or a late worker's): none passed.
      const double passed = static_cast<double>(now) - static_cast<double>(last_of[row]);
      const double lives = std::max(0., passed) / static_cast<double>(halflife_);
      count_of[row] = 1 + std::exp2(-lives) * count_of[row];
      last_of[row] = std::max(now, last_of[row]);
    }
    return true;
  }

 private:
  enum { PREV_ITER, COUNTER, INDICES, ITER };
  int64_t halflife_;
};

}  // namespace

REGISTER_CPU_OPERATOR(RowWiseCounter, RowWiseCounterOp);
OPERATOR_SCHEMA(RowWiseCounter)
    .NumInputs(4)
    .NumOutputs(2)
    .EnforceInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc(
        "Counts the updates of the rows of a parameter. An update counts 1, and half of what it "
        "did each counter_halflife iterations; counts are brought up to date when their row is "
        "updated.")
    .Arg("counter_halflife",
         "(int, default -1) Iterations in which a count halves. Not positive: nothing is counted.")
    .Input(0, "prev_iter",
           "int64, one for each row: the latest iteration that updated it; updated.")
    .Input(1, "update_counter", "double, one for each row: its count; updated.")
    .Input(2, "indices", "int32 or int64: the rows that are updated.")
    .Input(3, "iter", "The iteration, int64 of one element.")
    .Output(0, "output_prev_iter", "The iterations, in place.")
    .Output(1, "output_update_counter", "The counts, in place.");
NO_GRADIENT(RowWiseCounter);

}  // namespace caffe2
