// Convolutions and the batch normalization around them in as few passes over memory as a device has
// engines for: ConvStats, NormReluConvStats and its gradient. Where there is no engine the
// operators run as the parts they stand for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/norm_rows.h"

namespace caffe2 {

// A row of a norm or of its gradient (norm_rows.h); throws EnforceNotMet if the blob has not `rows`
// rows of C values.
const float* NormRowOf(const Tensor& norm, int rows, int row, int64_t channels);
// Gives it the shape rows x C.
float* ResizeNorm(int rows, int64_t channels, Tensor* norm);

// An image, its norm and what is added to the normalized image; the last two may be null.
struct NormedImage {
  const Tensor& x;
  const Tensor* norm;
  const Tensor* z;
};

// Throws EnforceNotMet if z is there and no image like x.
void CheckSummand(const NormedImage& image);

// What a device does for the operators below. Specialized for each; made once for each operator.
template <class Context>
class NormConvDevice {
 public:
  explicit NormConvDevice(const OperatorDef& def);

  // y = relu(normed x + z); z may be null.
  void Normalize(const NormedImage& image, Tensor* y, Context* context);
  // g = dy where y is above zero, else 0; the rows of dnorm are the sums of g * (x - mean) *
  // inverse_std and of g.
  void MaskGradient(const NormedImage& image, const Tensor& y, const Tensor& dy, Tensor* g,
                    Tensor* dnorm, Context* context);

  // Engines that do it all in one pass; false, and no result is there, if the device has none. The
  // norm may be null for Forward. `normed` gets what the convolution reads; it may be null if there
  // is no z.
  bool Forward(const NormedImage& image, const Tensor& filter, Tensor* y, Tensor* sums,
               Tensor* square_sums, Tensor* normed, Context* context);
  // `normed` is that of Forward, and `also` another gradient of it; both null if there is no z.
  bool Backward(const NormedImage& image, const Tensor& filter, const Tensor& dy,
                const Tensor* normed, const Tensor* also, Tensor* dfilter, Tensor* g, Tensor* dnorm,
                Context* context);

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

// What becomes of X before the convolution.
enum class NormPrologue {
  kNone,
  kNormRelu,     // max(0, normed X), which is nowhere in memory
  kNormSumRelu,  // max(0, normed X + Z), which is an output
};

// X, [norm], [Z], filter -> Y, sum, sumsq, [what the convolution reads].
template <class Context, NormPrologue kPrologue>
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
    const NormedImage image{Input(0), kNormed ? &Input(1) : nullptr, kSum ? &Input(2) : nullptr};
    if (device_.Forward(image, Input(InputSize() - 1), Output(0), Output(1), Output(2),
                        kSum ? Output(3) : nullptr, &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    if (kNormed) device_.Normalize(image, Normed(), &context_);
    parts_.Run();
    if (kNormed && !kSum) Normed()->FreeMemory();
    return true;
  }

 private:
  static constexpr bool kNormed = kPrologue != NormPrologue::kNone;
  static constexpr bool kSum = kPrologue == NormPrologue::kNormSumRelu;

  Tensor* Normed() { return kSum ? Output(3) : parts_.Own(kNormedPart); }

  void AddParts() {
    const OperatorDef& def = debug_def();
    if (kNormed) Normed();  // must be there
    parts_.Add("Conv",
               {kSum      ? def.output(3)
                : kNormed ? std::string(kNormedPart)
                          : def.input(0),
                def.input(InputSize() - 1)},
               {def.output(0)});
    parts_.Add("ChannelStats", {def.output(0)}, {def.output(1), def.output(2)});
  }

  NormConvDevice<Context> device_;
  OperatorParts parts_;
};

// Without a sum X, norm, filter, dY -> dfilter, g, dnorm; with it X, norm, Z, filter, dY, normed,
// [dnormed] -> the same.
template <class Context, bool kSum>
class NormReluConvStatsGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormReluConvStatsGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), device_(def), parts_(def, ws) {}

  bool RunOnDevice() override {
    const NormedImage image{Input(0), &Input(1), kSum ? &Input(2) : nullptr};
    const Tensor* normed = kSum ? &Input(kNormed) : nullptr;
    const Tensor* also = HasAnother() ? &Input(kNormed + 1) : nullptr;
    if (device_.Backward(image, Input(kFilter), Input(kDY), normed, also, Output(0), Output(1),
                         Output(2), &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    Tensor* dnormed = parts_.Own(kNormedGradientPart);
    Tensor* own = kSum ? nullptr : parts_.Own(kNormedPart);
    if (!kSum) device_.Normalize(image, own, &context_);
    parts_.Run();
    device_.MaskGradient(image, kSum ? *normed : *own, *dnormed, Output(1), Output(2), &context_);
    dnormed->FreeMemory();
    if (!kSum) own->FreeMemory();
    return true;
  }

 private:
  static constexpr int kFilter = kSum ? 3 : 2, kDY = kFilter + 1, kNormed = kDY + 1;

  bool HasAnother() const { return kSum && InputSize() > kNormed + 1; }

  void AddParts() {
    const OperatorDef& def = debug_def();
    if (!kSum) parts_.Own(kNormedPart);
    parts_.Add(
        "ConvGradient",
        {kSum ? def.input(kNormed) : std::string(kNormedPart), def.input(kFilter), def.input(kDY)},
        {def.output(0), kNormedGradientPart}, {MakeArgument<int>("no_bias", 1)});
    if (HasAnother()) {
      parts_.Add("Sum", {kNormedGradientPart, def.input(kNormed + 1)}, {kNormedGradientPart});
    }
  }

  NormConvDevice<Context> device_;
  OperatorParts parts_;
};

}  // namespace caffe2
