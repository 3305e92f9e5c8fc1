#include "operators/optimizer/iter_op.h"

#include <limits>
#include <memory>
#include <mutex>

#include "operators/common/cpu_only.h"
#include "operators/control/stat_registry.h"

namespace caffe2 {
namespace {

using MutexPtr = std::unique_ptr<std::mutex>;

void Increment(Tensor* counter) {
  CAFFE_ENFORCE(counter->numel() == 1, "an iteration counter must have one element, found shape ",
                ShapeString(counter->sizes()));
  CAFFE_ENFORCE(counter->IsType<int64_t>(), "an iteration counter must be int64, found ",
                counter->dtype().name());
  int64_t* value = counter->mutable_data<int64_t>();
  CAFFE_ENFORCE(*value < std::numeric_limits<int64_t>::max(),
                "the iteration counter cannot count beyond ", std::numeric_limits<int64_t>::max());
  ++*value;
}

}  // namespace

template <>
bool IterOp<CPUContext>::RunOnDevice() {
  const Tensor* existing = BlobTensor(*OutputBlob(0));
  if (InputSize() == 0 && (existing == nullptr || !existing->dtype())) {
    Tensor* counter = Output(0);
    counter->Resize(1);
    *counter->mutable_data<int64_t>() = 0;
  }
  Increment(Output(0));
  return true;
}

template <>
bool AtomicIterOp<CPUContext>::RunOnDevice() {
  const MutexPtr& mutex = Input<MutexPtr>(0);
  CAFFE_ENFORCE(mutex != nullptr, "the mutex blob is empty");
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    Increment(Output(0));
  }
  StatRegistry::Global()->Add("atomic_iter/stats/" + debug_def().input(1) + "/num_iter", 1);
  return true;
}

template <>
bool CreateMutexOp<CPUContext>::RunOnDevice() {
  *Output<MutexPtr>(0) = std::make_unique<std::mutex>();
  return true;
}

REGISTER_CPU_OPERATOR(Iter, IterOp<CPUContext>);
REGISTER_CPU_OPERATOR(AtomicIter, AtomicIterOp<CPUContext>);
REGISTER_CPU_OPERATOR(CreateMutex, CreateMutexOp<CPUContext>);

OPERATOR_SCHEMA(Iter)
    .NumInputs(0, 1)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.empty() ? CreateTensorShape({1}, TensorProto::INT64)
                                                 : in[0]};
    })
    .SetDoc(
        "Adds one to an iteration counter. Without an input, a blob that holds no tensor starts at "
        "0 (and is 1 after the first run).")
    .Input(0, "iter", "Optional: the counter, int64 of one element, on the host.")
    .Output(0, "iter", "The same blob.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(AtomicIter)
    .NumInputs(2)
    .NumOutputs(1)
    .EnforceInplace({{1, 0}})
    .NonTensorInputs({0})
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc(
        "Adds one to an iteration counter while it holds a mutex, so that concurrent nets may "
        "share the counter. Also adds one to the statistic atomic_iter/stats/<counter>/num_iter.")
    .Input(0, "mutex", "A mutex made by CreateMutex.")
    .Input(1, "iter", "The counter, int64 of one element, on the host.")
    .Output(0, "iter", "The same blob.")
    .CpuOnly(cpu_only::kSteersHost);
OPERATOR_SCHEMA(CreateMutex)
    .NumInputs(0)
    .NumOutputs(1)
    .NonTensorOutputs({0})
    .SetDoc("Makes a mutex, for AtomicIter and others that share state between nets.")
    .Output(0, "mutex", "A blob that holds a std::unique_ptr<std::mutex>.")
    .CpuOnly(cpu_only::kSteersHost);
NO_GRADIENT(Iter);
NO_GRADIENT(AtomicIter);
SHOULD_NOT_DO_GRADIENT(CreateMutex);

}  // namespace caffe2
