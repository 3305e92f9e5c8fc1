// Static quantization of a trained net: floats become 256 levels, whose scales are chosen from
// examples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/graph/value_histogram.h"

namespace caffe2 {

struct QuantizationOptions {
  RangeMethod ranges = RangeMethod::kMinError;
  // A scale for each filter instead of one for all filters of a layer, in the argument W_scales,
  // which other implementations of the Int8 operators do not know.
  bool per_channel = true;
};

// Rewrites a net in test mode, whose parameters are float tensors in a workspace, in three steps:
// the constructor prepares the float net (batch normalization folded, operators fused), Observe
// records the values of its blobs on examples, Finish writes the net with Int8 operators:
//
// - Conv over images (with its Sum and Relu) and FC with a bias: always, if their parameters are
//   constant. Sums of products are exact; a filter has 255 levels around 0.
// - MaxPool, AveragePool, Relu, Sum, Concat and ChannelShuffle: if all their inputs are already
//   quantized.
// - All others compute in float, between Int8Dequantize and Int8Quantize.
//
// Quantized images are N x H x W x C, whatever the order of the net. Inputs and outputs of the net
// keep their names, shapes and types.
class StaticQuantizer {
 public:
  // `inputs`: the blobs that the caller feeds. Throws EnforceNotMet if the net runs other nets, or
  // writes a blob that is both its input and its output. The workspace must outlive the quantizer.
  // The quantizer does not change the parameters in it, but adds folded ones.
  StaticQuantizer(const NetDef& net, const std::vector<std::string>& inputs, Workspace* ws,
                  const QuantizationOptions& options = {});

  // Runs the float net on the inputs in the workspace. The first call creates this net there, as
  // "quantize_float", in place of any net of this name; the net stays in the workspace. Throws
  // EnforceNotMet, naming the blob, if a value is NaN or infinite, and throws what the net throws.
  void Observe();

  // The quantized net. It has the name of the float net; its new parameters are in the workspace.
  // Its external inputs are `inputs` and its parameters. Throws EnforceNotMet before the first
  // Observe, if no operator can be quantized, and if a parameter is not finite.
  NetDef Finish();

 private:
  const std::string name_;
  NetDef net_;  // float
  const std::vector<std::string> inputs_;
  Workspace* ws_;
  const QuantizationOptions options_;
  NetBase* running_ = nullptr;
  std::map<std::string, ValueHistogram> values_;
};

}  // namespace caffe2
