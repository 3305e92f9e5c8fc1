// ScatterAssign: writes rows of a tensor in place.
#include "caffe2/core/operator.h"
#include "operators/common/indices.h"

namespace caffe2 {
namespace {

template <class Context>
class ScatterAssignOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(ScatterAssignOp);
  bool RunOnDevice() override {
    const Tensor &data = Input(0), &slices = Input(2);
    CAFFE_ENFORCE(data.dim() >= 1, "DATA must have at least one axis, found a scalar");
    CAFFE_ENFORCE(data.dtype() == slices.dtype() && data.has_data() && slices.has_data(), "DATA ",
                  data.DebugString(), " and SLICES ", slices.DebugString(),
                  " must have one element type");
    const std::vector<int64_t> rows = ReadIndices(Input(1), data.size(0));
    const int64_t width = data.size_from_dim(1), n = static_cast<int64_t>(rows.size());
    CAFFE_ENFORCE(slices.numel() == n * width, "SLICES must hold ", n, " rows of ", width,
                  " elements, found shape ", ShapeString(slices.sizes()));
    const TypeMeta meta = data.dtype();
    const size_t row_bytes = width * meta.itemsize();
    const char* from = static_cast<const char*>(slices.raw_data());
    char* to = static_cast<char*>(Output(0)->raw_mutable_data(meta));
    for (const int64_t row : rows) {
      context_.CopyItems(meta, width, from, to + row * row_bytes);
      from += row_bytes;
    }
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(ScatterAssign, ScatterAssignOp<CPUContext>);
OPERATOR_SCHEMA(ScatterAssign)
    .NumInputs(3)
    .NumOutputs(1)
    .EnforceInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Row INDICES[i] of DATA becomes row i of SLICES, for each i in turn. If an index occurs "
        "twice, the last one counts.")
    .Input(0, "DATA", "A tensor of any type with at least one dimension; updated.")
    .Input(1, "INDICES", "int32 or int64: the rows to write.")
    .Input(2, "SLICES", "The new rows, one for each index, of DATA's type.")
    .Output(0, "DATA", "DATA, in place.");
SHOULD_NOT_DO_GRADIENT(ScatterAssign);

}  // namespace caffe2
