// The base of the operators that sum products of levels: Int8Conv, Int8ConvTranspose, Int8FC.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "operators/quantized/int8_op.h"
#include "operators/quantized/int8_packed_conv.h"

namespace caffe2::int8 {

// The input after the bias.
enum class LastInput {
  kNone,
  kAddend,  // Z, which the operator adds
  kJoined,  // J: Y is J, but for the channels that the operator writes
};

// X, the filter W, [bias], [Z or J] -> Y.
class Int8ProductOp : public Int8Operator {
 public:
  // `writes_parts`: the arguments Y_channels and Y_channel are allowed.
  Int8ProductOp(const OperatorDef& def, Workspace* ws, LastInput last_input, bool writes_parts);

 protected:
  struct Operands {
    const Int8TensorCPU *X, *W;
    uint8_t x_zero, w_zero;
    std::vector<double> units;   // the value of a sum of 1, for each channel of the result
    const int32_t* bias;         // null if there is none
    const Int8TensorCPU *Z, *J;  // null if there is none
  };
  // Throws EnforceNotMet, with names, for inputs that do not fit the `channels` of the result.
  Operands Read(int64_t channels) const;

  // Output 0, or the part of its channels that the operator writes. If the operator adds Z, output
  // 0 first holds Z.
  class Result {
   public:
    bool empty() const { return numel_ == 0; }
    // The sums of the pixels [begin, begin + n), of all channels.
    void Write(int64_t begin, int64_t n, const int32_t* sums) const;

   private:
    friend class Int8ProductOp;
    void* data_ = nullptr;
    int64_t numel_ = 0;
    int64_t step_ = 0;  // elements from pixel to pixel
    std::vector<double> units_;
    std::optional<Quantization> y_, accumulator_;  // without y: floats
    Activation activation_ = Activation::kNone;
  };
  // `dims` are of the channels that the operator writes.
  Result MakeResult(const Operands& in, const std::vector<int64_t>& dims, Activation activation);

  // True if the filter is constant and the same tensor as in the last run. Call it once in each
  // run, after RunPacked.
  bool IsLastFilter();
  // Runs a kernel that writes levels, for a constant filter. False if there is none for this
  // operator.
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
  // The shape of Y. Throws EnforceNotMet if the part does not fit.
  std::vector<int64_t> WholeDims(const Operands& in, const std::vector<int64_t>& dims) const;

  const Quantization result_;
  const bool float_result_, constant_filter_;
  const LastInput last_input_;
  const bool has_bias_;
  const int64_t y_channels_, y_channel_;  // of Y and before the part; 0 channels: no part
  const std::vector<float> w_scales_;
  Tensor last_filter_{CPU};
  bool can_pack_ = true;
  Packing packing_;
  std::unique_ptr<PackedInt8Conv> packed_;
};

// Documents the arguments that Int8ProductOp reads, besides Y_scale and Y_zero_point.
void DescribeProduct(OpSchema& schema);

}  // namespace caffe2::int8
