// MultiClassAccuracy and APMeter: the quality of predictions, by class.
#include <algorithm>
#include <cmath>
#include <deque>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/loss/index_labels.h"
#include "operators/loss/label_check.h"

namespace caffe2 {
namespace {

class MultiClassAccuracyOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1);
    CAFFE_ENFORCE(X.dim() == 2 && labels.dim() == 1 && labels.size(0) == X.size(0),
                  "there must be one label for each row of predictions: predictions has shape ",
                  ShapeString(X.sizes()), ", labels ", ShapeString(labels.sizes()));
    const int64_t rows = X.size(0), classes = X.size(1);
    const float* x = X.data<float>();
    Tensor narrowed(CPU);
    const int* label = IndexLabels(labels, &narrowed, &context_);
    Output(0)->Resize(classes);
    Output(1)->Resize(classes);
    float* accuracy = Output(0)->mutable_data<float>();
    int* amount = Output(1)->mutable_data<int>();
    std::fill_n(accuracy, classes, 0.f);
    std::fill_n(amount, classes, 0);
    for (int64_t i = 0; i < rows; ++i, x += classes) {
      const int64_t truth = CheckLabel(label[i], i, classes);
      ++amount[truth];
      if (std::max_element(x, x + classes) - x == truth) accuracy[truth] += 1;
    }
    for (int64_t c = 0; c < classes; ++c) {
      if (amount[c] > 0) accuracy[c] /= static_cast<float>(amount[c]);
    }
    return true;
  }
};

// Keeps the last predictions of all runs.
class APMeterOp final : public Operator<CPUContext> {
 public:
  APMeterOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), capacity_(GetSingleArgument<int64_t>("buffer_size", 1000)) {
    CAFFE_ENFORCE(capacity_ > 0, "argument buffer_size must be positive, found ", capacity_);
  }
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &labels = Input(1);
    CAFFE_ENFORCE(
        X.dim() == 2 && labels.sizes() == X.sizes(),
        "predictions and labels must be matrices of the same shape: predictions has shape ",
        ShapeString(X.sizes()), ", labels ", ShapeString(labels.sizes()));
    const int64_t classes = X.size(1);
    CAFFE_ENFORCE(kept_.empty() || static_cast<int64_t>(kept_.front().size()) == classes,
                  "predictions ", ShapeString(X.sizes()), " follow predictions of ",
                  kept_.empty() ? 0 : kept_.front().size(), " classes");
    const float* x = X.data<float>();
    Tensor narrowed(CPU);
    const int* label = IndexLabels(labels, &narrowed, &context_);
    for (int64_t i = 0; i < X.size(0); ++i) {
      std::vector<Scored>& row = kept_.emplace_back();
      for (int64_t c = 0; c < classes; ++c, ++x, ++label) {
        CAFFE_ENFORCE(!std::isnan(*x), "prediction ", i, " of class ", c, " is a NaN");
        row.push_back({*x, *label == 1});
      }
      if (static_cast<int64_t>(kept_.size()) > capacity_) kept_.pop_front();
    }
    Output(0)->Resize(classes);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t c = 0; c < classes; ++c) y[c] = AveragePrecision(c);
    return true;
  }

 private:
  struct Scored {
    float score;
    bool positive;
  };
  // The mean precision at each positive, from the highest score down.
  float AveragePrecision(int64_t c) const {
    std::vector<Scored> column;
    for (const std::vector<Scored>& row : kept_) column.push_back(row[c]);
    std::stable_sort(column.begin(), column.end(),
                     [](const Scored& a, const Scored& b) { return a.score > b.score; });
    double sum = 0;
    int64_t positives = 0;
    for (size_t i = 0; i < column.size(); ++i) {
      if (!column[i].positive) continue;
      ++positives;
      sum += static_cast<double>(positives) / static_cast<double>(i + 1);
    }
    return static_cast<float>(sum / static_cast<double>(std::max<int64_t>(1, positives)));
  }

  const int64_t capacity_;
  std::deque<std::vector<Scored>> kept_;
};

}  // namespace

REGISTER_CPU_OPERATOR(MultiClassAccuracy, MultiClassAccuracyOp);
REGISTER_CPU_OPERATOR(APMeter, APMeterOp);
OPERATOR_SCHEMA(MultiClassAccuracy)
    .NumInputs(2)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) {
        return std::vector<TensorShape>{UnknownTensorShape(), UnknownTensorShape()};
      }
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(1)}, TensorProto::FLOAT),
                                      CreateTensorShape({in[0].dims(1)}, TensorProto::INT32)};
    })
    .SetDoc("For each class, the share of its rows whose largest prediction is for it.")
    .Input(0, "prediction", "A float matrix N x D.")
    .Input(1, "labels", "int32 or int64 N: the class of each row.")
    .Output(0, "accuracies", "Float D: the accuracy of each class; 0 for one without rows.")
    .Output(1, "amounts", "int32 D: the number of rows of each class.")
    .CpuOnly(cpu_only::kMeasures);
OPERATOR_SCHEMA(APMeter)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in[0].dims_size() != 2) return std::vector<TensorShape>{UnknownTensorShape()};
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(1)}, TensorProto::FLOAT)};
    })
    .SetDoc("The average precision of each class over the last predictions of all runs.")
    .Arg<int>("buffer_size", "(> 0, default 1000) The number of last predictions that count.")
    .Input(0, "predictions", "A float matrix N x D of scores.")
    .Input(1, "labels", "int32 or int64 N x D: 1 where the row is of the class.")
    .Output(0, "AP", "Float D: the average precision of each class.")
    .CpuOnly(cpu_only::kMeasures);
SHOULD_NOT_DO_GRADIENT(MultiClassAccuracy);
SHOULD_NOT_DO_GRADIENT(APMeter);

}  // namespace caffe2
