// FC_Sparse: a fully connected layer with a sparse weight. The host reads the offsets of its rows.
#pragma once

#include <algorithm>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "operators/common/checked_indices.h"
#include "operators/common/host_list.h"
#include "operators/common/indices.h"
#include "operators/matmul/fully_connected_functions.h"

namespace caffe2 {

// Y = X W' + b, W in compressed rows: row n has elements row_ends[n] to row_ends[n + 1].
template <class Context>
class FullyConnectedSparseOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(FullyConnectedSparseOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &values = Input(1), &b = Input(4);
    CAFFE_ENFORCE(X.dim() == 2, "X must be a matrix, found shape ", ShapeString(X.sizes()));
    const int64_t rows = X.size(0), width = X.size(1);
    Tensor copy(CPU), list(CPU);
    const std::vector<int64_t> ends =
        ReadIntegers(OnHost(this->template Input<Tensor>(2), &copy), "iw");
    const int64_t outputs = b.numel(), count = values.numel();
    CAFFE_ENFORCE(static_cast<int64_t>(ends.size()) == outputs + 1 && ends.front() == 0 &&
                      ends.back() == count && std::is_sorted(ends.begin(), ends.end()),
                  "iw must ascend from 0 to the ", count, " values of the weight, in ", outputs,
                  " steps, one for each element of b");
    const RowIndices columns = CheckedIndices(Input(3), width, &context_);
    CAFFE_ENFORCE(columns.n == count, "jw must have one column for each of the ", count,
                  " values, found ", columns.n);
    const float *x = X.data<float>(), *w = values.data<float>(), *bias = b.data<float>();
    Output(0)->Resize(rows, outputs);
    ForEach(rows * outputs,
            SparseProducts{outputs, ListFor(ends, &list, &context_), columns, x, w, bias,
                           Output(0)->template mutable_data<float>()},
            &context_);
    return true;
  }
};

}  // namespace caffe2
