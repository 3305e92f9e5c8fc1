#include "caffe2/cuda/host_values.h"
#include "operators/common/host_fallback_op.h"

namespace caffe2 {

HostFallbackOp::HostFallbackOp(const OperatorDef& def, Workspace* ws)
    : Operator<CUDAContext>(def, ws) {
  for (int i = 0; i < InputSize(); ++i) {
    CAFFE_ENFORCE(!InputBlob(i).meta() || InputIsType<Tensor>(i), "operator ", def.type(),
                  " has no CUDA version, and its input ", def.input(i), " is not a tensor but ",
                  InputBlob(i).TypeName(), ": place the operator on the CPU");
  }
  OperatorDef on_host = def;
  on_host.mutable_device_option()->set_device_type(CPU);
  on_host.mutable_device_option()->set_random_seed(static_cast<uint32_t>(context_.random().seed()));
  on_host.clear_engine();
  for (const std::string& name : def.input()) host_.CreateBlob(name);
  op_ = CreateOperator(on_host, &host_);
}

bool HostFallbackOp::RunOnDevice() {
  if (cuda::RecordedHostValues() != nullptr) {
    throw Error("it has no CUDA version and runs on the host");
  }
  for (int i = 0; i < InputSize(); ++i) {
    BlobGetMutableTensor(host_.GetBlob(debug_def().input(i)), Device{})->CopyFrom(Input<Tensor>(i));
  }
  if (op_->random() != nullptr) op_->random()->set_position(context_.random().position());
  const bool ok = op_->Run();
  if (op_->random() != nullptr) context_.random().set_position(op_->random()->position());
  for (int i = 0; i < OutputSize(); ++i) {
    const auto& result = host_.GetBlob(debug_def().output(i))->Get<Tensor>();
    Tensor* output = Output(i);
    output->ResizeLike(result);
    if (!result.has_data()) continue;
    context_.CopyItems(result.dtype(), result.numel(), result.raw_data(),
                       output->raw_mutable_data(result.dtype()));
  }
  return ok;
}

// CreateOperator (caffe2/core/operator.cc) makes one for every type without a version of its own.
REGISTER_CUDA_OPERATOR(HostFallback, HostFallbackOp);

}  // namespace caffe2
