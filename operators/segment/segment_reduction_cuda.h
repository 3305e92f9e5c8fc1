// Reductions of segments, given by lengths or ids, and their gradients on CUDA devices. Lengths are
// added up on the device. The host waits for ids, which give the number of segments, and for
// lengths if entries have weights by position.
#pragma once

#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "operators/segment/segment_functions.h"
#include "operators/segment/segment_reduction.h"
#include "operators/segment/segments.h"

namespace caffe2 {

class CudaSegmentBase : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override = 0;

 protected:
  // The lists that describe segments on the device, for one run only: no recorded graph may refer
  // to memory that is kept longer.
  struct SegmentLists {
    explicit SegmentLists(const Device& device) : offsets(device), order(device) {}
    Tensor offsets, order;
  };

  // Segments of lengths that add up to `entries`.
  DeviceSegments SegmentsOfLengths(const Tensor& lengths, int64_t entries, SegmentLists* lists);
  // Segments that were read on the host.
  DeviceSegments CopyOf(const Segments& segments, bool sorted, SegmentLists* lists);
  // The rows of `data` that entries read; without indices an entry is a row.
  EntryRows RowsOf(const Tensor* indices, int64_t rows);

 private:
  const int64_t* CopyList(const std::vector<int64_t>& values, Tensor* list);
};

// As SegmentReductionOp on the host.
class CudaSegmentReductionOp : public CudaSegmentBase {
 public:
  CudaSegmentReductionOp(const OperatorDef& def, Workspace* ws, SegmentSpec spec);
  bool RunOnDevice() override;
  template <typename T>
  bool DoRunWithType();

 private:
  bool by_position() const { return spec_.reducer == SegmentReducer::kPositionalWeightedSum; }
  DeviceSegments ReadSegments(const Tensor& groups, int64_t entries, int64_t* count,
                              SegmentLists* lists);
  // Reads lengths, none of which may exceed the number of weights.
  DeviceSegments ReadPositions(const Tensor& lengths, int64_t entries, int64_t* count,
                               SegmentLists* lists);

  const SegmentSpec spec_;
  const int64_t num_segments_;
};

// As SegmentGradientOp on the host.
class CudaSegmentGradientOp : public CudaSegmentBase {
 public:
  CudaSegmentGradientOp(const OperatorDef& def, Workspace* ws, SegmentGradientSpec spec)
      : CudaSegmentBase(def, ws), spec_(spec) {}
  bool RunOnDevice() override;

 private:
  DeviceSegments SegmentsOfIds(const Tensor& groups, int64_t count, SegmentLists* lists);
  // The number of entries, found without reading lengths, because that would wait for the device.
  int64_t NumEntries(const Tensor& lengths) const;
  void GradientOfWeights(const DeviceSegments& segments, int64_t count, int64_t entries,
                         int64_t width, const float* dy);

  const SegmentGradientSpec spec_;
};

template <SegmentSpec spec>
class RegisteredCudaSegmentReduction final : public CudaSegmentReductionOp {
 public:
  RegisteredCudaSegmentReduction(const OperatorDef& def, Workspace* ws)
      : CudaSegmentReductionOp(def, ws, spec) {}
};
template <SegmentGradientSpec spec>
class RegisteredCudaSegmentGradient final : public CudaSegmentGradientOp {
 public:
  RegisteredCudaSegmentGradient(const OperatorDef& def, Workspace* ws)
      : CudaSegmentGradientOp(def, ws, spec) {}
};

// As REGISTER_ID_SEGMENT_REDUCTION on the host.
#define REGISTER_CUDA_ID_SEGMENT_REDUCTION(name, form, reducer, sparse)              \
  constexpr SegmentSpec k##name{SegmentForm::form, SegmentReducer::reducer, sparse}; \
  constexpr SegmentGradientSpec k##name##Gradient{k##name};                          \
  REGISTER_CUDA_OPERATOR(name, RegisteredCudaSegmentReduction<k##name>);             \
  REGISTER_CUDA_OPERATOR(name##Gradient, RegisteredCudaSegmentGradient<k##name##Gradient>)

}  // namespace caffe2
