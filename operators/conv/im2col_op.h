// Im2Col and Col2Im: the windows of an image as columns, and back. host_device_op.h or
// host_device_cuda.h runs the functors.
#pragma once

#include <vector>

#include "caffe2/core/operator.h"
#include "operators/conv/conv_pool_shape.h"
#include "operators/conv/im2col_functions.h"

namespace caffe2 {

// The geometry that the arguments give for an image of these dimensions. Throws EnforceNotMet
// unless there are four dimensions that fit the arguments.
ColumnLayout ColumnLayoutFor(const OperatorDef& def, const std::vector<int64_t>& dims);
std::vector<int64_t> ColumnDims(const ColumnLayout& layout);

// Writes all `n` elements of the columns. An overload for the context does the work.
void FillColumns(const ColumnElements& columns, int64_t n, CPUContext* context);

template <class Context>
class Im2ColOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(Im2ColOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const ColumnLayout layout = ColumnLayoutFor(debug_def(), X.sizes());
    const float* x = X.data<float>();
    Output(0)->Resize(ColumnDims(layout));
    FillColumns(ColumnElements{layout, x, Output(0)->template mutable_data<float>()},
                Output(0)->numel(), &context_);
    return true;
  }
};

template <class Context>
class Col2ImOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(Col2ImOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &image = this->template Input<Tensor>(1);
    const ColumnLayout layout = ColumnLayoutFor(debug_def(), image.sizes());
    CAFFE_ENFORCE(X.numel() == CheckedNumel(ColumnDims(layout)), "the columns must have ",
                  CheckedNumel(ColumnDims(layout)), " elements for an image of shape ",
                  ShapeString(image.sizes()), ", found shape ", ShapeString(X.sizes()));
    const float* x = X.data<float>();
    Output(0)->ResizeLike(image);
    ForEach(Output(0)->numel(), ColumnSums{layout, x, Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
