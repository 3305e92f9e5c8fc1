#include "operators/concat_split.h"
#include "operators/shape_input.h"

namespace caffe2 {
namespace {

// The arguments `tiles` and `axis`, or inputs 1 and 2 in their place.
template <class Context>
class TileBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  TileBase(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        tiles_(this->template GetSingleArgument<int64_t>("tiles", 1)),
        axis_(this->template GetSingleArgument<int>("axis", 0)) {}

 protected:
  void ReadTiles() {
    if (InputSize() > 1) tiles_ = ReadInteger(Input(1));
    if (InputSize() > 2) axis_ = static_cast<int>(ReadInteger(Input(2)));
    CAFFE_ENFORCE_GE(tiles_, 0, "tiles must not be negative");
  }
  int64_t tiles_;
  int axis_;
};

template <class Context>
class TileOp final : public TileBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TileBase<Context>::TileBase;
  bool RunOnDevice() override {
    this->ReadTiles();
    const Tensor& X = Input(0);
    CAFFE_ENFORCE(X.has_data(), "the input holds no data");
    const int axis = X.canonical_axis_index(this->axis_);
    std::vector<int64_t> dims = X.sizes();
    CAFFE_ENFORCE(!__builtin_mul_overflow(dims[axis], this->tiles_, &dims[axis]),
                  "too many tiles: ", this->tiles_);
    Tensor* Y = Output(0);
    Y->Resize(dims);
    const TypeMeta meta = X.dtype();
    const int64_t run = X.size_from_dim(axis);
    char* y = static_cast<char*>(Y->raw_mutable_data(meta));
    for (int64_t t = 0; t < this->tiles_; ++t, y += run * meta.itemsize()) {
      CopySlab(meta, X.size_to_dim(axis), run, X.raw_data(), run, y, run * this->tiles_, &context_);
    }
    return true;
  }
};

// dX is the sum of the tiles of dY.
template <class Context>
class TileGradientOp final : public TileBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using TileBase<Context>::TileBase;
  bool RunOnDevice() override {
    this->ReadTiles();
    const Tensor& dY = Input(0);
    const int axis = dY.canonical_axis_index(this->axis_);
    const int64_t tiles = this->tiles_;
    CAFFE_ENFORCE(tiles > 0 && dY.size(axis) % tiles == 0, "dimension ", axis, " of ",
                  ShapeString(dY.sizes()), " is not made of ", tiles, " tiles");
    std::vector<int64_t> dims = dY.sizes();
    dims[axis] /= tiles;
    const float* dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->Resize(dims);
    float* dx = dX->template mutable_data<float>();
    std::fill_n(dx, dX->numel(), 0.f);
    const int64_t run = dX->size_from_dim(axis), outer = dX->size_to_dim(axis);
    for (int64_t o = 0; o < outer; ++o, dx += run) {
      for (int64_t t = 0; t < tiles; ++t, dy += run) {
        for (int64_t i = 0; i < run; ++i) dx[i] += dy[i];
      }
    }
    return true;
  }
};

class GetTileGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs = {GO(0)};
    for (int i = 1; i < Def().input_size(); ++i) inputs.push_back(I(i));
    return SingleGradientDef("TileGradient", "", inputs, std::vector<std::string>{GI(0)});
  }
};

// The shape with its axis made longer (or, for the gradient, shorter) by the tiles.
OpSchema::TensorInference InferTile(bool gradient) {
  return [gradient](const OperatorDef& def, const std::vector<TensorShape>& in) {
    if (in.size() > 1) return std::vector<TensorShape>{UnknownTensorShape()};
    const ArgumentHelper arguments(def);
    const int dims = in[0].dims_size();
    int axis = arguments.GetSingleArgument<int>("axis", 0);
    CAFFE_ENFORCE(axis >= -dims && axis < dims, "axis ", axis, " is out of range");
    if (axis < 0) axis += dims;
    const int64_t tiles = arguments.GetSingleArgument<int64_t>("tiles", 1);
    CAFFE_ENFORCE_GE(tiles, gradient ? 1 : 0);
    std::vector<TensorShape> out = in;
    out[0].set_dims(axis, gradient ? in[0].dims(axis) / tiles : in[0].dims(axis) * tiles);
    return out;
  };
}

void DescribeTiles(OpSchema& schema) {
  schema.NumInputs(1, 3)
      .NumOutputs(1)
      .Arg("tiles", "How often the tensor is repeated. Default 1.")
      .Arg("axis", "The axis along which it is repeated; may be negative. Default 0.")
      .Input(1, "tiles", "Optional, in place of the argument: one int32 or int64.")
      .Input(2, "axis", "Optional, in place of the argument: one int32 or int64.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Tile, TileOp<CPUContext>);
REGISTER_CPU_OPERATOR(TileGradient, TileGradientOp<CPUContext>);
OPERATOR_SCHEMA(Tile)
    .FillUsing(DescribeTiles)
    .TensorInferenceFunction(InferTile(false))
    .SetDoc("Repeats a tensor along an axis.")
    .Input(0, "data", "A tensor of any type, of at least one dimension.")
    .Output(0, "tiled_data", "The repeated tensor.");
OPERATOR_SCHEMA(TileGradient)
    .FillUsing(DescribeTiles)
    .TensorInferenceFunction(InferTile(true))
    .SetDoc("Gradient of Tile: the sum over the tiles.")
    .Input(0, "d_tiled_data", "Float gradient of the output of Tile.")
    .Output(0, "d_data", "Gradient of its input.");
REGISTER_GRADIENT(Tile, GetTileGradient);

}  // namespace caffe2
