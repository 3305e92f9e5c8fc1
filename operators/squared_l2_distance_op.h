// SquaredL2Distance: half the squared distance of each pair of rows.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// distance[i] = 1/2 sum_j (X[i, j] - Y[i, j])^2
template <class Context>
class SquaredL2DistanceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SquaredL2DistanceOp);
  bool RunOnDevice() override;
};

// dX[i, j] = d_distance[i] (X[i, j] - Y[i, j]), dY = -dX
template <class Context>
class SquaredL2DistanceGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SquaredL2DistanceGradientOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
