#include <memory>

#include "operators/elementwise/binary_op_cuda.h"
#include "operators/elementwise/pow_op.h"

namespace caffe2 {
namespace {

std::unique_ptr<OperatorBase> MakePow(const OperatorDef& def, Workspace* ws) {
  if (def.input_size() == 1) {
    return std::make_unique<UnaryOp<CUDAContext, PowFunction, FloatTypes>>(def, ws);
  }
  return std::make_unique<BinaryOp<CUDAContext, PowOfTensorsFunction, FloatTypes>>(def, ws);
}
const Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*> kPowRegisterer(
    DeviceOperatorRegistry(CUDA), "Pow", MakePow);

}  // namespace

REGISTER_CUDA_OPERATOR(PowGradient, BinaryGradientOp<CUDAContext, PowOfTensorsFunction>);

}  // namespace caffe2
