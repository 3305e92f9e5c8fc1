// Cross entropies of probabilities with labels, one value a row, and MakeTwoClass.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// The number of rows of X: its first axis; a vector is one row. Throws, naming shapes, unless there
// is one class index a row.
int64_t CheckIndexLabels(const Tensor& x, const Tensor& labels);

// Y[i] = -log X[i, label[i]]
template <class Context>
class LabelCrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LabelCrossEntropyOp);
  bool RunOnDevice() override;
};

// dX[i, j] = -dY[i] / X[i, j] where j is the label, else 0
template <class Context>
class LabelCrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(LabelCrossEntropyGradientOp);
  bool RunOnDevice() override;
};

// Y[i] = -sum_j T[i, j] log X[i, j]
template <class Context>
class CrossEntropyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CrossEntropyOp);
  bool RunOnDevice() override;
};

// dX[i, j] = -dY[i] T[i, j] / X[i, j]
template <class Context>
class CrossEntropyGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CrossEntropyGradientOp);
  bool RunOnDevice() override;
};

// Y[..., 0] = 1 - X[...], Y[..., 1] = X[...]
template <class Context>
class MakeTwoClassOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MakeTwoClassOp);
  bool RunOnDevice() override;
};

// dX = dY[..., 1] - dY[..., 0]
template <class Context>
class MakeTwoClassGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MakeTwoClassGradientOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
