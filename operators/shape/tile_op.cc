#include "operators/shape/tile_op.h"

#include <algorithm>
#include <cstring>

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/shape/concat_split.h"

namespace caffe2 {
namespace {

// to[t] = from for t < tiles, for runs of bytes.
void RepeatBytes(int64_t tiles, int64_t run, const char* from, char* to) {
  constexpr int64_t kMostCopied = 4096;  // at once; they stay in the cache
  const int64_t all = tiles * run, most = std::max<int64_t>(1, kMostCopied / run) * run;
  std::memcpy(to, from, run);
  for (int64_t done = run; done < all;) {
    const int64_t n = std::min({done, most, all - done});
    std::memcpy(to + done, to, n);
    done += n;
  }
}
// The same for runs of one Word, a type that any bytes may be read as.
template <typename Word>
void RepeatWord(int64_t tiles, const char* from, char* to) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  for (int64_t t = 0; t < tiles; ++t) std::memcpy(to + t * sizeof word, &word, sizeof word);
}

}  // namespace

template <>
void RepeatRuns(TypeMeta meta, int64_t outer, int64_t tiles, int64_t run, const void* x, void* y,
                CPUContext* context) {
  char* to = static_cast<char*>(y);
  if (meta.copy() == nullptr) {
    const auto bytes = run * static_cast<int64_t>(meta.itemsize());
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / (tiles * run));
    ParallelFor(outer, grain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const char* from = static_cast<const char*>(x) + i * bytes;
        char* const tile = to + i * tiles * bytes;
        if (bytes == 4) {
          RepeatWord<uint32_t>(tiles, from, tile);
        } else if (bytes == 8) {
          RepeatWord<uint64_t>(tiles, from, tile);
        } else {
          RepeatBytes(tiles, bytes, from, tile);
        }
      }
    });
    return;
  }
  for (int64_t t = 0; t < tiles; ++t, to += run * meta.itemsize()) {
    CopySlab(meta, outer, run, x, run, to, run * tiles, context);
  }
}

namespace {

class GetTileGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    std::vector<std::string> inputs = {GO(0)};
    for (int i = 1; i < Def().input_size(); ++i) inputs.push_back(I(i));
    return SingleGradientDef("TileGradient", "", inputs, std::vector<std::string>{GI(0)});
  }
};

// The shape with its axis multiplied (or, for the gradient, divided) by the tiles.
OpSchema::TensorInference InferTile(bool gradient) {
  return [gradient](const OperatorDef& def, const std::vector<TensorShape>& in) {
    if (in.size() > 1) return std::vector<TensorShape>{UnknownTensorShape()};
    const ArgumentHelper arguments(def);
    const int dims = in[0].dims_size();
    int axis = arguments.GetSingleArgument<int>("axis", 0);
    CAFFE_ENFORCE(axis >= -dims && axis < dims, "argument axis (", axis, ") is out of range for ",
                  dims, " axes");
    if (axis < 0) axis += dims;
    const int64_t tiles = arguments.GetSingleArgument<int64_t>("tiles", 1);
    CAFFE_ENFORCE(tiles >= (gradient ? 1 : 0), "argument tiles must be at least ", gradient ? 1 : 0,
                  ", found ", tiles);
    std::vector<TensorShape> out = in;
    out[0].set_dims(axis, gradient ? in[0].dims(axis) / tiles : in[0].dims(axis) * tiles);
    return out;
  };
}

void DescribeTiles(OpSchema& schema) {
  schema.NumInputs(1, 3)
      .NumOutputs(1)
      .Arg<int>("tiles", "(>= 0, default 1) How often the tensor is repeated.")
      .Arg<int>("axis", "The axis along which it is repeated; may be negative. Default 0.")
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
    .Input(0, "d_tiled_data", "Gradient of the output of Tile: float, float16 or bfloat16.")
    .Output(0, "d_data", "Gradient of its input.");
REGISTER_GRADIENT(Tile, GetTileGradient);

}  // namespace caffe2
