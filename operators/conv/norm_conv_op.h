// Convolutions fused with the batch normalizations before and after them: ConvStats,
// NormReluConvStats, NormSumReluConvStats, NormSumNormReluConvStats and their gradients. If the
// device has no engine for one of them, the equivalent unfused operators run instead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/norm/bn_params.h"

namespace caffe2 {

// A row of bn_params or of their gradient (bn_params.h). Throws EnforceNotMet unless the tensor has
// `rows` rows of C values.
const float* BnParamsRowOf(const Tensor& bn_params, int rows, int row, int64_t channels);
// Gives the tensor the shape rows x C. Returns its data.
float* ResizeBnParams(int rows, int64_t channels, Tensor* bn_params);

// An image x, its bn_params, the image z to add to the normalized x, and the bn_params of z. The
// last three may be null.
struct NormedImage {
  const Tensor& x;
  const Tensor* bn_params;
  const Tensor* z;
  const Tensor* z_bn_params;
};

// Throws EnforceNotMet, naming `name`, if `other` is given and differs from x in shape or type.
void CheckLike(const Tensor& x, const Tensor* other, const char* name);

// The outputs of the gradient operators below. dz_bn_params is null unless z is normalized.
struct NormConvGradients {
  Tensor *dfilter, *g, *d_bn_params, *dz_bn_params;
};

// The part of the operators below that depends on the device; specialized for each device. Each
// operator has one object.
template <class Context>
class NormConvDevice {
 public:
  explicit NormConvDevice(const OperatorDef& def);

  // y = relu(normalized x + z). z may be null; it is not normalized.
  void Normalize(const NormedImage& image, Tensor* y, Context* context);
  // g = dy where y is above zero, else 0; the rows of d_bn_params are the sums of g * (x - mean) *
  // inverse_std and of g.
  void MaskGradient(const NormedImage& image, const Tensor& y, const Tensor& dy, Tensor* g,
                    Tensor* d_bn_params, Context* context);

  // Runs the whole operator in one pass of an engine. Returns false, without a result, if the
  // device has no such engine. The bn_params may be null for Forward. `normed` gets the input of
  // the convolution; it may be null if there is no z.
  bool Forward(const NormedImage& image, const Tensor& filter, Tensor* y, Tensor* sums,
               Tensor* square_sums, Tensor* normed, Context* context);
  // `normed` is the tensor that Forward wrote; `also` is a further gradient of `normed`, which is
  // added. Both are null if there is no z; `also` may be null in any case.
  bool Backward(const NormedImage& image, const Tensor& filter, const Tensor& dy,
                const Tensor* normed, const Tensor* also, const NormConvGradients& to,
                Context* context);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The unfused operators that replace a fused one, on the same device. They see the blobs of the
// fused operator, and blobs of their own. They are created when they are first needed.
class OperatorParts {
 public:
  OperatorParts(const OperatorDef& def, Workspace* ws) : def_(def), workspace_(ws) {}

  // A tensor that only the parts see.
  Tensor* Own(const std::string& name) {
    return BlobGetMutableTensor(workspace_.CreateLocalBlob(name), ToDevice(def_.device_option()));
  }
  bool empty() const { return parts_.empty(); }
  // Adds an operator with the arguments of the fused operator and with `more`, which take
  // precedence.
  void Add(const std::string& type, const std::vector<std::string>& inputs,
           const std::vector<std::string>& outputs, const std::vector<Argument>& more = {});
  // Runs the parts one after another.
  void Run();

 private:
  const OperatorDef def_;
  Workspace workspace_;
  std::vector<std::unique_ptr<OperatorBase>> parts_;
};

constexpr char kNormedPart[] = "__normed";  // tensors that only the parts see
constexpr char kNormedGradientPart[] = "__normed_grad";

// The work on X before the convolution.
enum class NormPrologue {
  kNone,
  kNormRelu,         // max(0, normalized X), which is not written to memory
  kNormSumRelu,      // max(0, normalized X + Z), which is an output
  kNormSumNormRelu,  // max(0, normalized X + normalized Z), which is an output
};
constexpr bool HasSum(NormPrologue prologue) { return prologue >= NormPrologue::kNormSumRelu; }
constexpr bool HasTwoNorms(NormPrologue prologue) {
  return prologue == NormPrologue::kNormSumNormRelu;
}
// The first inputs of an operator and of its gradient are X, its bn_params, Z, the bn_params of Z
// (each only if the prologue has it) and the filter.
constexpr int FilterInput(NormPrologue prologue) { return 1 + static_cast<int>(prologue); }

// Shared by the operators and their gradients.
template <class Context, NormPrologue kPrologue>
class NormConvBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  NormConvBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), device_(def), parts_(def, ws) {}

 protected:
  static constexpr bool kNormed = kPrologue != NormPrologue::kNone;
  static constexpr bool kSum = HasSum(kPrologue), kTwoNorms = HasTwoNorms(kPrologue);
  static constexpr int kFilter = FilterInput(kPrologue);

  NormedImage Image() const {
    return {Input(0), kNormed ? &Input(1) : nullptr, kSum ? &Input(2) : nullptr,
            kTwoNorms ? &Input(3) : nullptr};
  }
  // X, its bn_params, Z and the bn_params of Z.
  std::vector<std::string> TwoNormedImages() const {
    const auto& inputs = this->debug_def().input();
    return {inputs.begin(), inputs.begin() + kFilter};
  }

  NormConvDevice<Context> device_;
  OperatorParts parts_;
};

// The inputs up to the filter -> Y, sum, sumsq, [the input N of the convolution].
template <class Context, NormPrologue kPrologue>
class ConvStatsOp final : public NormConvBase<Context, kPrologue> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Base = NormConvBase<Context, kPrologue>;
  ConvStatsOp(const OperatorDef& def, Workspace* ws) : Base(def, ws) {
    for (int i = 0; i < InputSize(); ++i) {
      CAFFE_ENFORCE(!IsInputOutputAlias(i, 0), "input ", i, " and the output are the same blob ",
                    def.output(0));
    }
  }

  bool RunOnDevice() override {
    if (device_.Forward(this->Image(), Input(kFilter), Output(0), Output(1), Output(2),
                        kSum ? Output(3) : nullptr, &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    if (kNormed && !kTwoNorms) device_.Normalize(this->Image(), Normed(), &context_);
    parts_.Run();
    if (kNormed && !kSum) Normed()->FreeMemory();
    return true;
  }

 private:
  using Base::device_, Base::parts_;
  using Base::kNormed, Base::kSum, Base::kTwoNorms, Base::kFilter;

  Tensor* Normed() { return kSum ? Output(3) : parts_.Own(kNormedPart); }

  void AddParts() {
    const OperatorDef& def = debug_def();
    if (kNormed) Normed();  // creates the blob
    const std::string read = kSum ? def.output(3) : kNormed ? kNormedPart : def.input(0);
    if (kTwoNorms) parts_.Add("NormSumNormRelu", this->TwoNormedImages(), {read});
    parts_.Add("Conv", {read, def.input(kFilter)}, {def.output(0)});
    parts_.Add("ChannelStats", {def.output(0)}, {def.output(1), def.output(2)});
  }
};

// The inputs up to the filter, dY and, with a sum, the input N of the convolution and optionally
// another gradient of N -> dfilter, g, d_bn_params, [dz_bn_params].
template <class Context, NormPrologue kPrologue>
class NormConvStatsGradientOp final : public NormConvBase<Context, kPrologue> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Base = NormConvBase<Context, kPrologue>;
  using Base::Base;

  bool RunOnDevice() override {
    const NormedImage image = this->Image();
    const Tensor* normed = kSum ? &Input(kRead) : nullptr;
    const Tensor* also = HasAnother() ? &Input(kRead + 1) : nullptr;
    CheckLike(image.x, image.z, "Z");
    CheckLike(image.x, normed, "N");
    CheckLike(image.x, also, "dN");
    if (device_.Backward(image, Input(kFilter), Input(kDY), normed, also,
                         {Output(0), Output(1), Output(2), kTwoNorms ? Output(3) : nullptr},
                         &context_)) {
      return true;
    }
    if (parts_.empty()) AddParts();
    Tensor* dnormed = parts_.Own(kNormedGradientPart);
    Tensor* own = kSum ? nullptr : parts_.Own(kNormedPart);
    if (!kSum) device_.Normalize(image, own, &context_);
    parts_.Run();
    if (!kTwoNorms) {
      device_.MaskGradient(image, kSum ? *normed : *own, *dnormed, Output(1), Output(2), &context_);
    }
    dnormed->FreeMemory();
    if (!kSum) own->FreeMemory();
    return true;
  }

 private:
  using Base::device_, Base::parts_, Base::kSum, Base::kTwoNorms, Base::kFilter;
  static constexpr int kDY = kFilter + 1, kRead = kDY + 1;

  bool HasAnother() const { return kSum && InputSize() > kRead + 1; }

  void AddParts() {
    const OperatorDef& def = debug_def();
    if (!kSum) parts_.Own(kNormedPart);
    parts_.Add("ConvGradient",
               {kSum ? def.input(kRead) : kNormedPart, def.input(kFilter), def.input(kDY)},
               {def.output(0), kNormedGradientPart}, {MakeArgument<int>("no_bias", 1)});
    if (HasAnother()) {
      parts_.Add("Sum", {kNormedGradientPart, def.input(kRead + 1)}, {kNormedGradientPart});
    }
    if (kTwoNorms) {
      std::vector<std::string> inputs = this->TwoNormedImages();
      inputs.emplace_back(kNormedGradientPart);
      parts_.Add("NormSumNormReluGradient", inputs, {def.output(1), def.output(2), def.output(3)});
    }
  }
};

}  // namespace caffe2
