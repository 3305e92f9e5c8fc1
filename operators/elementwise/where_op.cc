#include "operators/elementwise/where_op.h"

namespace caffe2 {
namespace {

// `Bits` has the size of an element.
template <typename Bits>
void SelectBits(int64_t rows, int64_t width, const bool* choose, const Tensor& x, const Tensor& y,
                void* z) {
  const auto *from_x = static_cast<const Bits*>(x.raw_data()),
             *from_y = static_cast<const Bits*>(y.raw_data());
  auto* to = static_cast<Bits*>(z);
  for (int64_t i = 0, k = 0; i < rows; ++i) {
    const Bits* source = choose[i] ? from_x : from_y;
    for (const int64_t end = k + width; k < end; ++k) to[k] = source[k];
  }
}

}  // namespace

void SelectRows(int64_t rows, int64_t width, const bool* choose, const Tensor& x, const Tensor& y,
                Tensor* z, CPUContext* context) {
  const TypeMeta type = x.dtype();
  z->ResizeLike(x);
  auto* to = static_cast<char*>(z->raw_mutable_data(type));
  if (type.copy() == nullptr) {
    switch (type.itemsize()) {
      case 1:
        return SelectBits<uint8_t>(rows, width, choose, x, y, to);
      case 2:
        return SelectBits<uint16_t>(rows, width, choose, x, y, to);
      case 4:
        return SelectBits<uint32_t>(rows, width, choose, x, y, to);
      case 8:
        return SelectBits<uint64_t>(rows, width, choose, x, y, to);
    }
  }
  const size_t row_bytes = width * type.itemsize();
  for (int64_t i = 0; i < rows; ++i, to += row_bytes) {
    const auto* source = static_cast<const char*>((choose[i] ? x : y).raw_data());
    context->CopyItems(type, width, source + i * row_bytes, to);
  }
}

REGISTER_CPU_OPERATOR(Where, WhereOp<CPUContext>);
OPERATOR_SCHEMA(Where)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{1, 0}, {2, 0}})
    .IdenticalTypeAndShapeOfInput(1)
    .SetDoc("Z = X where the condition is true, Y elsewhere.")
    .Arg<bool>("broadcast_on_rows", "1: the condition chooses whole rows. Default 0.")
    .Input(0, "C", "Bool tensor of X's shape, or with broadcast_on_rows of one element a row.")
    .Input(1, "X", "Values where the condition is true, of any type.")
    .Input(2, "Y", "Values where it is false; of X's type and shape.")
    .Output(0, "Z", "The chosen values.");
SHOULD_NOT_DO_GRADIENT(Where);

}  // namespace caffe2
