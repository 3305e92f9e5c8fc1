// UnsortedSegment{Sum, Mean, WeightedSum} and SparseUnsortedSegment{Sum, Mean, WeightedSum}.
#include "operators/segment_reduction.h"

namespace caffe2 {
namespace {

constexpr SegmentSpec kSum{SegmentForm::kUnsorted, SegmentReducer::kSum};
constexpr SegmentSpec kMean{SegmentForm::kUnsorted, SegmentReducer::kMean};
constexpr SegmentSpec kWeightedSum{SegmentForm::kUnsorted, SegmentReducer::kWeightedSum};
constexpr SegmentSpec kSparseSum{SegmentForm::kUnsorted, SegmentReducer::kSum, true};
constexpr SegmentSpec kSparseMean{SegmentForm::kUnsorted, SegmentReducer::kMean, true};
constexpr SegmentSpec kSparseWeightedSum{SegmentForm::kUnsorted, SegmentReducer::kWeightedSum,
                                         true};

}  // namespace

REGISTER_SEGMENT_REDUCTION(UnsortedSegmentSum, kSum);
REGISTER_SEGMENT_REDUCTION(UnsortedSegmentMean, kMean);
REGISTER_SEGMENT_REDUCTION(UnsortedSegmentWeightedSum, kWeightedSum);
REGISTER_SEGMENT_REDUCTION(SparseUnsortedSegmentSum, kSparseSum);
REGISTER_SEGMENT_REDUCTION(SparseUnsortedSegmentMean, kSparseMean);
REGISTER_SEGMENT_REDUCTION(SparseUnsortedSegmentWeightedSum, kSparseWeightedSum);

REGISTER_SEGMENT_GRADIENT(UnsortedSegmentSumGradient, SegmentGradientSpec{kSum});
REGISTER_SEGMENT_GRADIENT(UnsortedSegmentMeanGradient, SegmentGradientSpec{kMean});
REGISTER_SEGMENT_GRADIENT(UnsortedSegmentWeightedSumGradient, SegmentGradientSpec{kWeightedSum});
REGISTER_SEGMENT_GRADIENT(SparseUnsortedSegmentSumGradient, SegmentGradientSpec{kSparseSum});
REGISTER_SEGMENT_GRADIENT(SparseUnsortedSegmentMeanGradient, SegmentGradientSpec{kSparseMean});
REGISTER_SEGMENT_GRADIENT(SparseUnsortedSegmentWeightedSumGradient,
                          SegmentGradientSpec{kSparseWeightedSum});

REGISTER_GRADIENT(UnsortedSegmentSum, RegisteredSegmentGradientMaker<kSum>);
REGISTER_GRADIENT(UnsortedSegmentMean, RegisteredSegmentGradientMaker<kMean>);
REGISTER_GRADIENT(UnsortedSegmentWeightedSum, RegisteredSegmentGradientMaker<kWeightedSum>);
REGISTER_GRADIENT(SparseUnsortedSegmentSum, RegisteredSegmentGradientMaker<kSparseSum>);
REGISTER_GRADIENT(SparseUnsortedSegmentMean, RegisteredSegmentGradientMaker<kSparseMean>);
REGISTER_GRADIENT(SparseUnsortedSegmentWeightedSum,
                  RegisteredSegmentGradientMaker<kSparseWeightedSum>);

}  // namespace caffe2
