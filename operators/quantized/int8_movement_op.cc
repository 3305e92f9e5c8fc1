// Operators that move the levels of quantized tensors without changing them. They change shapes
// like the operators on plain tensors.
#include <cstring>

#include "caffe2/utils/parallel.h"
#include "operators/common/element_type.h"
#include "operators/image/channel_shuffle_op.h"
#include "operators/image/resize_nearest_op.h"
#include "operators/quantized/int8_op.h"
#include "operators/shape/concat_split.h"
#include "operators/shape/flatten_op.h"
#include "operators/shape/reshape_op.h"
#include "operators/shape/slice_op.h"
#include "operators/shape/transpose_op.h"

namespace caffe2::int8 {
namespace {

// Inputs -> their joined tensor, [their sizes along the axis].
class Int8ConcatOp final : public Int8Operator {
 public:
  Int8ConcatOp(const OperatorDef& def, Workspace* ws)
      : Int8Operator(def, ws), concat_(AxisOf(ArgumentHelper(def))) {}
  // As in Caffe2, the axis is 0 if neither it nor the order of images is given.
  static ConcatAxis AxisOf(const ArgumentHelper& arguments) {
    ConcatAxis concat(arguments);
    if (!arguments.HasArgument("axis") && !arguments.HasArgument("order")) concat.axis = 0;
    return concat;
  }
  bool RunOnDevice() override {
    const Quantization kept = Kept(Levels(0));
    std::vector<std::vector<int64_t>> pieces;
    for (int k = 0; k < InputSize(); ++k) {
      CAFFE_ENFORCE(Quantization::Of(Levels(k)) == kept, "input ", k,
                    " is not quantized like input 0: scale ", Levels(k).scale, " and zero point ",
                    Levels(k).zero_point);
      pieces.push_back(Levels(k).t.sizes());
    }
    Tensor* Y = SetResult(kept);
    Y->Resize(JoinedShape(pieces, concat_));
    const int axis = concat_.Canonical(Y->dim());
    Join(axis, Y);
    if (OutputSize() > 1) WriteLengths(pieces, axis);
    return true;
  }

 private:
  // Row by row of Y, which are short where images are joined by their channels.
  void Join(int axis, Tensor* Y) {
    struct Piece {
      const uint8_t* levels;
      int64_t run;
    };
    const int64_t outer = Y->size_to_dim(axis), y_run = Y->size_from_dim(axis);
    if (Y->numel() == 0) return;
    std::vector<Piece> pieces;
    for (int k = 0; k < InputSize(); ++k) {
      const Tensor& x = Levels(k).t;
      pieces.push_back({x.data<uint8_t>(), x.numel() / outer});
    }
    auto* y = Y->mutable_data<uint8_t>();
    ParallelFor(outer, std::max<int64_t>(1, kElementwiseGrain / y_run),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    uint8_t* to = y + i * y_run;
                    for (const Piece& piece : pieces) {
                      std::memcpy(to, piece.levels + i * piece.run, piece.run);
                      to += piece.run;
                    }
                  }
                });
  }
  void WriteLengths(const std::vector<std::vector<int64_t>>& pieces, int axis) {
    Tensor* lengths = OutputCPU(1);
    lengths->Resize(InputSize());
    auto* data = lengths->mutable_data<int32_t>();
    for (int k = 0; k < InputSize(); ++k) {
      data[k] = concat_.add_axis ? 1 : static_cast<int32_t>(pieces[k][axis]);
    }
  }

  const ConcatAxis concat_;
};

// The arguments starts and ends or, for one dimension, dim, start_idx and end_idx.
TensorBox BoxOf(const ArgumentHelper& arguments, const std::vector<int64_t>& dims) {
  if (!arguments.HasArgument("dim")) {
    return TensorBox::Resolve(arguments.GetRepeatedArgument<int64_t>("starts"),
                              arguments.GetRepeatedArgument<int64_t>("ends"), dims);
  }
  const auto dim = arguments.GetSingleArgument<int64_t>("dim", 0);
  CAFFE_ENFORCE(dim >= 0 && dim < static_cast<int64_t>(dims.size()), "argument dim (", dim,
                ") is out of range for shape ", ShapeString(dims));
  std::vector<int64_t> starts(dims.size(), 0), ends(dims.size(), -1);
  starts[dim] = arguments.GetSingleArgument<int64_t>("start_idx", 0);
  ends[dim] = arguments.GetSingleArgument<int64_t>("end_idx", -1);
  return TensorBox::Resolve(starts, ends, dims);
}

// X, [starts, ends] -> the part.
class Int8SliceOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const std::vector<int64_t> dims = X.t.sizes();
    const TensorBox box = InputSize() == 1
                              ? BoxOf(ArgumentHelper(debug_def()), dims)
                              : TensorBox::Resolve(ReadDimensions(Input(1), "starts"),
                                                   ReadDimensions(Input(2), "ends"), dims);
    Tensor* Y = SetResult(Kept(X));
    Y->Resize(box.size);
    TakeBox(X.t.dtype(), dims, box, X.t.raw_data(), Y->mutable_data<uint8_t>(), &context_);
    return true;
  }
};

// X, [shape] -> X in that shape, [the old one].
class Int8ReshapeOp final : public Int8Operator {
 public:
  Int8ReshapeOp(const OperatorDef& def, Workspace* ws) : Int8Operator(def, ws) {
    CAFFE_ENFORCE(InputSize() == 2 || HasArgument("shape"),
                  "there is neither an argument shape nor an input 1 for the new shape");
  }
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const std::vector<int64_t> old = X.t.sizes();
    const std::vector<int64_t> shape =
        ResolveShape(old, InputSize() == 2 ? ReadDimensions(Input(1), "new_shape")
                                           : GetRepeatedArgument<int64_t>("shape"));
    if (OutputSize() > 1) {
      Tensor* dims = OutputCPU(1);
      dims->Resize(static_cast<int64_t>(old.size()));
      std::copy(old.begin(), old.end(), dims->mutable_data<int64_t>());
    }
    Tensor* Y = SetResult(Kept(X));
    Y->Resize(shape);
    CopyElements(X.t, Y, &context_);
    return true;
  }
};

class Int8FlattenOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const int axis = FlattenAxis(GetSingleArgument<int>("axis", 1), X.t.dim());
    Tensor* Y = SetResult(Kept(X));
    Y->Resize(X.t.size_to_dim(axis), X.t.size_from_dim(axis));
    CopyElements(X.t, Y, &context_);
    return true;
  }
};

class Int8TransposeOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const std::vector<int> axes = AxesFor(GetRepeatedArgument<int>("axes"), X.t.dim());
    Tensor* Y = SetResult(Kept(X));
    Y->Resize(Permuted(X.t.sizes(), axes));
    TransposeElements(X.t.sizes(), axes, sizeof(uint8_t), X.t.raw_data(),
                      Y->mutable_data<uint8_t>());
    return true;
  }
};

class Int8ChannelShuffleOp final : public Int8Operator {
 public:
  Int8ChannelShuffleOp(const OperatorDef& def, Workspace* ws)
      : Int8Operator(def, ws), group_(GetSingleArgument<int64_t>("group", 1)) {
    CheckChannelsLast(*this);
    CAFFE_ENFORCE(group_ >= 1, "argument group must be positive, found ", group_);
  }
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    CAFFE_ENFORCE(X.t.dim() >= 1, "X must have at least one axis, found a scalar");
    const int64_t channels = X.t.size(X.t.dim() - 1);
    CAFFE_ENFORCE(channels % group_ == 0, "the ", channels,
                  " channels are not a multiple of the argument group (", group_, ")");
    Tensor* Y = SetResult(Kept(X));
    Y->ResizeLike(X.t);
    TransposeRuns(X.t.size_to_dim(X.t.dim() - 1), group_, channels / group_, 1, sizeof(uint8_t),
                  X.t.raw_data(), Y->mutable_data<uint8_t>(), &context_);
    return true;
  }

 private:
  const int64_t group_;
};

ResizeShape ScaledShape(const ArgumentHelper& arguments, const std::vector<int64_t>& dims) {
  if (arguments.HasArgument("output_size")) {
    const auto size = arguments.GetRepeatedArgument<int64_t>("output_size");
    CAFFE_ENFORCE(size.size() == 2, "argument output_size must be height and width, found ",
                  size.size(), " numbers");
    return {dims, StorageOrder::kNHWC, size[0], size[1]};
  }
  const ImageScales by = ImageScales::Read(arguments, nullptr);
  return {dims, StorageOrder::kNHWC, "height_scale", by.height, "width_scale", by.width};
}

class Int8ResizeNearestOp final : public Int8Operator {
 public:
  using Int8Operator::Int8Operator;
  bool RunOnDevice() override {
    const Int8TensorCPU& X = Levels(0);
    const ResizeShape shape = ScaledShape(ArgumentHelper(debug_def()), X.t.sizes());
    const PixelPlanes& images = shape.planes;
    Tensor* Y = SetResult(Kept(X));
    Y->Resize(shape.output);
    const auto* x = X.t.data<uint8_t>();
    auto* y = Y->mutable_data<uint8_t>();
    for (int64_t n = 0; n < images.planes; ++n) {
      for (const int64_t row : shape.map.rows) {
        const uint8_t* from = x + (n * images.height + row) * images.width * images.values;
        for (const int64_t column : shape.map.columns) {
          std::memcpy(y, from + column * images.values, images.values);
          y += images.values;
        }
      }
    }
    return true;
  }
};

using Shapes = std::vector<TensorShape>;

TensorShape LevelsOf(const std::vector<int64_t>& dims) {
  return CreateTensorShape(dims, TensorProto::UINT8);
}

Shapes InferConcat(const OperatorDef& def, const Shapes& in) {
  std::vector<std::vector<int64_t>> pieces;
  for (const TensorShape& shape : in) pieces.push_back(GetDimsVector(shape));
  Shapes out{LevelsOf(JoinedShape(pieces, Int8ConcatOp::AxisOf(ArgumentHelper(def))))};
  if (def.output_size() > 1) {
    out.push_back(CreateTensorShape({static_cast<int64_t>(in.size())}, TensorProto::INT32));
  }
  return out;
}
Shapes InferSlice(const OperatorDef& def, const Shapes& in) {
  if (in.size() > 1) return {UnknownTensorShape()};
  return {LevelsOf(BoxOf(ArgumentHelper(def), GetDimsVector(in[0])).size)};
}
Shapes InferReshape(const OperatorDef& def, const Shapes& in) {
  Shapes out{UnknownTensorShape()};
  if (in.size() == 1) {
    out[0] = LevelsOf(ResolveShape(GetDimsVector(in[0]),
                                   ArgumentHelper(def).GetRepeatedArgument<int64_t>("shape")));
  }
  if (def.output_size() > 1) {
    out.push_back(CreateTensorShape({in[0].dims_size()}, TensorProto::INT64));
  }
  return out;
}
Shapes InferFlatten(const OperatorDef& def, const Shapes& in) {
  const std::vector<int64_t> dims = GetDimsVector(in[0]);
  const int axis =
      FlattenAxis(ArgumentHelper(def).GetSingleArgument<int>("axis", 1), in[0].dims_size());
  return {LevelsOf(
      {CheckedNumel(dims.data(), axis), CheckedNumel(dims.data() + axis, dims.size() - axis)})};
}
Shapes InferTranspose(const OperatorDef& def, const Shapes& in) {
  const std::vector<int> axes =
      AxesFor(ArgumentHelper(def).GetRepeatedArgument<int>("axes"), in[0].dims_size());
  return {LevelsOf(Permuted(GetDimsVector(in[0]), axes))};
}
Shapes InferResize(const OperatorDef& def, const Shapes& in) {
  return {LevelsOf(ScaledShape(ArgumentHelper(def), GetDimsVector(in[0])).output)};
}

void DescribeMovement(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .FillUsing(DescribeKept)
      .Input(0, "X", "A quantized tensor.")
      .Output(0, "Y", "A quantized tensor of X's scale and zero point.");
}

REGISTER_CPU_OPERATOR(Int8Concat, Int8ConcatOp);
REGISTER_CPU_OPERATOR(Int8Slice, Int8SliceOp);
REGISTER_CPU_OPERATOR(Int8Reshape, Int8ReshapeOp);
REGISTER_CPU_OPERATOR(Int8Flatten, Int8FlattenOp);
REGISTER_CPU_OPERATOR(Int8Transpose, Int8TransposeOp);
REGISTER_CPU_OPERATOR(Int8ChannelShuffle, Int8ChannelShuffleOp);
REGISTER_CPU_OPERATOR(Int8ResizeNearest, Int8ResizeNearestOp);

OPERATOR_SCHEMA(Int8Concat)
    .FillUsing(DescribeMovement)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(1, 2)
    .TensorInferenceFunction(InferConcat)
    .SetDoc("Joins quantized tensors, of one scale and zero point, along an axis.")
    .Arg<int>("axis", "The axis. Default: the channels of `order`; without one, 0.")
    .Arg<bool>("add_axis", "1: the inputs are stacked along a new axis. Default 0.")
    .ArgOrder("Gives the axis if `axis` is not given.")
    .Input(0, "X",
           "The first quantized tensor; more may follow. They must differ in the size of the axis "
           "only.")
    .Output(1, "split_info", "Optional: int32, the size of each input along the axis.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Slice)
    .FillUsing(DescribeMovement)
    .NumInputs({1, 3})
    .TensorInferenceFunction(InferSlice)
    .SetDoc("Slice of a quantized tensor.")
    .ArgList<int>("starts", "First index in each dimension, as in Slice.")
    .ArgList<int>("ends", "The index after the last one, as in Slice.")
    .Arg<int>("dim", "The only dimension with bounds, which are start_idx and end_idx.")
    .Arg<int>("start_idx", "The first index of `dim`, default 0.")
    .Arg<int>("end_idx", "The index after the last one of `dim`, default -1: the end.")
    .Input(1, "starts", "Optional, in place of the argument: one-dimensional int32 or int64.")
    .Input(2, "ends", "Optional, in place of the argument: one-dimensional int32 or int64.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Reshape)
    .FillUsing(DescribeMovement)
    .NumInputs(1, 2)
    .NumOutputs(1, 2)
    .AllowInplace({{0, 0}})
    .TensorInferenceFunction(InferReshape)
    .SetDoc("Reshape of a quantized tensor.")
    .ArgList<int>("shape", "The new shape, as in Reshape, unless it is an input.")
    .Input(1, "new_shape", "Optional: the new shape, one-dimensional int32 or int64.")
    .Output(1, "old_shape", "Optional: the shape of X, one-dimensional int64.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Flatten)
    .FillUsing(DescribeMovement)
    .TensorInferenceFunction(InferFlatten)
    .SetDoc("Flatten of a quantized tensor: reshapes it to a matrix.")
    .Arg<int>("axis", "First dimension of the columns; may be negative. Default 1.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8Transpose)
    .FillUsing(DescribeMovement)
    .TensorInferenceFunction(InferTranspose)
    .SetDoc("Transpose of a quantized tensor.")
    .ArgList<int>("axes", "The permutation. Default: the dimensions are reversed.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ChannelShuffle)
    .FillUsing(DescribeMovement)
    .IdenticalTypeAndShape()
    .SetDoc("ChannelShuffle of quantized images N x H x W x C.")
    .Arg<int>("group", "(> 0, default 1) Groups that the channels fall into.")
    .ArgOneOf("order", {"NHWC"}, "The storage order, which must be given.")
    .Arg("kernel", "Not read.")
    .CpuOnly(kCpuOnly);
OPERATOR_SCHEMA(Int8ResizeNearest)
    .FillUsing(DescribeMovement)
    .FillUsing(ImageScales::Describe)
    .ArgList<int>("output_size", "Height and width of the result; overrides the scales.")
    .TensorInferenceFunction(InferResize)
    .SetDoc("ResizeNearest of quantized images N x H x W x C.")
    .CpuOnly(kCpuOnly);
SHOULD_NOT_DO_GRADIENT(Int8Concat);
SHOULD_NOT_DO_GRADIENT(Int8Slice);
SHOULD_NOT_DO_GRADIENT(Int8Reshape);
SHOULD_NOT_DO_GRADIENT(Int8Flatten);
SHOULD_NOT_DO_GRADIENT(Int8Transpose);
SHOULD_NOT_DO_GRADIENT(Int8ChannelShuffle);
SHOULD_NOT_DO_GRADIENT(Int8ResizeNearest);

}  // namespace
}  // namespace caffe2::int8
