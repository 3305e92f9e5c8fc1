// The base of the operators that sum products of levels: Int8Conv, Int8ConvTranspose, Int8FC.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "operators/quantized/int8_op.h"
#include "operators/quantized/int8_packed_conv.h"

namespace caffe2::int8 {

// X, the filter W, [bias], [Z for the variants that add it] -> Y.
class Int8ProductOp : public Int8Operator {
 public:
  Int8ProductOp(const OperatorDef& def, Workspace* ws, bool has_accumulator);

 protected:
  struct Operands {
    const Int8TensorCPU *X, *W;
    uint8_t x_zero, w_zero;
    std::vector<double> units;  // the value of a sum of 1, for each channel of the result
    const int32_t* bias;        // null if there is none
    const Int8TensorCPU* Z;     // null if there is none
  };
  // Throws EnforceNotMet, with names, for inputs that do not fit the `channels` of the result.
  Operands Read(int64_t channels) const;

  // Output 0, to which sums are written. If the operator adds Z, output 0 first holds Z.
  class Result {
   public:
    bool empty() const { return numel_ == 0; }
    // The sums of the pixels [begin, begin + n), of all channels.
    void Write(int64_t begin, int64_t n, const int32_t* sums) const;

   private:
    friend class Int8ProductOp;
    void* data_ = nullptr;
    int64_t numel_ = 0;
    std::vector<double> units_;
    std::optional<Quantization> y_, accumulator_;  // without y: floats
    Activation activation_ = Activation::kNone;
  };
  Result MakeResult(const Operands& in, const std::vector<int64_t>& dims, Activation activation);

  // True if the filter is constant and the same tensor as in the last run. Call it once in each
  // run, after RunPacked.
  bool IsLastFilter();
  // Runs oneDNN's fused kernel for a constant filter. False if there is none for this operator.
  bool RunPacked(const Operands& in, const ConvShape& shape, const Result& y);

  std::vector<int32_t> sums_;  // kept from run to run

 private:
  // The values that the fused kernel was made for. If a run has other values, a new kernel is made.
  struct Packing {
    std::vector<int64_t> x_dims;
    Tensor filter{CPU}, bias{CPU};  // keep the memory, so that no other tensor gets it
    Quantization x, w;
    std::optional<Quantization> accumulator;
  };
  bool IsPackedFor(const Operands& in, const Result& y) const;
  const Tensor& Bias() const { return Input<Int8TensorCPU>(2).t; }

  const Quantization result_;
  const bool float_result_, constant_filter_, has_accumulator_, has_bias_;
  const std::vector<float> w_scales_;
  Tensor last_filter_{CPU};
  bool can_pack_ = true;
  Packing packing_;
  std::unique_ptr<PackedInt8Conv> packed_;
};

// Documents the arguments that Int8ProductOp reads, besides Y_scale and Y_zero_point.
void DescribeProduct(OpSchema& schema);

}  // namespace caffe2::int8
