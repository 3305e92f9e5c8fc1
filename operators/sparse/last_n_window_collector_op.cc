// LastNWindowCollector: the last rows of a stream.
#include <algorithm>
#include <limits>
#include <mutex>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"
#include "operators/common/created_object.h"
#include "operators/dataset/dataset_op.h"

namespace caffe2 {
namespace {

class LastNWindowCollectorOp final : public Operator<CPUContext> {
 public:
  LastNWindowCollectorOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), capacity_(GetSingleArgument<int64_t>("num_to_collect", -1)) {
    CAFFE_ENFORCE(capacity_ > 0 && capacity_ <= std::numeric_limits<int32_t>::max(),
                  "argument num_to_collect must be positive and fit an int32, found ", capacity_);
    CAFFE_ENFORCE(OutputSize() < 3 || InputSize() == 5,
                  "output 2, num_visited, must also be input 4; found ", InputSize(), " inputs");
  }

  bool RunOnDevice() override {
    if (InputSize() <= kMutex) return Collect();
    const auto& mutex =
        CreatedObject<std::unique_ptr<std::mutex>>(*this, kMutex, "mutex", "CreateMutex");
    const std::lock_guard<std::mutex> lock(*mutex);
    return Collect();
  }

 private:
  enum Inputs { kLastN, kNext, kData, kMutex };
  enum Outputs { kNumVisited = 2 };

  bool Collect() {
    const Tensor& X = Input(kData);
    CAFFE_ENFORCE(X.dim() >= 1 && X.has_data(),
                  "the input must have at least one axis and hold elements, found ",
                  X.DebugString());
    Tensor* window = Output(kLastN);
    Tensor* next = Output(kNext);
    CAFFE_ENFORCE(next->numel() == 1, "next must have one element, found ", next->numel());
    auto* position = next->mutable_data<int32_t>();
    const bool fresh = !HasRows(*window);
    if (fresh) *position = 0;
    CAFFE_ENFORCE(*position >= 0 && *position < capacity_,
                  "next must be at least 0 and less than num_to_collect (", capacity_, "), found ",
                  *position);
    CountRows(X.size(0));
    if (X.size(0) == 0) {
      if (fresh) window->CopyFrom(X);
      return true;
    }
    const int64_t count = std::min(X.size(0), capacity_);
    Grow(X, count, fresh, *position, window);
    // Up to the end of the window, then from its start.
    const int64_t first = X.size(0) - count, tail = std::min(count, capacity_ - *position);
    CopyRowsTo(X, first, tail, *position, window);
    CopyRowsTo(X, first + tail, count - tail, 0, window);
    *position = static_cast<int32_t>((*position + count) % capacity_);
    return true;
  }

  void CountRows(int64_t rows) {
    if (OutputSize() <= kNumVisited) return;
    Tensor* visited = Output(kNumVisited);
    CAFFE_ENFORCE(visited->numel() == 1, "num_visited must have one element, found ",
                  visited->numel());
    *visited->mutable_data<int64_t>() += rows;
  }

  // Makes room for `count` rows from `position` on, up to the window's capacity.
  void Grow(const Tensor& X, int64_t count, bool fresh, int64_t position, Tensor* window) const {
    const int64_t rows = fresh ? 0 : window->size(0);
    const int64_t wanted = std::max(rows, std::min(capacity_, position + count));
    if (fresh) {
      std::vector<int64_t> dims = X.sizes();
      dims[0] = wanted;
      window->Resize(dims);
      window->raw_mutable_data(X.dtype());
      return;
    }
    CAFFE_ENFORCE(window->dtype() == X.dtype() &&
                      std::equal(X.sizes().begin() + 1, X.sizes().end(),
                                 window->sizes().begin() + 1, window->sizes().end()),
                  "rows of ", X.DebugString(), " do not fit the window ", window->DebugString());
    CAFFE_ENFORCE(rows <= capacity_ && position <= rows, "a window of ", capacity_, " holds ", rows,
                  " rows, and next is ", position);
    if (wanted > rows) window->ExtendTo(wanted, /*growth_percent=*/50);
  }

  void CopyRowsTo(const Tensor& X, int64_t from, int64_t count, int64_t to, Tensor* window) {
    const int64_t width = X.size_from_dim(1);
    const auto itemsize = static_cast<int64_t>(X.itemsize());
    const auto* source = static_cast<const char*>(X.raw_data()) + from * width * itemsize;
    auto* target = static_cast<char*>(window->raw_mutable_data()) + to * width * itemsize;
    context_.CopyItems(X.dtype(), count * width, source, target);
  }

  const int64_t capacity_;
};

// As if the window were full.
std::vector<TensorShape> InferWindow(const OperatorDef& def, const std::vector<TensorShape>& in) {
  std::vector<TensorShape> out(def.output_size());
  out[0] = UnknownTensorShape();
  if (!in[2].unknown_shape() && in[2].dims_size() > 0) {
    out[0] = in[2];
    out[0].set_dims(0, ArgumentHelper(def).GetSingleArgument<int64_t>("num_to_collect", -1));
  }
  out[1] = CreateTensorShape({}, TensorProto::INT32);
  if (out.size() > 2) out[2] = CreateTensorShape({}, TensorProto::INT64);
  return out;
}

}  // namespace

REGISTER_CPU_OPERATOR(LastNWindowCollector, LastNWindowCollectorOp);
OPERATOR_SCHEMA(LastNWindowCollector)
    .NonTensorInputs({0, 3})  // the window is empty at first
    .NumInputs({3, 4, 5})
    .NumOutputs(2, 3)
    .EnforceInplace([](int input, int output) {
      return (output < 2 && input == output) || (output == 2 && input == 4);
    })
    .TensorInferenceFunction(InferWindow)
    .SetDoc(R"DOC(
Keeps the last rows of its inputs in a ring: the window grows to num_to_collect rows, then new rows
replace the oldest, from the position `next` on. If an input has more rows than the window, only the
last ones count. Shapes are inferred as if the window were full.
)DOC")
    .Arg<int>("num_to_collect", "(> 0) Rows of the full window.", true)
    .Input(0, "last-N buffer", "The window; empty before the first run.")
    .Input(1, "next cursor", "int32, one element: where the next row goes.")
    .Input(2, "DATA", "Rows [n, ...] of any type.")
    .Input(3, "MUTEX", "Optional: a mutex made by CreateMutex, held while rows are copied.")
    .Input(4, "NUM_VISITED", "Optional int64, one element: the rows seen so far.")
    .Output(0, "last-N buffer", "The window, in place.")
    .Output(1, "next cursor", "In place.")
    .Output(2, "NUM_VISITED", "In place.")
    .CpuOnly(cpu_only::kRecords);
SHOULD_NOT_DO_GRADIENT(LastNWindowCollector);

}  // namespace caffe2
