#pragma once

#include "operators/fill/filler_op.h"

namespace caffe2 {

// The element type of a ConstantFill: `dtype`, or else that of `value` (float or int64), or float.
TensorProto::DataType ConstantFillType(const OperatorDef& def);

// Sets n elements to a value. The value of each type is made once, by the constructor.
class ConstantFiller {
 public:
  // Reads `value`. Throws if it does not fit the type.
  ConstantFiller(const ArgumentHelper& arguments, TensorProto::DataType type) {
    Read(arguments, type);
  }
  // Takes the value of a tensor of one element. Throws unless it is of the same type.
  void SetValue(const Tensor& value);
  TypeMeta meta() const { return meta_; }
  // The bytes of the value, lowest first; not for text.
  uint64_t bits() const { return bits_; }
  // In host memory.
  void Fill(int64_t n, void* data) const { fill_(*this, n, data); }

 private:
  void Read(const ArgumentHelper& arguments, TensorProto::DataType type);
  template <typename T>
  void Set(T value);

  TypeMeta meta_;
  uint64_t bits_ = 0;  // the value, where it is a number
  std::string text_;
  void (*fill_)(const ConstantFiller&, int64_t n, void* data) = nullptr;
};

template <class Context>
class ConstantFillOp final : public FillerOp<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ConstantFillOp(const OperatorDef& def, Workspace* ws)
      : FillerOp<Context>(def, ws),
        filler_(ArgumentHelper(this->debug_def()), ConstantFillType(this->debug_def())) {
    CAFFE_ENFORCE(InputSize() < 2 || !this->HasArgument("value"),
                  "the value cannot be an argument and an input");
  }

 protected:
  bool Fill(Tensor* output) override {
    if (InputSize() == 2) filler_.SetValue(Input(1));
    FillOnDevice(output->numel(), output->raw_mutable_data(filler_.meta()));
    return true;
  }

 private:
  void FillOnDevice(int64_t n, void* data);

  ConstantFiller filler_;
};

}  // namespace caffe2
