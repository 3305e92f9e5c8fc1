// ONNXWhile: ONNX's Loop, over a net with scopes of its own.
#include <cstring>

#include "caffe2/core/nested_net.h"
#include "caffe2/core/net.h"
#include "caffe2/core/operator.h"
#include "caffe2/core/workspace.h"
#include "operators/common/cpu_only.h"
#include "operators/common/element_type.h"
#include "operators/control/iteration_limit.h"

namespace caffe2 {
namespace {

// Positions in the body's inputs and outputs: two inputs and one output precede the loop-carried
// values.
constexpr int kIteration = 0, kConditionIn = 1, kFirstCarriedIn = 2;
constexpr int kConditionOut = 0, kFirstCarriedOut = 1;

// The values of one scan output, one after another along the first dimension; a scalar is one row.
class ScanOutput {
 public:
  explicit ScanOutput(Tensor* target) : target_(target) {
    target_->Resize(0);
    target_->mutable_data<int32_t>();  // as in Caffe2 if there is no iteration
  }

  void Append(const Tensor& value) {
    if (rows_ == 0) {
      shape_ = value.sizes();
      target_->CopyFrom(value);
      if (shape_.empty()) target_->Reshape({1});
    } else {
      CAFFE_ENFORCE(value.sizes() == shape_, "the scan output changes its shape from ",
                    ShapeString(shape_), " to ", ShapeString(value.sizes()));
      CAFFE_ENFORCE(value.dtype() == target_->dtype(), "the scan output changes its type from ",
                    target_->dtype().name(), " to ", value.dtype().name());
      target_->ExtendTo(target_->size(0) + (shape_.empty() ? 1 : shape_[0]));
      auto* end = static_cast<char*>(target_->raw_mutable_data()) + rows_ * value.nbytes();
      CPUContext().CopyItems(value.dtype(), value.numel(), value.raw_data(), end);
    }
    ++rows_;
  }

 private:
  Tensor* target_;
  std::vector<int64_t> shape_;  // of one value
  size_t rows_ = 0;
};

class OnnxWhileOp final : public Operator<CPUContext> {
 public:
  OnnxWhileOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        parent_(ws),
        body_(std::make_shared<const NetDef>(GetSingleArgument<NetDef>("body", NetDef()))),
        has_trip_count_(GetSingleArgument<bool>("has_trip_count", false)),
        has_cond_(GetSingleArgument<bool>("has_cond", false)),
        save_scopes_(GetSingleArgument<bool>("save_scopes", false)),
        disable_scopes_(GetSingleArgument<bool>("disable_scopes", false)),
        carried_(GetSingleArgument<int>("num_loop_carried_deps", -1)),
        random_state_(CountOperators(*body_)),
        limit_(def, ws) {
    CAFFE_ENFORCE(!save_scopes_ || !disable_scopes_,
                  "the arguments save_scopes and disable_scopes cannot be used together");
    if (carried_ < 0) carried_ = InputSize() - kFirstCarriedIn;
    scans_ = OutputSize() - carried_;
    CAFFE_ENFORCE(kFirstCarriedIn + carried_ <= InputSize() && scans_ >= 0,
                  "argument num_loop_carried_deps (", carried_, ") is too large for ", InputSize(),
                  " inputs and ", OutputSize(), " outputs");
    CAFFE_ENFORCE(body_->external_input_size() >= kFirstCarriedIn + carried_,
                  "the body must have at least ", kFirstCarriedIn + carried_,
                  " external inputs (iteration, condition and ", carried_,
                  " loop-carried blobs), found ", body_->external_input_size());
    CAFFE_ENFORCE(body_->external_output_size() == kFirstCarriedOut + carried_ + scans_,
                  "the body must have ", kFirstCarriedOut + carried_ + scans_,
                  " external outputs (condition, ", carried_, " loop-carried blobs and ", scans_,
                  " scan outputs), found ", body_->external_output_size());
  }

  bool RunOnDevice() override {
    const int64_t max_trips = has_trip_count_ ? ReadScalar<int64_t>(Input(0)) : 0;
    Tensor condition;
    condition.Resize();
    *condition.mutable_data<bool>() = true;
    if (has_cond_) condition.CopyFrom(Input(1));
    std::vector<Tensor> carried(carried_);
    for (int i = 0; i < carried_; ++i) carried[i].CopyFrom(Input(kFirstCarriedIn + i));
    std::vector<ScanOutput> scans;
    for (int i = 0; i < scans_; ++i) scans.emplace_back(Output(carried_ + i));

    net_ = nullptr;
    scopes_.clear();
    for (int64_t trip = 0; !has_trip_count_ || trip < max_trips; ++trip) {
      if (has_cond_ && !IsTrue(condition)) break;
      limit_.Check(trip);
      if (!RunBody(trip, condition, carried)) return false;
      condition.CopyFrom(BodyOutput(kConditionOut));
      for (int i = 0; i < carried_; ++i) carried[i].CopyFrom(BodyOutput(kFirstCarriedOut + i));
      for (int i = 0; i < scans_; ++i) {
        scans[i].Append(BodyOutput(kFirstCarriedOut + carried_ + i));
      }
    }
    for (int i = 0; i < carried_; ++i) Output(i)->CopyFrom(carried[i]);
    return true;
  }

  // Each run creates its nets again. Random numbers go on where the last run ended.
  std::vector<uint64_t> NestedRandomState() const override { return random_state_; }
  void SetNestedRandomState(const std::vector<uint64_t>& state) override { random_state_ = state; }

 private:
  template <typename T>
  static T ReadScalar(const Tensor& tensor) {
    CAFFE_ENFORCE(tensor.numel() == 1, "a trip count or condition must have one element, found ",
                  tensor.numel());
    return *tensor.data<T>();
  }

  static bool IsTrue(const Tensor& condition) {
    if (condition.IsType<int32_t>()) return ReadScalar<int32_t>(condition) != 0;
    if (condition.IsType<int64_t>()) return ReadScalar<int64_t>(condition) != 0;
    return ReadScalar<bool>(condition);
  }

  // Runs the body once, in a scope of its own if scopes are kept.
  bool RunBody(int64_t trip, const Tensor& condition, const std::vector<Tensor>& carried) {
    const bool needs_scope = net_ == nullptr || save_scopes_;
    if (needs_scope) {
      if (!disable_scopes_) scopes_.push_back(std::make_shared<Workspace>(parent_));
      scope_ = disable_scopes_ ? parent_ : scopes_.back().get();
    }
    Tensor* iteration = BodyInput(kIteration);
    iteration->Resize();
    *iteration->mutable_data<int64_t>() = trip;
    BodyInput(kConditionIn)->CopyFrom(condition);
    for (int i = 0; i < carried_; ++i) BodyInput(kFirstCarriedIn + i)->CopyFrom(carried[i]);
    if (needs_scope) net_ = CreateNet(body_, scope_);
    net_->SetRandomState(random_state_);
    const bool ok = net_->Run();
    random_state_ = net_->RandomState();
    return ok;
  }

  Tensor* BodyInput(int i) {
    const std::string& name = body_->external_input(i);
    Blob* blob = disable_scopes_ ? scope_->CreateBlob(name) : scope_->CreateLocalBlob(name);
    return BlobGetMutableTensor(blob, Device{});
  }
  const Tensor& BodyOutput(int i) const {
    const std::string& name = body_->external_output(i);
    const Blob* blob = scope_->GetBlob(name);
    CAFFE_ENFORCE(blob != nullptr, "the body does not write its external output ", name);
    return blob->Get<Tensor>();
  }

  Workspace* parent_;
  std::shared_ptr<const NetDef> body_;
  bool has_trip_count_, has_cond_, save_scopes_, disable_scopes_;
  int carried_, scans_ = 0;
  std::vector<uint64_t> random_state_;
  const IterationLimit limit_;
  std::vector<std::shared_ptr<Workspace>> scopes_;  // outlive the net
  Workspace* scope_ = nullptr;                      // of the iteration
  std::unique_ptr<NetBase> net_;
};

}  // namespace

REGISTER_CPU_OPERATOR(ONNXWhile, OnnxWhileOp);
OPERATOR_SCHEMA(ONNXWhile)
    .NumInputs(2, std::numeric_limits<int>::max())
    .NumOutputs(0, std::numeric_limits<int>::max())
    .AllowInplace([](int, int) { return true; })
    .TensorInferenceFunction(InferUnknownShapes)
    .SetDoc(R"DOC(
ONNX's Loop: runs a net for at most so many iterations, while the condition is true. The external
inputs of the body are the iteration (int64, from 0), the condition and the loop-carried values; its
external outputs the next condition, the next loop-carried values and the scan outputs. The body
works in a scope of its own, where it sees the blobs of the workspace, too. Has no gradient.
)DOC")
    .Arg<NetDef>("body", "The body of the loop.", true)
    .FillUsing(IterationLimit::Describe)
    .Arg<bool>("has_trip_count", "(default false) 1: max_trip_count bounds the iterations.")
    .Arg<bool>("has_cond", "(default false) 1: the condition ends the loop.")
    .Arg<bool>("save_scopes", "(default false) 1: every iteration has, and keeps, its own scope.")
    .Arg<bool>("disable_scopes", "(default false) 1: the body works in the workspace itself.")
    .Arg<int>("num_loop_carried_deps",
              "The number of loop-carried values. Default: the inputs after the second.")
    .Input(0, "max_trip_count", "int64, one element; read if has_trip_count.")
    .Input(1, "condition", "bool, int32 or int64, one element; read if has_cond.")
    .Input(2, "initial", "The loop-carried values of the first iteration.")
    .Output(0, "final_and_scan_outputs",
            "The loop-carried values after the last iteration; then the scan outputs, each the "
            "values of all iterations one after another along the first dimension, an empty int32 "
            "list if there was none.")
    .CpuOnly(cpu_only::kRunsNets);
NO_GRADIENT(ONNXWhile);

}  // namespace caffe2
