#include "caffe2/utils/onednn_conv.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "caffe2/core/logging.h"
#include "caffe2/core/tensor.h"
#include "caffe2/utils/onednn_conv_matmul.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_primitive.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/onednn_winograd.h"
#include "caffe2/utils/pointwise_conv.h"
#include "caffe2/utils/row_conv.h"
#include "caffe2/utils/winograd_panels.h"

namespace caffe2::onednn {
namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;
using Dims = memory::dims;

memory::desc PlainActivation(const Dims& dims, memory::data_type type, bool channels_last) {
  constexpr Tag kFirst[] = {Tag::ncw, Tag::nchw, Tag::ncdhw};
  constexpr Tag kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  const size_t rank = dims.size() - 3;
  return {dims, type, (channels_last ? kLast : kFirst)[rank]};
}

// The types of arrays; `inner_filter` is the primitive's.
struct ConvTypes {
  explicit ConvTypes(const ConvProblem& problem)
      : src(ToDataType(problem.type)),
        filter(ToDataType(problem.filter_type)),
        inner_filter(src),
        dst(src) {}
  explicit ConvTypes(const ByteEpilogue& epilogue)
      : src(memory::data_type::u8),
        filter(memory::data_type::s8),
        inner_filter(filter),
        dst(epilogue.float_dst ? memory::data_type::f32 : src) {}

  memory::data_type src, filter, inner_filter, dst;
};

// The layouts of a convolution: `given` is the caller's, the others are the primitive's. Winograd
// works in float and needs layouts of its own. A direct convolution uses the caller's activations
// as they are, or oneDNN's layout `own`.
struct ConvDescs {
  ConvDescs(const ConvProblem& problem, dnnl::algorithm how, std::optional<Tag> own = {})
      : ConvDescs(problem, how, ConvTypes(problem), own) {}
  ConvDescs(const ConvProblem& problem, dnnl::algorithm how, const ConvTypes& types,
            std::optional<Tag> own = {})
      : algorithm(how) {
    const bool winograd = how == dnnl::algorithm::convolution_winograd;
    const memory::data_type type = winograd ? memory::data_type::f32 : types.inner_filter;
    const size_t rank = problem.stride.size();
    CAFFE_ENFORCE(rank >= 1 && rank <= 3, "a convolution needs 1 to 3 spatial axes, not ", rank);
    given_src = PlainActivation(problem.src, types.src, problem.channels_last);
    given_dst = PlainActivation(problem.dst, types.dst, problem.channels_last);
    if (winograd) own = Tag::any;
    src = own ? memory::desc(problem.src, type, *own) : given_src;
    dst = own ? memory::desc(problem.dst, type, *own) : given_dst;
    Dims filter = problem.filter;
    constexpr Tag kFirst[] = {Tag::oiw, Tag::oihw, Tag::oidhw};
    constexpr Tag kLast[] = {Tag::owi, Tag::ohwi, Tag::odhwi};
    constexpr Tag kGroupFirst[] = {Tag::goiw, Tag::goihw, Tag::goidhw};
    constexpr Tag kGroupLast[] = {Tag::abdc, Tag::abdec, Tag::abdefc};
    Tag first = kFirst[rank - 1], last = kLast[rank - 1];
    if (problem.groups > 1) {
      filter.insert(filter.begin(), problem.groups);
      filter[1] /= problem.groups;
      first = kGroupFirst[rank - 1], last = kGroupLast[rank - 1];
    }
    given_filter = {filter, types.filter, problem.channels_last ? last : first};
    // Winograd's layout for inference cannot be reached from NHWC in one reorder.
    plain_filter = winograd ? memory::desc(filter, type, first) : given_filter;
    any_filter = {filter, type, Tag::any};
    any_d_filter = {filter, types.filter, Tag::any};
    if (problem.bias_type) {
      given_bias = {{problem.filter[0]}, ToDataType(problem.bias_type), Tag::a};
      bias = winograd ? memory::desc({problem.filter[0]}, type, Tag::a) : given_bias;
    }
    stride = problem.stride;
    for (int64_t dilation : problem.dilation) dilates.push_back(dilation - 1);
    pad_begin = problem.pad_begin;
    // oneDNN does not count a tail that the last window does not reach as padding.
    for (size_t i = 0; i < rank; ++i) {
      const int64_t window = (problem.filter[i + 2] - 1) * problem.dilation[i] + 1;
      pad_end.push_back((problem.dst[i + 2] - 1) * problem.stride[i] + window - problem.src[i + 2] -
                        problem.pad_begin[i]);
    }
  }

  dnnl::algorithm algorithm;
  memory::desc given_src, given_dst, given_bias, given_filter, plain_filter;
  memory::desc src, dst, bias, any_filter, any_d_filter;
  Dims stride, dilates, pad_begin, pad_end;
};

void AppendElementwise(dnnl::algorithm algorithm, float alpha, float beta, dnnl::post_ops* ops) {
#if DNNL_VERSION_MAJOR >= 3
  ops->append_eltwise(algorithm, alpha, beta);
#else
  ops->append_eltwise(1.f, algorithm, alpha, beta);
#endif
}

dnnl::primitive_attr ForwardAttributes(const ConvProblem& problem,
                                       const ByteEpilogue& epilogue = {}) {
  constexpr float kMaxByte = 255;
  dnnl::post_ops ops;
  if (problem.add_to_dst) ops.append_sum(epilogue.accumulator_factor);
  if (problem.relu) AppendElementwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f, &ops);
  if (epilogue.min > 0) {
    AppendElementwise(dnnl::algorithm::eltwise_clip, epilogue.min, kMaxByte, &ops);
  }
  dnnl::primitive_attr attr = UserScratchpad();
  attr.set_post_ops(ops);
  return attr;
}

dnnl::convolution_forward::primitive_desc ForwardDesc(const ConvDescs& d, prop_kind kind,
                                                      const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  return {CpuEngine(), kind,     d.algorithm, d.src,       d.any_filter, d.bias,
          d.dst,       d.stride, d.dilates,   d.pad_begin, d.pad_end,    attr};
#else
  return {{kind, d.algorithm, d.src, d.any_filter, d.bias, d.dst, d.stride, d.dilates, d.pad_begin,
           d.pad_end},
          attr,
          CpuEngine()};
#endif
}

// The backward primitives need the forward one as a hint.
dnnl::convolution_forward::primitive_desc ForwardHint(const ConvDescs& d) {
  return ForwardDesc(d, prop_kind::forward_training, UserScratchpad());
}

dnnl::convolution_backward_data::primitive_desc BackwardDataDesc(const ConvDescs& d) {
#if DNNL_VERSION_MAJOR >= 3
  return {CpuEngine(), d.algorithm, d.src,     d.any_filter,   d.dst,           d.stride,
          d.dilates,   d.pad_begin, d.pad_end, ForwardHint(d), UserScratchpad()};
#else
  return {{d.algorithm, d.src, d.any_filter, d.dst, d.stride, d.dilates, d.pad_begin, d.pad_end},
          UserScratchpad(),
          CpuEngine(),
          ForwardHint(d)};
#endif
}

dnnl::convolution_backward_weights::primitive_desc BackwardFilterDesc(const ConvDescs& d) {
#if DNNL_VERSION_MAJOR >= 3
  return {CpuEngine(), d.algorithm, d.src,       d.any_d_filter, d.bias,         d.dst,
          d.stride,    d.dilates,   d.pad_begin, d.pad_end,      ForwardHint(d), UserScratchpad()};
#else
  return {{d.algorithm, d.src, d.any_d_filter, d.bias, d.dst, d.stride, d.dilates, d.pad_begin,
           d.pad_end},
          UserScratchpad(),
          CpuEngine(),
          ForwardHint(d)};
#endif
}

bool WantsWinograd(const ConvProblem& problem, ConvDirection direction) {
  return problem.algorithm == ConvAlgorithm::kWinograd ||
         (problem.algorithm == ConvAlgorithm::kAuto && PrefersWinograd(problem, direction));
}

int64_t NumelOf(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

bool IsForFloat(const ConvProblem& problem) {
  return problem.type.Match<bfloat16>() && !MultipliesBFloat16();
}
// The problem for float copies. Their filter has another address in every run.
ConvProblem InFloat(ConvProblem problem) {
  problem.type = problem.filter_type = TypeMeta::Make<float>();
  if (problem.bias_type) problem.bias_type = problem.type;
  problem.constant_filter = false;
  return problem;
}

// Calls make(descriptors) with oneDNN's Winograd. Returns false if oneDNN has none for the problem.
template <typename Make>
bool MadeByOneDnn(const ConvProblem& problem, const Make& make) {
  if (!problem.type.Match<float>()) return false;
  try {
    make(ConvDescs(problem, dnnl::algorithm::convolution_winograd));
    return true;
  } catch (const dnnl::error& error) {
    VLOG(1) << "oneDNN has no Winograd for " << problem.ToString() << ": " << error.message;
    return false;
  }
}

// The floats in a vector of AVX2. oneDNN's layouts hold blocks of so many channels, or of twice as
// many.
constexpr int64_t kVector = 8;

// The layout for a direct convolution that PrefersOwnLayout.
Tag OwnLayout(const ConvProblem& problem, ConvDirection direction) {
  const bool depthwise = problem.groups == problem.src[1] && problem.groups == problem.filter[0];
  // Left to itself oneDNN takes NHWC, to which it reorders two to three times more slowly.
  if (depthwise) return HasAvx512() ? Tag::nChw16c : Tag::nChw8c;
  // For gradients of filters, padded blocks cost more than in the other directions. It has kernels
  // for the images of a first layer.
  constexpr int64_t kFirstLayer = 4;
  const bool padded = problem.src[1] % kVector != 0 || problem.filter[0] % kVector != 0;
  return direction == ConvDirection::kBackwardFilter && problem.groups == 1 && padded &&
                 problem.src[1] > kFirstLayer
             ? Tag::nhwc
             : Tag::any;
}

// Calls make(descriptors) with oneDNN's own layout. Returns false if oneDNN has no kernel for it.
template <typename Make>
bool MadeInOwnLayout(const ConvProblem& problem, ConvDirection direction, const Make& make) {
  try {
    make(ConvDescs(problem, dnnl::algorithm::convolution_direct, OwnLayout(problem, direction)));
    return true;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    VLOG(1) << "oneDNN has no own layout for " << problem.ToString() << ": " << error.message;
    return false;
  }
}

// True if our own Winograd is faster than oneDNN's. Measured on Zen 4.
bool PrefersOwnWinograd(const ConvProblem& problem) {
  return WinogradSupports(problem) && PanelWinogradSupports(problem) && !HasAmx();
}

// Makes a convolution. If the problem wants Winograd, it is oneDNN's or our own, by
// make_winograd(); all other convolutions are direct, by make(descriptors).
template <typename MakeWinograd, typename Make>
void MakeConvolution(ConvDirection direction, const ConvProblem& problem,
                     const MakeWinograd& make_winograd, const Make& make) {
  constexpr const char* kNames[] = {"forward ", "backward data ", "backward filter "};
  const std::string what = kNames[static_cast<int>(direction)] + problem.ToString();
  if (WantsWinograd(problem, direction)) {
    if (!PrefersOwnWinograd(problem) && MadeByOneDnn(problem, make)) return;
    if (WinogradSupports(problem)) return make_winograd();
    LOG(WARNING) << "there is no Winograd " << what << ": it is computed directly";
  }
  if (PrefersOwnLayout(problem, direction) && MadeInOwnLayout(problem, direction, make)) return;
  Translate(what, [&] { make(ConvDescs(problem, dnnl::algorithm::convolution_direct)); });
}

}  // namespace

bool PrefersOwnLayout(const ConvProblem& problem, ConvDirection direction) {
  // Pointwise convolutions are products of matrices in plain NCHW. A sum into dst would need one
  // more reorder.
  if (problem.channels_last || !problem.type.Match<float>() || problem.stride.size() != 2 ||
      problem.add_to_dst) {
    return false;
  }
  const int64_t taps = problem.filter[2] * problem.filter[3];
  if (taps == 1 || problem.groups > 1) return taps > 1;
  // Blocks hold channels, so there must be enough of them; a forward kernel for few channels has
  // enough to do if the sums are long.
  constexpr int64_t kLongSum = 64;
  switch (direction) {
    case ConvDirection::kForward:
      return taps * problem.src[1] >= kLongSum;
    case ConvDirection::kBackwardData:
      return problem.src[1] >= kVector;
    case ConvDirection::kBackwardFilter:
      return true;
  }
  return false;
}

std::string ConvProblem::ToString() const {
  return MakeString("convolution of ", type.name(), ShapeString(src), " with ", filter_type.name(),
                    ShapeString(filter), " to ", ShapeString(dst), " in ", groups, " groups, ",
                    channels_last ? "NHWC" : "NCHW");
}

ConvForward::ConvForward(const ConvProblem& problem) : problem_(problem) {
  if (IsForFloat(problem)) {
    in_float_ = std::make_unique<ConvForward>(InFloat(problem));
    return;
  }
  if (PrefersPointwise(problem, ConvDirection::kForward)) {
    pointwise_ = std::make_unique<PointwiseConv>(problem, ConvDirection::kForward);
    return;
  }
  if (PrefersRows(problem, ConvDirection::kForward)) {
    rows_ = std::make_unique<RowConv>(problem, ConvDirection::kForward);
    return;
  }
  const auto make_winograd = [&] {
    winograd_ = std::make_unique<WinogradCorrelation>(problem, WinogradCorrelation::kForward);
  };
  MakeConvolution(ConvDirection::kForward, problem, make_winograd, [&](const ConvDescs& d) {
    // For inference, oneDNN's Winograd takes filters that are transformed already.
    const bool keep = problem.constant_filter;
    const auto kind = d.algorithm == dnnl::algorithm::convolution_winograd && !keep
                          ? prop_kind::forward_training
                          : prop_kind::forward_inference;
    const auto pd = ForwardDesc(d, kind, ForwardAttributes(problem));
    primitive_ =
        std::make_unique<BoundPrimitive>(dnnl::convolution_forward(pd), pd.scratchpad_desc());
    primitive_->AddInput(DNNL_ARG_SRC, d.given_src, pd.src_desc());
    if (keep) {
      primitive_->AddConstantInput(DNNL_ARG_WEIGHTS, d.given_filter, d.plain_filter,
                                   pd.weights_desc());
    } else {
      primitive_->AddInput(DNNL_ARG_WEIGHTS, d.given_filter, pd.weights_desc());
    }
    if (problem_.bias_type) primitive_->AddInput(DNNL_ARG_BIAS, d.given_bias, pd.bias_desc());
    if (problem.add_to_dst) {
      primitive_->AddInOut(DNNL_ARG_DST, d.given_dst, pd.dst_desc());
    } else {
      primitive_->AddOutput(DNNL_ARG_DST, d.given_dst, pd.dst_desc());
    }
  });
}
ConvForward::~ConvForward() = default;

void ConvForward::Run(const void* src, const void* filter, const void* bias, void* dst) {
  if (winograd_) return winograd_->Run(src, filter, bias, dst);
  if (pointwise_) {
    return pointwise_->Run(src, static_cast<const float*>(filter), static_cast<const float*>(bias),
                           dst);
  }
  if (rows_) {
    return rows_->Forward(static_cast<const float*>(src), static_cast<const float*>(filter),
                          static_cast<const float*>(bias), static_cast<float*>(dst));
  }
  if (in_float_) {
    FloatCopies copies;
    const ConvProblem& p = problem_;
    in_float_->Run(copies.Input(src, p.type, NumelOf(p.src)),
                   copies.Input(filter, p.filter_type, NumelOf(p.filter)),
                   copies.Input(bias, p.bias_type, p.filter[0]),
                   copies.Output(dst, p.type, NumelOf(p.dst), p.add_to_dst));
    return copies.Finish();
  }
  if (problem_.bias_type) {
    primitive_->Run({src, filter, bias, dst});
  } else {
    primitive_->Run({src, filter, dst});
  }
}

bool ScalesBeforeOffset() { return DNNL_VERSION_MAJOR >= 3; }

ByteConvForward::ByteConvForward(const ConvProblem& problem, const ByteEpilogue& epilogue)
    : multipliers_(epilogue.multipliers), bias_(epilogue.offsets) {
  CAFFE_ENFORCE(AddsBytesExactly(), "this processor does not add products of bytes exactly");
  const auto filters = static_cast<size_t>(problem.filter[0]);
  CAFFE_ENFORCE(multipliers_.size() == filters && bias_.size() == filters,
                "multipliers, offsets and filters: ", multipliers_.size(), ", ", bias_.size(), ", ",
                filters);
  dnnl::primitive_attr attr = ForwardAttributes(problem, epilogue);
#if DNNL_VERSION_MAJOR >= 3
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, problem.groups > 1 ? 3 : 1);
#else
  // The factors apply to the bias, too.
  attr.set_output_scales(1 << 1, multipliers_);
  for (size_t m = 0; m < filters; ++m) bias_[m] /= multipliers_[m];
#endif
  Translate("byte " + problem.ToString(), [&] {
    ConvDescs d(problem, dnnl::algorithm::convolution_direct, ConvTypes(epilogue));
    const memory::desc values({problem.filter[0]}, memory::data_type::f32, Tag::a);
    d.bias = values;
    const auto pd = ForwardDesc(d, prop_kind::forward_inference, attr);
    const std::string kernel = pd.impl_info_str();
    CAFFE_ENFORCE(kernel.rfind("ref", 0) != 0, "oneDNN has only a slow kernel, ", kernel, ", for ",
                  problem.ToString());
    primitive_ =
        std::make_unique<BoundPrimitive>(dnnl::convolution_forward(pd), pd.scratchpad_desc());
    primitive_->AddInput(DNNL_ARG_SRC, d.given_src, pd.src_desc());
    primitive_->AddConstantInput(DNNL_ARG_WEIGHTS, d.given_filter, d.plain_filter,
                                 pd.weights_desc());
    primitive_->AddInput(DNNL_ARG_BIAS, values, pd.bias_desc());
#if DNNL_VERSION_MAJOR >= 3
    primitive_->AddInput(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, values, values);
#endif
    if (problem.add_to_dst) {
      primitive_->AddInOut(DNNL_ARG_DST, d.given_dst, pd.dst_desc());
    } else {
      primitive_->AddOutput(DNNL_ARG_DST, d.given_dst, pd.dst_desc());
    }
  });
}
ByteConvForward::~ByteConvForward() = default;

void ByteConvForward::Run(const uint8_t* src, const int8_t* filter, void* dst) {
#if DNNL_VERSION_MAJOR >= 3
  primitive_->Run({src, filter, bias_.data(), multipliers_.data(), dst});
#else
  primitive_->Run({src, filter, bias_.data(), dst});
#endif
}

bool AddsDataGradient(const ConvProblem& problem) {
  if (IsForFloat(problem)) return AddsDataGradient(InFloat(problem));
  return PrefersPointwise(problem, ConvDirection::kBackwardData) ||
         (PatchesSupport(problem) && PatchDataGradient::Adds(problem));
}

ConvBackwardData::ConvBackwardData(const ConvProblem& problem) : problem_(problem) {
  CAFFE_ENFORCE(!problem.add_to_dst || AddsDataGradient(problem),
                "cannot add to the gradient of the input: ", problem.ToString());
  if (IsForFloat(problem)) {
    in_float_ = std::make_unique<ConvBackwardData>(InFloat(problem));
    return;
  }
  if (PrefersPointwise(problem, ConvDirection::kBackwardData)) {
    pointwise_ = std::make_unique<PointwiseConv>(problem, ConvDirection::kBackwardData);
    return;
  }
  const bool mistakes = OneDnnMistakes(problem, ConvDirection::kBackwardData);
  if (mistakes && !PatchesSupport(problem)) {
    in_float_ = std::make_unique<ConvBackwardData>(InFloat(problem));
    return;
  }
  if (problem.add_to_dst || mistakes || PrefersPatches(problem, ConvDirection::kBackwardData)) {
    patches_ = std::make_unique<PatchDataGradient>(problem);
    return;
  }
  if (PrefersRows(problem, ConvDirection::kBackwardData)) {
    rows_ = std::make_unique<RowConv>(problem, ConvDirection::kBackwardData);
    return;
  }
  const auto make_winograd = [&] {
    winograd_ = std::make_unique<WinogradCorrelation>(problem, WinogradCorrelation::kBackwardData);
  };
  MakeConvolution(ConvDirection::kBackwardData, problem, make_winograd, [&](const ConvDescs& d) {
    const auto pd = BackwardDataDesc(d);
    primitive_ =
        std::make_unique<BoundPrimitive>(dnnl::convolution_backward_data(pd), pd.scratchpad_desc());
    primitive_->AddInput(DNNL_ARG_DIFF_DST, d.given_dst, pd.diff_dst_desc());
    primitive_->AddInput(DNNL_ARG_WEIGHTS, d.given_filter, pd.weights_desc());
    primitive_->AddOutput(DNNL_ARG_DIFF_SRC, d.given_src, pd.diff_src_desc());
  });
}
ConvBackwardData::~ConvBackwardData() = default;

void ConvBackwardData::Run(const void* d_dst, const void* filter, void* d_src) {
  if (winograd_) return winograd_->Run(d_dst, filter, nullptr, d_src);
  if (pointwise_) return pointwise_->Run(d_dst, static_cast<const float*>(filter), nullptr, d_src);
  if (patches_) return patches_->Run(d_dst, filter, d_src);
  if (rows_) {
    return rows_->BackwardData(static_cast<const float*>(d_dst), static_cast<const float*>(filter),
                               static_cast<float*>(d_src));
  }
  if (in_float_) {
    FloatCopies copies;
    const ConvProblem& p = problem_;
    in_float_->Run(copies.Input(d_dst, p.type, NumelOf(p.dst)),
                   copies.Input(filter, p.filter_type, NumelOf(p.filter)),
                   copies.Output(d_src, p.type, NumelOf(p.src), p.add_to_dst));
    return copies.Finish();
  }
  primitive_->Run({d_dst, filter, d_src});
}

ConvBackwardFilter::ConvBackwardFilter(const ConvProblem& problem) : problem_(problem) {
  if (IsForFloat(problem)) {
    in_float_ = std::make_unique<ConvBackwardFilter>(InFloat(problem));
    return;
  }
  const bool mistakes = OneDnnMistakes(problem, ConvDirection::kBackwardFilter);
  if (mistakes && !PatchesSupport(problem)) {
    in_float_ = std::make_unique<ConvBackwardFilter>(InFloat(problem));
    return;
  }
  if (mistakes || PrefersPatches(problem, ConvDirection::kBackwardFilter)) {
    patches_ = std::make_unique<PatchFilterGradient>(problem);
    return;
  }
  if (PrefersRows(problem, ConvDirection::kBackwardFilter)) {
    rows_ = std::make_unique<RowConv>(problem, ConvDirection::kBackwardFilter);
    return;
  }
  const auto make_winograd = [&] { winograd_ = std::make_unique<WinogradFilterGradient>(problem); };
  MakeConvolution(ConvDirection::kBackwardFilter, problem, make_winograd, [&](const ConvDescs& d) {
    const auto pd = BackwardFilterDesc(d);
    primitive_ = std::make_unique<BoundPrimitive>(dnnl::convolution_backward_weights(pd),
                                                  pd.scratchpad_desc());
    primitive_->AddInput(DNNL_ARG_SRC, d.given_src, pd.src_desc());
    primitive_->AddInput(DNNL_ARG_DIFF_DST, d.given_dst, pd.diff_dst_desc());
    primitive_->AddOutput(DNNL_ARG_DIFF_WEIGHTS, d.given_filter, pd.diff_weights_desc());
    if (problem_.bias_type)
      primitive_->AddOutput(DNNL_ARG_DIFF_BIAS, d.given_bias, pd.diff_bias_desc());
  });
}
ConvBackwardFilter::~ConvBackwardFilter() = default;

void ConvBackwardFilter::Run(const void* src, const void* d_dst, void* d_filter, void* d_bias) {
  if (winograd_) return winograd_->Run(src, d_dst, d_filter, d_bias);
  if (patches_) return patches_->Run(src, d_dst, d_filter);
  if (rows_) {
    return rows_->BackwardFilter(static_cast<const float*>(src), static_cast<const float*>(d_dst),
                                 static_cast<float*>(d_filter), static_cast<float*>(d_bias));
  }
  if (in_float_) {
    FloatCopies copies;
    const ConvProblem& p = problem_;
    in_float_->Run(copies.Input(src, p.type, NumelOf(p.src)),
                   copies.Input(d_dst, p.type, NumelOf(p.dst)),
                   copies.Output(d_filter, p.filter_type, NumelOf(p.filter)),
                   copies.Output(d_bias, p.bias_type, p.filter[0]));
    return copies.Finish();
  }
  if (problem_.bias_type) {
    primitive_->Run({src, d_dst, d_filter, d_bias});
  } else {
    primitive_->Run({src, d_dst, d_filter});
  }
}

}  // namespace caffe2::onednn
