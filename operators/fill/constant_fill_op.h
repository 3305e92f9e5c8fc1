// ConstantFill: a tensor whose elements all have one value.
#pragma once

#include "operators/fill/filler_op.h"

namespace caffe2 {

// The element type of a ConstantFill: the argument `dtype`, else the type of the argument `value`
// (float or int64), else float.
TensorProto::DataType ConstantFillType(const OperatorDef& def);

// Sets n elements to a value. The constructor converts the value to the type once.
class ConstantFiller {
 public:
  // Reads `value`. Throws EnforceNotMet if it does not fit the type.
  ConstantFiller(const ArgumentHelper& arguments, TensorProto::DataType type) {
    Read(arguments, type);
  }
  // Takes the value from a tensor of one element. Throws EnforceNotMet unless it has the same type.
  void SetValue(const Tensor& value);
  TypeMeta meta() const { return meta_; }
  // The bytes of the value, lowest first. Not for strings.
  uint64_t bits() const { return bits_; }
  // Fills n elements in host memory.
  void Fill(int64_t n, void* data) const { fill_(*this, n, data); }

 private:
  void Read(const ArgumentHelper& arguments, TensorProto::DataType type);
  template <typename T>
  void Set(T value);

  TypeMeta meta_;
  uint64_t bits_ = 0;  // the value, if it is a number
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
                  "the argument value and input 1 cannot be used together");
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
