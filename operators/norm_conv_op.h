// Convolutions and the batch normalization around them in as few passes over memory as a device has
// engines for: ConvStats, NormReluConvStats and its gradient. Where there is no engine the
// operators run as the parts they stand for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"

namespace caffe2 {

// Rows of the blob `norm`, 6 x C, float: how a channel is normalized, by its batch's statistics.
enum NormRow {
  kMeanRow,
  kInverseStdRow,  // 1 / sqrt(variance + epsilon)
  kScaleRow,       // gamma
  kBiasRow,        // beta
  kFactorRow,      // scale * inverse_std
  kShiftRow,       // bias - mean * factor
  kNormRows
};
// Rows of what stands for its gradient, 2 x C, float: the gradients of scale and bias.
enum NormGradientRow { kDScaleRow, kDBiasRow, kNormGradientRows };

// A row of one of these; throws EnforceNotMet if the blob has not `rows` rows of C values.
const float* NormRowOf(const Tensor& norm, int rows, int row, int64_t channels);
// Gives it the shape rows x C.
float* ResizeNorm(int rows, int64_t channels, Tensor* norm);

// What a device does for the operators below. Specialized for each; made once for each operator.
template <class Context>
class NormConvDevice {
 public:
  explicit NormConvDevice(const OperatorDef& def);

  // y = relu(normed x).
  void Normalize(const Tensor& x, const Tensor& norm, Tensor* y, Context* context);
  // g = dy where y is above zero, else 0; the rows of dnorm are the sums of g * (x - mean) *
  // inverse_std and of g.
  void MaskGradient(const Tensor& x, const Tensor& norm, const Tensor& y, const Tensor& dy,
                    Tensor* g, Tensor* dnorm, Context* context);

  // Engines that do it all in one pass; false, with nothing done, if the device has none. `norm`
  // may be null for the first.
  bool Forward(const Tensor& x, const Tensor* norm, const Tensor& filter, Tensor* y, Tensor* sums,
               Tensor* square_sums, Context* context);
  bool Backward(const Tensor& x, const Tensor& norm, const Tensor& filter, const Tensor& dy,
                Tensor* dfilter, Tensor* g, Tensor* dnorm, Context* context);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Operators that another one stands for, in its place and on its device, made when they are first
// needed. They see its blobs, and blobs of their own.
class OperatorParts {
 public:
  OperatorParts(const OperatorDef& def, Workspace* ws) : def_(def), workspace_(ws) {}

  // A tensor of their own.
  Tensor* Own(const std::string& name) {
    return BlobGetMutableTensor(workspace_.CreateLocalBlob(name), ToDevice(def_.device_option()));
  }
  bool empty() const { return parts_.empty(); }
  // An operator with the arguments of the whole, and more.
  void Add(const std::string& type, const std::vector<std::string>& inputs,
           const std::vector<std::string>& outputs, const std::vector<Argument>& more = {});
  // Starts them one after another.
  void Run();

 private:
  const OperatorDef def_;
  Workspace workspace_;
  std::vector<std::unique_ptr<OperatorBase>> parts_;
};

constexpr char kNormedPart[] = "__normed";  // own tensors of parts
constexpr char kNormedGradientPart[] = "__normed_grad";

// X, filter -> Y, sum, sumsq; normed: X, norm, filter -> the same of relu(normed X).
template <class Context, bool kNormed>
class ConvStatsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ConvStatsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), device_(def), parts_(def, ws) {
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(!IsInputOutputAlias(i, 0), "input ", i, " and the output are the same blob ",
                    def.output(0));
    }
  }

  bool RunOnDevice() override {
    const Tensor& x = Input(0);
    const Tensor* norm = kNormed ? &Input(1) : nullptr;
    if (device_.Forward(x, norm, Input(kFilter), Output(0), Output(1), Output(2), &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    if (kNormed) device_.Normalize(x, *norm, parts_.Own(kNormedPart), &context_);
    parts_.Run();
    if (kNormed) parts_.Own(kNormedPart)->FreeMemory();
    return true;
  }

 private:
  static constexpr int kFilter = kNormed ? 2 : 1;

  void AddParts() {
    const OperatorDef& def = debug_def();
    const std::string& x = kNormed ? kNormedPart : def.input(0);
    if (kNormed) parts_.Own(kNormedPart);
    parts_.Add("Conv", {x, def.input(kFilter)}, {def.output(0)});
    parts_.Add("ChannelStats", {def.output(0)}, {def.output(1), def.output(2)});
  }

  NormConvDevice<Context> device_;
  OperatorParts parts_;
};

// X, norm, filter, dY -> dfilter, g, dnorm.
template <class Context>
class NormReluConvStatsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormReluConvStatsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), device_(def), parts_(def, ws) {}

  bool RunOnDevice() override {
    const Tensor &x = Input(0), &norm = Input(1);
    if (device_.Backward(x, norm, Input(2), Input(3), Output(0), Output(1), Output(2), &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    Tensor *y = parts_.Own(kNormedPart), *dy = parts_.Own(kNormedGradientPart);
    device_.Normalize(x, norm, y, &context_);
    parts_.Run();
    device_.MaskGradient(x, norm, *y, *dy, Output(1), Output(2), &context_);
    y->FreeMemory();
    dy->FreeMemory();
    return true;
  }

 private:
  void AddParts() {
    const OperatorDef& def = debug_def();
    parts_.Own(kNormedPart);
    parts_.Add("ConvGradient", {kNormedPart, def.input(2), def.input(3)},
               {def.output(0), kNormedGradientPart}, {MakeArgument<int>("no_bias", 1)});
  }

  NormConvDevice<Context> device_;
  OperatorParts parts_;
};

}  // namespace caffe2
