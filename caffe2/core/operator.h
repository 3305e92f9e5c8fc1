// Operators: how to write, register and make one.
//
//   template <class Context>
//   class ReluOp final : public Operator<Context> {
//    public:
//     USE_OPERATOR_FUNCTIONS(ReluOp);
//     bool RunOnDevice() override { ... Input(0), Output(0), this->template GetSingleArgument ... }
//   };
//   REGISTER_CPU_OPERATOR(Relu, ReluOp<CPUContext>);
//   OPERATOR_SCHEMA(Relu).NumInputs(1).NumOutputs(1)...;
//   REGISTER_GRADIENT(Relu, GetReluGradient);
#pragma once

#include <initializer_list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/blob.h"
#include "caffe2/core/context.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/operator_schema.h"
#include "caffe2/core/registry.h"

namespace caffe2 {

class Workspace;

// One operator of one net, bound to its blobs. Not synchronised: one thread runs it at a time.
class OperatorBase {
 public:
  // Looks up the input blobs and creates the output blobs, and shares them. Throws EnforceNotMet if
  // an input is missing.
  OperatorBase(const OperatorDef& def, Workspace* ws);
  virtual ~OperatorBase();
  OperatorBase(const OperatorBase&) = delete;
  OperatorBase& operator=(const OperatorBase&) = delete;

  // Runs and waits for the result. False if the operator failed and has reported why itself.
  virtual bool Run(int stream_id = 0) = 0;
  // Starts the work. Finish() waits for it. On the host it does the same as Run.
  virtual bool RunAsync(int stream_id = 0) { return Run(stream_id); }
  virtual void Finish() {}
  // True if a run mostly waits for other processes. An executor should then run it on a separate
  // thread, not on one that computes.
  virtual bool IsCommunication() const { return false; }
  // The random stream that the operator draws from, or null.
  virtual RandomGenerator* random() { return nullptr; }
  // Get and restore the random state of the nets that the operator runs: NetBase::RandomState of
  // each net, one after the other. The size never changes.
  virtual std::vector<uint64_t> NestedRandomState() const { return {}; }
  virtual void SetNestedRandomState(const std::vector<uint64_t>& /*state*/) {}

  bool HasArgument(const std::string& name) const { return arguments_.HasArgument(name); }
  template <typename T>
  T GetSingleArgument(const std::string& name, const T& default_value) const {
    return arguments_.GetSingleArgument<T>(name, default_value);
  }
  template <typename T>
  bool HasSingleArgumentOfType(const std::string& name) const {
    return arguments_.HasSingleArgumentOfType<T>(name);
  }
  template <typename T>
  std::vector<T> GetRepeatedArgument(const std::string& name,
                                     const std::vector<T>& default_value = {}) const {
    return arguments_.GetRepeatedArgument<T>(name, default_value);
  }

  int InputSize() const { return static_cast<int>(inputs_.size()); }
  int OutputSize() const { return static_cast<int>(outputs_.size()); }
  // As all functions below that take the number of an input or output, these throw EnforceNotMet if
  // the operator has no such input or output: a definition decides how many there are.
  const Blob& InputBlob(int i) const {
    if (static_cast<size_t>(i) >= inputs_.size()) [[unlikely]]
      ThrowNoInput(i);
    return *inputs_[static_cast<size_t>(i)];
  }
  Blob* OutputBlob(int i) {
    if (static_cast<size_t>(i) >= outputs_.size()) [[unlikely]]
      ThrowNoOutput(i);
    return outputs_[static_cast<size_t>(i)];
  }
  const std::vector<const Blob*>& Inputs() const { return inputs_; }
  const std::vector<Blob*>& Outputs() const { return outputs_; }

  // Inputs and outputs of any type. Input throws EnforceNotMet, naming the blob, if it holds no T.
  // Output makes a T if the blob holds none.
  template <typename T>
  const T& Input(int i) const {
    const Blob& blob = InputBlob(i);
    if (!blob.IsType<T>()) [[unlikely]]
      ThrowInputType(i, TypeMeta::Make<T>());
    return blob.Get<T>();
  }
  template <typename T>
  T* Output(int i) {
    return OutputBlob(i)->GetMutable<T>();
  }
  template <typename T>
  bool InputIsType(int i) const {
    return InputBlob(i).IsType<T>();
  }
  bool IsInputOutputAlias(int input, int output) const {
    if (static_cast<size_t>(output) >= outputs_.size()) [[unlikely]]
      ThrowNoOutput(output);
    return &InputBlob(input) == outputs_[static_cast<size_t>(output)];
  }

  const OperatorDef& debug_def() const { return *def_; }
  const std::string& type() const { return def_->type(); }
  const DeviceOption& device_option() const { return def_->device_option(); }

 protected:
  [[noreturn]] void ThrowInputType(int i, TypeMeta wanted) const;
  [[noreturn]] void ThrowNoInput(int i) const;
  [[noreturn]] void ThrowNoOutput(int i) const;

 private:
  void SeparateOutputs();

  // Shared by nets that are made from one definition; the arguments point into it.
  std::shared_ptr<const OperatorDef> def_;
  ArgumentHelper arguments_;
  std::vector<const Blob*> inputs_;
  std::vector<Blob*> outputs_;
  std::vector<std::shared_ptr<const Blob>> shared_blobs_;  // inputs and outputs
};

// Base of operators that run in a Context: CPUContext or CUDAContext.
template <class Context>
class Operator : public OperatorBase {
 public:
  Operator(const OperatorDef& def, Workspace* ws)
      : OperatorBase(def, ws), context_(def.device_option()) {
    context_.SwitchToDevice(0);  // constructors may allocate
  }

  // The input tensor. Throws EnforceNotMet, naming the blob, if the blob holds no tensor.
  const Tensor& Input(int i) const { return OperatorBase::Input<Tensor>(i); }
  // The output tensor, made on the operator's device if the blob holds no tensor there.
  Tensor* Output(int i) { return BlobGetMutableTensor(OutputBlob(i), context_.device()); }
  // The same in host memory, for outputs that always lie there.
  Tensor* OutputCPU(int i) { return BlobGetMutableTensor(OutputBlob(i), Device{}); }
  // Any object, as in the base class.
  template <typename T>
  const T& Input(int i) const {
    return OperatorBase::Input<T>(i);
  }
  template <typename T>
  T* Output(int i) {
    return OperatorBase::Output<T>(i);
  }

  // Reads inputs, writes outputs. Throws on bad input.
  virtual bool RunOnDevice() = 0;

  bool Run(int stream_id = 0) final {
    context_.SwitchToDevice(stream_id);
    const bool ok = RunOnDevice();
    if constexpr (Context::kDeviceType != CPU) context_.FinishDeviceComputation();
    return ok;
  }
  bool RunAsync(int stream_id = 0) final {
    context_.SwitchToDevice(stream_id);
    return RunOnDevice();
  }
  void Finish() final { context_.FinishDeviceComputation(); }
  RandomGenerator* random() final { return &context_.random(); }

 protected:
  Context context_;
};

extern template class Operator<CPUContext>;

// Makes Input, Output, context_ and the argument readers usable without this-> in class templates
// derived from Operator<Context>.
#define USE_OPERATOR_BASE_FUNCTIONS                      \
  using ::caffe2::OperatorBase::HasArgument;             \
  using ::caffe2::OperatorBase::InputSize;               \
  using ::caffe2::OperatorBase::OutputSize;              \
  using ::caffe2::OperatorBase::InputBlob;               \
  using ::caffe2::OperatorBase::OutputBlob;              \
  using ::caffe2::OperatorBase::Inputs;                  \
  using ::caffe2::OperatorBase::Outputs;                 \
  using ::caffe2::OperatorBase::GetSingleArgument;       \
  using ::caffe2::OperatorBase::GetRepeatedArgument;     \
  using ::caffe2::OperatorBase::HasSingleArgumentOfType; \
  using ::caffe2::OperatorBase::IsInputOutputAlias;      \
  using ::caffe2::OperatorBase::debug_def
#define USE_OPERATOR_CONTEXT_FUNCTIONS         \
  USE_OPERATOR_BASE_FUNCTIONS;                 \
  using ::caffe2::Operator<Context>::context_; \
  using ::caffe2::Operator<Context>::Input;    \
  using ::caffe2::Operator<Context>::Output
// The same, and a constructor that adds nothing.
#define USE_OPERATOR_FUNCTIONS(classname) \
  USE_OPERATOR_CONTEXT_FUNCTIONS;         \
  using ::caffe2::Operator<Context>::Operator

// Makes the operator. Checks the definition against the schema of its type. Tries the engines in
// def.engine, then the preferred engines of the device, then the default implementation. Skips an
// engine that does not exist (logged at VLOG(1)). If the type has an implementation for the CPU but
// none for the GPU, makes a HostFallback, which runs the operator on the host (logged once for each
// type). Throws EnforceNotMet if it cannot make the operator; for an unknown type the text suggests
// the nearest name. `net_position` is used in messages only.
std::unique_ptr<OperatorBase> CreateOperator(const OperatorDef& def, Workspace* ws,
                                             int net_position = -1);

using OperatorRegistry = Registry<std::string, OperatorBase, const OperatorDef&, Workspace*>;
extern template class Registry<std::string, OperatorBase, const OperatorDef&, Workspace*>;
extern template struct Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*>;
// The implementations for one device type. Keys are "<Type>" or "<Type>_ENGINE_<ENGINE>".
OperatorRegistry* DeviceOperatorRegistry(DeviceType type);
// Sets the engines to try, in order, after the engines that the operator names: for all operators
// of a device, or for one type of operator, whose list then replaces the device's.
void SetGlobalEnginePreference(DeviceType type, std::vector<std::string> engines);
void SetOperatorEnginePreference(DeviceType type, const std::string& op_type,
                                 std::vector<std::string> engines);
// Device types that implement the operator type, with any engine.
std::set<DeviceType> DevicesOf(const std::string& op_type);
// Registered types with names similar to `type`, best first; for error messages.
std::vector<std::string> NearbyOperatorNames(const std::string& type);

// Infers the shapes and types of all blobs of the nets from `known` (blob name -> shape). An output
// that cannot be inferred has the shape that `known` gives for it, or an unknown one. Throws
// EnforceNotMet, naming the operator, if its input shapes do not fit together.
std::map<std::string, TensorShape> InferBlobShapesAndTypes(std::map<std::string, TensorShape> known,
                                                           const std::vector<const NetDef*>& nets);
// The shape and type of a plain or quantized tensor; unknown if the blob holds none or no type is
// set yet.
TensorShape GetTensorShapeOfBlob(const Blob& blob);

#define CAFFE2_REGISTER_OPERATOR(device, key, ...)                                               \
  static ::caffe2::Registerer<std::string, ::caffe2::OperatorBase, const ::caffe2::OperatorDef&, \
                              ::caffe2::Workspace*>                                              \
  CAFFE2_ANONYMOUS(operator_registerer_)(                                                        \
      ::caffe2::DeviceOperatorRegistry(device), key,                                             \
      [](const ::caffe2::OperatorDef& def, ::caffe2::Workspace* ws) {                            \
        return std::unique_ptr<::caffe2::OperatorBase>(new __VA_ARGS__(def, ws));                \
      })
#define REGISTER_CPU_OPERATOR(name, ...) CAFFE2_REGISTER_OPERATOR(::caffe2::CPU, #name, __VA_ARGS__)
#define REGISTER_CPU_OPERATOR_WITH_ENGINE(name, engine, ...) \
  CAFFE2_REGISTER_OPERATOR(::caffe2::CPU, #name "_ENGINE_" #engine, __VA_ARGS__)
#define REGISTER_CUDA_OPERATOR(name, ...) \
  CAFFE2_REGISTER_OPERATOR(::caffe2::CUDA, #name, __VA_ARGS__)
#define REGISTER_CUDA_OPERATOR_WITH_ENGINE(name, engine, ...) \
  CAFFE2_REGISTER_OPERATOR(::caffe2::CUDA, #name "_ENGINE_" #engine, __VA_ARGS__)
#define REGISTER_CUDNN_OPERATOR(name, ...) \
  REGISTER_CUDA_OPERATOR_WITH_ENGINE(name, CUDNN, __VA_ARGS__)

namespace internal {
[[noreturn]] void ThrowUnsupportedType(TypeMeta meta, std::initializer_list<TypeMeta> supported);
}  // namespace internal

// Calls op->template DoRunWithType<T>(), where T is the type among Types... that `meta` describes.
// Throws EnforceNotMet, listing Types..., if none of them matches.
template <typename... Types>
struct TensorTypes {
  template <typename Op>
  static bool Dispatch(Op* op, TypeMeta meta) {
    bool result = false;
    const bool found =
        ((meta.Match<Types>() && ((result = op->template DoRunWithType<Types>()), true)) || ...);
    if (!found) internal::ThrowUnsupportedType(meta, {TypeMeta::Make<Types>()...});
    return result;
  }
};

}  // namespace caffe2
