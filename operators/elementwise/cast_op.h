// Cast: the elements of a tensor as another type.
#pragma once

#include "operators/common/copy_elements.h"
#include "operators/fill/filler_op.h"

namespace caffe2 {

// Converts n numbers. Floating point to integer rounds towards zero, and a value that does not fit
// becomes the nearest one that does (NaN becomes 0). Integer to integer keeps the low bits. A bool
// is true if the number is not zero. A string has the number as C's %d or %f write it.
using ConvertFunction = void (*)(int64_t n, const void* x, void* y);
// Null unless `from` is a type of numbers, and `to` is a type of numbers or STRING.
ConvertFunction FindConversion(TensorProto::DataType from, TensorProto::DataType to);

// Y = X as the type `to`.
template <class Context>
class CastOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  CastOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        to_(DataTypeArgument(ArgumentHelper(this->debug_def()), "to", TensorProto::FLOAT)) {}

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input of shape ", ShapeString(X.sizes()), " holds no data");
    const ConvertFunction convert = FindConversion(TypeMetaToDataType(X.dtype()), to_);
    CAFFE_ENFORCE(convert != nullptr, "cannot cast ", X.dtype().name(), " to ",
                  TensorProto::DataType_Name(to_));
    const TypeMeta to = DataTypeToTypeMeta(to_);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    Convert(convert, X.numel(), X.dtype(), X.raw_data(), to, Y->raw_mutable_data(to));
    return true;
  }

 private:
  // `on_host` is the conversion for host memory.
  void Convert(ConvertFunction on_host, int64_t n, TypeMeta from, const void* x, TypeMeta to,
               void* y);

  TensorProto::DataType to_;
};

}  // namespace caffe2
