#include "operators/conv/conv_pool_shape.h"

#include <algorithm>
#include <limits>

#include "caffe2/core/tensor.h"

namespace caffe2 {
namespace {

// Sums and products of two values up to this limit cannot overflow int64_t.
constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

using Values = std::vector<int64_t>;

// `name`s (a list), `name` (one for all axes), or name_h and name_w.
Values ReadPerAxis(const ArgumentHelper& arguments, const std::string& name, int64_t minimum,
                   int64_t missing) {
  Values values;
  const std::string list = name == "adj" ? "adjs" : name + "s";
  if (arguments.HasArgument(list)) {
    values = arguments.GetRepeatedArgument<int64_t>(list);
  } else if (arguments.HasArgument(name + "_h") || arguments.HasArgument(name + "_w")) {
    values = {arguments.GetSingleArgument<int64_t>(name + "_h", missing),
              arguments.GetSingleArgument<int64_t>(name + "_w", missing)};
  } else if (arguments.HasArgument(name)) {
    values = {arguments.GetSingleArgument<int64_t>(name, missing)};
  }
  for (int64_t value : values) {
    CAFFE_ENFORCE(value >= minimum && value <= kMaxInt, "argument ", name, " must be from ",
                  minimum, " to ", kMaxInt, ", found ", value);
  }
  return values;
}

Values ReadGivenPads(const ArgumentHelper& arguments, int64_t minimum = 0) {
  Values pads;
  if (arguments.HasArgument("pads")) {
    pads = arguments.GetRepeatedArgument<int64_t>("pads");
  } else if (arguments.HasArgument("pad")) {
    pads = {arguments.GetSingleArgument<int64_t>("pad", 0)};
  } else {
    bool any = false;
    for (const char* name : {"pad_t", "pad_l", "pad_b", "pad_r"}) {
      any = any || arguments.HasArgument(name);
      pads.push_back(arguments.GetSingleArgument<int64_t>(name, 0));
    }
    if (!any) pads.clear();
  }
  for (int64_t pad : pads) {
    CAFFE_ENFORCE(pad >= minimum && pad <= kMaxInt, "a pad must be from ", minimum, " to ", kMaxInt,
                  ", found ", pad);
  }
  return pads;
}

Values ExpandAxes(const char* name, const Values& given, size_t count, int64_t missing) {
  if (given.empty()) return Values(count, missing);
  if (given.size() == 1) return Values(count, given[0]);
  CAFFE_ENFORCE(given.size() == count, "argument ", name, " must have one value for each of the ",
                count, " spatial axes of the input, found ", given.size());
  return given;
}

int64_t CeilDivide(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

}  // namespace

StorageOrder ReadStorageOrder(const ArgumentHelper& arguments) {
  const std::string order = arguments.GetSingleArgument<std::string>("order", "NCHW");
  if (order == "NCHW") return StorageOrder::kNCHW;
  if (order == "NHWC") return StorageOrder::kNHWC;
  CAFFE_THROW("argument order must be NCHW or NHWC, found ", order);
}

std::vector<int64_t> ReadPads(const ArgumentHelper& arguments, size_t rank) {
  return ExpandAxes("pads", ReadGivenPads(arguments, -kMaxInt), 2 * rank, 0);
}

ImageShape ImageShape::FromDims(const std::vector<int64_t>& dims, StorageOrder order) {
  CAFFE_ENFORCE(dims.size() >= 2, "an image must have at least two axes, found shape ",
                ShapeString(dims));
  ImageShape shape;
  shape.batch = dims[0];
  const bool last = order == StorageOrder::kNHWC;
  shape.channels = last ? dims.back() : dims[1];
  shape.spatial = {dims.begin() + (last ? 1 : 2), dims.end() - (last ? 1 : 0)};
  return shape;
}

std::vector<int64_t> ImageShape::ToDims(StorageOrder order) const {
  std::vector<int64_t> dims = {batch};
  if (order == StorageOrder::kNCHW) dims.push_back(channels);
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  if (order == StorageOrder::kNHWC) dims.push_back(channels);
  return dims;
}

int64_t ImageShape::SpatialSize() const { return CheckedNumel(spatial); }

WindowArguments::WindowArguments(const ArgumentHelper& arguments)
    : order_(ReadStorageOrder(arguments)),
      group_(arguments.GetSingleArgument<int64_t>("group", 1)),
      legacy_pad_(arguments.GetSingleArgument<int>("legacy_pad", kNotSet)),
      global_pooling_(arguments.GetSingleArgument<bool>("global_pooling", false)),
      kernel_(ReadPerAxis(arguments, "kernel", global_pooling_ ? 0 : 1, 0)),
      stride_(ReadPerAxis(arguments, "stride", 1, 1)),
      dilation_(ReadPerAxis(arguments, "dilation", 1, 1)),
      pads_(ReadGivenPads(arguments)),
      adj_(ReadPerAxis(arguments, "adj", 0, 0)) {
  CAFFE_ENFORCE(group_ >= 1, "argument group must be positive, found ", group_);
  CAFFE_ENFORCE(legacy_pad_ >= kNotSet && legacy_pad_ <= kCaffePooling,
                "argument legacy_pad must be from 0 to 3, found ", legacy_pad_);
  const auto all = [](const Values& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == wanted; });
  };
  if (legacy_pad_ == kValid || legacy_pad_ == kSame) {
    CAFFE_ENFORCE(pads_.empty(), "pads and legacy_pad VALID or SAME cannot be used together");
  }
  if (global_pooling_) {
    CAFFE_ENFORCE(all(stride_, 1) && all(dilation_, 1) && all(pads_, 0),
                  "global_pooling takes no stride, dilation or pad");
    kernel_.clear();
  } else {
    CAFFE_ENFORCE(!kernel_.empty(),
                  "there is no argument kernel, kernels, or kernel_h and kernel_w");
  }
}

Window WindowArguments::Expand(size_t rank) const {
  CAFFE_ENFORCE(rank >= 1 && rank <= 3, "an image must have 1 to 3 spatial axes, found ", rank);
  Window window;
  window.kernel = ExpandAxes("kernel", kernel_, rank, 0);
  window.stride = ExpandAxes("stride", stride_, rank, 1);
  window.dilation = ExpandAxes("dilation", dilation_, rank, 1);
  const Values pads = ExpandAxes("pads", pads_, 2 * rank, 0);
  window.pad_begin = {pads.begin(), pads.begin() + rank};
  window.pad_end = {pads.begin() + rank, pads.end()};
  window.output.resize(rank);
  return window;
}

void WindowArguments::ResolveAxis(int64_t input, size_t axis, Window* window) const {
  const int64_t kernel = window->kernel[axis], stride = window->stride[axis];
  const int64_t reach = (kernel - 1) * window->dilation[axis] + 1;
  int64_t& begin = window->pad_begin[axis];
  int64_t& end = window->pad_end[axis];
  int64_t& output = window->output[axis];
  CAFFE_ENFORCE(input > 0 && input <= kMaxInt, "spatial axis ", axis,
                " of the input must have from 1 to ", kMaxInt, " elements, found ", input);
  switch (legacy_pad_) {
    case kSame: {
      output = CeilDivide(input, stride);
      const int64_t pad = std::max<int64_t>(0, (output - 1) * stride + reach - input);
      begin = pad / 2;
      end = pad - begin;
      break;
    }
    case kCaffePooling: {
      output = CeilDivide(input + 2 * begin - reach, stride) + 1;
      // With padding, the last window must begin inside the image or its leading pad.
      if (begin > 0 && (output - 1) * stride >= input + begin) --output;
      CAFFE_ENFORCE(output >= 1 && (output - 1) * stride < input + begin, "with a kernel of ",
                    kernel, " and stride ", stride,
                    " the last window begins past the end of an axis of ", input);
      end = std::max<int64_t>(0, (output - 1) * stride + reach - input - begin);
      break;
    }
    default: {
      const int64_t padded = input + begin + end;
      CAFFE_ENFORCE(padded >= reach, "spatial axis ", axis, ": the padded input (", input, " + ",
                    begin, " + ", end, ") is smaller than the dilated kernel (", reach, ")");
      output = (padded - reach) / stride + 1;
    }
  }
}

Window WindowArguments::Resolve(const std::vector<int64_t>& spatial) const {
  Window window = Expand(spatial.size());
  if (global_pooling_) window.kernel = spatial;
  for (size_t axis = 0; axis < spatial.size(); ++axis) ResolveAxis(spatial[axis], axis, &window);
  return window;
}

Window WindowArguments::ResolveTransposed(const std::vector<int64_t>& spatial) const {
  CAFFE_ENFORCE(!global_pooling_ && legacy_pad_ != kCaffePooling,
                "a transposed convolution does not take global_pooling or legacy_pad 3");
  Window window = Expand(spatial.size());
  const Values adj = ExpandAxes("adj", adj_, spatial.size(), 0);
  for (size_t axis = 0; axis < spatial.size(); ++axis) {
    const int64_t stride = window.stride[axis], kernel = window.kernel[axis];
    CAFFE_ENFORCE(spatial[axis] > 0 && spatial[axis] <= kMaxInt, "spatial axis ", axis,
                  " of the input must have from 1 to ", kMaxInt, " elements, found ",
                  spatial[axis]);
    CAFFE_ENFORCE(adj[axis] < stride, "argument adj (", adj[axis],
                  ") must be less than the stride (", stride, ")");
    CAFFE_ENFORCE(window.dilation[axis] == 1,
                  "a transposed convolution must have dilation 1, found ", window.dilation[axis]);
    window.output[axis] = (spatial[axis] - 1) * stride + kernel + adj[axis] -
                          window.pad_begin[axis] - window.pad_end[axis];
    CAFFE_ENFORCE(window.output[axis] > 0, "the pads remove the whole output on spatial axis ",
                  axis);
  }
  return window;
}

void DescribeWindow(OpSchema& schema) {
  schema.ArgOrder()
      .Arg<int>("kernel",
                "Window size of all axes. Or kernel_h and kernel_w, or kernels with one value for "
                "each axis.")
      .Arg<int>("stride", "Step of the window, default 1. Or stride_h and stride_w, or strides.")
      .Arg<int>("dilation",
                "Distance between the window's elements, default 1. Or dilation_h and dilation_w, "
                "or dilations.")
      .Arg<int>("pad",
                "Zeros added on every side, default 0. Or pad_t, pad_l, pad_b, pad_r, or pads with "
                "all beginnings, then all ends.")
      .Arg<int>(
          "legacy_pad",
          "(0 to 3, default 0) 0: pads as given. 1: VALID, none. 2: SAME, output = ceil(input / "
          "stride). 3: Caffe's pooling, output size rounded up.");
}

}  // namespace caffe2
