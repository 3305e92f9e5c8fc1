// SegmentReductionOp and SegmentGradientOp (segment_reduction.h) for CUDA devices.
//
// Lengths stay on the device: a kernel turns them into offsets. In three cases the host waits for
// the device: it reads segment ids, because the last one gives the number of segments, and it reads
// lengths if entries have weights by position, and if only their sum gives the number of entries.
#pragma once

#include <vector>

#include "caffe2/cuda/context_cuda.h"
#include "operators/segment/segment_functions.h"
#include "operators/segment/segment_reduction.h"
#include "operators/segment/segments.h"

namespace caffe2 {

// Brings the segments and indices of an operator to the device.
class CudaSegmentBase : public Operator<CUDAContext> {
 public:
  using Operator<CUDAContext>::Operator;
  bool RunOnDevice() override = 0;

 protected:
  // Device memory of the offsets and the order of entries. It is allocated anew in each run, so
  // that recorded CUDA graphs keep no pointers to it.
  struct SegmentLists {
    explicit SegmentLists(const Device& device) : offsets(device), order(device) {}
    Tensor offsets, order;
  };

  // Segments of lengths that add up to `entries`.
  DeviceSegments SegmentsOfLengths(const Tensor& lengths, int64_t entries, SegmentLists* lists);
  // Copies segments that the host has read to the device.
  DeviceSegments CopyOf(const Segments& segments, bool sorted, SegmentLists* lists);
  // The row of the data that each entry reads. Without indices, entry i reads row i.
  EntryRows RowsOf(const Tensor* indices, int64_t rows);

 private:
  const int64_t* CopyList(const std::vector<int64_t>& values, Tensor* list);
};

// Has the inputs, outputs and errors of SegmentReductionOp.
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
  // Reads the lengths on the host. Throws EnforceNotMet if one exceeds the number of weights.
  DeviceSegments ReadPositions(const Tensor& lengths, int64_t entries, int64_t* count,
                               SegmentLists* lists);

  const SegmentSpec spec_;
  const int64_t num_segments_;
};

// Has the inputs, outputs and errors of SegmentGradientOp.
class CudaSegmentGradientOp : public CudaSegmentBase {
 public:
  CudaSegmentGradientOp(const OperatorDef& def, Workspace* ws, SegmentGradientSpec spec)
      : CudaSegmentBase(def, ws), spec_(spec) {}
  bool RunOnDevice() override;

 private:
  DeviceSegments SegmentsOfIds(const Tensor& groups, int64_t count, SegmentLists* lists);
  // The sum of the lengths; the host waits for the device.
  int64_t SumOfLengths(const Tensor& lengths) const;
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

// Registers an operator and its gradient, as REGISTER_ID_SEGMENT_REDUCTION does for CPUs.
#define REGISTER_CUDA_ID_SEGMENT_REDUCTION(name, kind, reducer, sparse)              \
  constexpr SegmentSpec k##name{SegmentKind::kind, SegmentReducer::reducer, sparse}; \
  constexpr SegmentGradientSpec k##name##Gradient{k##name};                          \
  REGISTER_CUDA_OPERATOR(name, RegisteredCudaSegmentReduction<k##name>);             \
  REGISTER_CUDA_OPERATOR(name##Gradient, RegisteredCudaSegmentGradient<k##name##Gradient>)

}  // namespace caffe2
