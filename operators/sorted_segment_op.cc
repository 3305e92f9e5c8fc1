// SortedSegment{Sum, Mean, WeightedSum} and SparseSortedSegment{Sum, Mean, WeightedSum}.
#include "operators/segment_reduction.h"

namespace caffe2 {
namespace {

constexpr SegmentSpec kSum{SegmentForm::kSorted, SegmentReducer::kSum};
constexpr SegmentSpec kMean{SegmentForm::kSorted, SegmentReducer::kMean};
constexpr SegmentSpec kWeightedSum{SegmentForm::kSorted, SegmentReducer::kWeightedSum};
constexpr SegmentSpec kSparseSum{SegmentForm::kSorted, SegmentReducer::kSum, true};
constexpr SegmentSpec kSparseMean{SegmentForm::kSorted, SegmentReducer::kMean, true};
constexpr SegmentSpec kSparseWeightedSum{SegmentForm::kSorted, SegmentReducer::kWeightedSum, true};

}  // namespace

REGISTER_SEGMENT_REDUCTION(SortedSegmentSum, kSum);
REGISTER_SEGMENT_REDUCTION(SortedSegmentMean, kMean);
REGISTER_SEGMENT_REDUCTION(SortedSegmentWeightedSum, kWeightedSum);
REGISTER_SEGMENT_REDUCTION(SparseSortedSegmentSum, kSparseSum);
REGISTER_SEGMENT_REDUCTION(SparseSortedSegmentMean, kSparseMean);
REGISTER_SEGMENT_REDUCTION(SparseSortedSegmentWeightedSum, kSparseWeightedSum);

REGISTER_SEGMENT_GRADIENT(SortedSegmentSumGradient, SegmentGradientSpec{kSum});
REGISTER_SEGMENT_GRADIENT(SortedSegmentMeanGradient, SegmentGradientSpec{kMean});
REGISTER_SEGMENT_GRADIENT(SortedSegmentWeightedSumGradient, SegmentGradientSpec{kWeightedSum});
REGISTER_SEGMENT_GRADIENT(SparseSortedSegmentSumGradient, SegmentGradientSpec{kSparseSum});
REGISTER_SEGMENT_GRADIENT(SparseSortedSegmentMeanGradient, SegmentGradientSpec{kSparseMean});
REGISTER_SEGMENT_GRADIENT(SparseSortedSegmentWeightedSumGradient,
                          SegmentGradientSpec{kSparseWeightedSum});

REGISTER_GRADIENT(SortedSegmentSum, RegisteredSegmentGradientMaker<kSum>);
REGISTER_GRADIENT(SortedSegmentMean, RegisteredSegmentGradientMaker<kMean>);
REGISTER_GRADIENT(SortedSegmentWeightedSum, RegisteredSegmentGradientMaker<kWeightedSum>);
REGISTER_GRADIENT(SparseSortedSegmentSum, RegisteredSegmentGradientMaker<kSparseSum>);
REGISTER_GRADIENT(SparseSortedSegmentMean, RegisteredSegmentGradientMaker<kSparseMean>);
REGISTER_GRADIENT(SparseSortedSegmentWeightedSum,
                  RegisteredSegmentGradientMaker<kSparseWeightedSum>);

}  // namespace caffe2
