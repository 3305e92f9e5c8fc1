#pragma once

#include "operators/copy_elements.h"
#include "operators/filler_op.h"

namespace caffe2 {

// Converts n numbers. Floating point to integer rounds towards zero, and values that do not fit
// become the nearest that does (NaN becomes 0); integer to integer keeps the low bits; bool is
// whether the number differs from zero.
using ConvertFunction = void (*)(int64_t n, const void* x, void* y);
// Null if one of the types is no number.
ConvertFunction FindConversion(TensorProto::DataType from, TensorProto::DataType to);

// Y = X as the type `to`.
template <class Context>
class CastOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CastOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  TensorProto::DataType to_;
};

}  // namespace caffe2
