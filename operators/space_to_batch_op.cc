// SpaceToBatch and BatchToSpace: blocks of pixels as images of a larger batch, and back.
#include "caffe2/core/operator.h"
#include "operators/conv_pool_shape.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr int64_t kMostBlock = 1 << 15;

// Image b of the batch, of `height` x `width` pixels and pads at the edges, is taken apart into
// block * block images: that of offset (i, j) in the blocks is image (i * block + j) * batch + b.
struct SpaceBatchShape {
  int64_t batch = 0, channels = 0, height = 0, width = 0;  // of the joined images
  int64_t block = 0, top = 0, left = 0;
  int64_t rows = 0, columns = 0;  // of an image of the larger batch

  // `dims` are those of the images (joined), or with `apart` of the larger batch.
  static SpaceBatchShape Make(const ArgumentHelper& arguments, const std::vector<int64_t>& dims,
                              bool apart) {
    CAFFE_ENFORCE_EQ(dims.size(), 4u, "the image ", ShapeString(dims), " must have four axes");
    CAFFE_ENFORCE(ReadStorageOrder(arguments) == StorageOrder::kNCHW, "the order must be NCHW");
    const auto block = arguments.GetSingleArgument<int64_t>("block_size", 2);
    CAFFE_ENFORCE(block > 0 && block <= kMostBlock, "block_size is ", block);
    const std::vector<int64_t> pads = ReadPads(arguments, 2);
    for (const int64_t pad : pads) CAFFE_ENFORCE_GE(pad, 0, "a pad");
    SpaceBatchShape s{dims[0], dims[1], dims[2], dims[3], block, pads[0], pads[1]};
    const int64_t more_rows = pads[0] + pads[2], more_columns = pads[1] + pads[3];
    if (apart) {
      CAFFE_ENFORCE_EQ(dims[0] % (block * block), 0, "images of ", ShapeString(dims),
                       " in blocks of ", block * block);
      s.batch = dims[0] / (block * block);
      s.height = CheckedNumel({dims[2], block}) - more_rows;
      s.width = CheckedNumel({dims[3], block}) - more_columns;
      CAFFE_ENFORCE(s.height >= 0 && s.width >= 0, "the pads are larger than the image of ",
                    ShapeString(dims), " and blocks of ", block);
    }
    CAFFE_ENFORCE((s.height + more_rows) % block == 0 && (s.width + more_columns) % block == 0,
                  "the image ", ShapeString(dims), " with its pads cannot be divided by ", block);
    s.rows = (s.height + more_rows) / block;
    s.columns = (s.width + more_columns) / block;
    return s;
  }
  std::vector<int64_t> Dims(bool apart) const {
    if (!apart) return {batch, channels, height, width};
    return {CheckedNumel({batch, block, block}), channels, rows, columns};
  }
};

// Calls copy(joined, apart) for every pixel of the larger batch with both positions; `joined` is
// -1 for pads.
template <typename Copy>
void ForEachPixel(const SpaceBatchShape& s, const Copy& copy) {
  int64_t apart = 0;
  for (int64_t image = 0; image < s.batch * s.block * s.block; ++image) {
    const int64_t offset = image / s.batch, b = image % s.batch;
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t i = 0; i < s.rows; ++i) {
        const int64_t row = i * s.block + offset / s.block - s.top;
        for (int64_t j = 0; j < s.columns; ++j, ++apart) {
          const int64_t column = j * s.block + offset % s.block - s.left;
          const bool inside = row >= 0 && row < s.height && column >= 0 && column < s.width;
          copy(inside ? ((b * s.channels + c) * s.height + row) * s.width + column : -1, apart);
        }
      }
    }
  }
}

template <bool kApart>  // the input is the larger batch
class SpaceBatchOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, bfloat16>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const auto shape = SpaceBatchShape::Make(ArgumentHelper(debug_def()), X.sizes(), kApart);
    const T* x = X.data<T>();
    Output(0)->Resize(shape.Dims(!kApart));
    T* y = Output(0)->mutable_data<T>();
    ForEachPixel(shape, [x, y](int64_t joined, int64_t apart) {
      if constexpr (kApart) {
        if (joined >= 0) y[joined] = x[apart];
      } else {
        y[apart] = joined < 0 ? T{} : x[joined];
      }
    });
    return true;
  }
};

template <bool kApart>
void Describe(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
        const auto shape = SpaceBatchShape::Make(ArgumentHelper(def), GetDimsVector(in[0]), kApart);
        return std::vector<TensorShape>{CreateTensorShape(shape.Dims(!kApart), in[0].data_type())};
      })
      .Arg("block_size", "(int > 0, default 2) The side of a block.")
      .Arg("pad", "Zeros around the images, default 0. Or pad_t, pad_l, pad_b, pad_r, or pads.")
      .Arg("order", "The storage order; only NCHW.");
}

}  // namespace

REGISTER_CPU_OPERATOR(SpaceToBatch, SpaceBatchOp<false>);
REGISTER_CPU_OPERATOR(BatchToSpace, SpaceBatchOp<true>);
OPERATOR_SCHEMA(SpaceToBatch)
    .FillUsing(Describe<false>)
    .SetDoc(
        "Takes images apart: pixel (i, j) of each block of block_size x block_size goes to image "
        "(i * block_size + j) * N + n of a larger batch.")
    .Input(0, "X", "N x C x H x W, float or bfloat16; with pads a multiple of the block.")
    .Output(0, "Y", "(N * block^2) x C x (H + pads) / block x (W + pads) / block.");
OPERATOR_SCHEMA(BatchToSpace)
    .FillUsing(Describe<true>)
    .SetDoc("The inverse of SpaceToBatch; the pads are dropped.")
    .Input(0, "X", "N x C x H x W, float or bfloat16; N a multiple of block_size^2.")
    .Output(0, "Y", "N / block^2 x C x (H * block - pads) x (W * block - pads).");
REGISTER_GRADIENT(SpaceToBatch, GradientRule<"BatchToSpace: GO0 -> GI0">);
REGISTER_GRADIENT(BatchToSpace, GradientRule<"SpaceToBatch: GO0 -> GI0">);

}  // namespace caffe2
