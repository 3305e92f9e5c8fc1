// Each function adds a layer. It takes full blob names as inputs and returns a full blob name;
// `output` is put under the model's name scope. Parameter names follow Caffe2's brew: "<output>_w"
// and "<output>_b"; for SpatialBN "<output>_s", "_b", "_rm" and "_riv". Images are {N, C, H, W} or
// {N, H, W, C}, by the model's order.
#pragma once

#include <string>
#include <vector>

#include "caffe2/model/model_helper.h"

namespace caffe2::brew {

// `input` {N, dim_in, H, W}, `output` {N, dim_out, H', W'} (or NHWC). Throws EnforceNotMet unless
// the groups divide dim_in and dim_out.
struct ConvOptions {
  int stride = 1;
  int pad = 0;
  int dilation = 1;
  int group = 1;
  bool no_bias = false;
  bool no_gradient_to_input = false;  // for the first layer, whose input is data
  std::string weight_init = "XavierFill";
};
std::string Conv(ModelHelper* model, const std::string& input, const std::string& output,
                 int dim_in, int dim_out, int kernel, const ConvOptions& options = {});

// Output {N, dim_out}; the input is flattened to {N, dim_in}. Computes in float, whatever the
// model's compute type.
std::string FC(ModelHelper* model, const std::string& input, const std::string& output,
               int64_t dim_in, int64_t dim_out);

struct PoolOptions {
  int kernel = 1;
  int stride = 1;
  int pad = 0;
  bool global_pooling = false;  // over the whole image; kernel, stride and pad are ignored then
};
std::string MaxPool(ModelHelper* model, const std::string& input, const std::string& output,
                    const PoolOptions& options);
std::string AveragePool(ModelHelper* model, const std::string& input, const std::string& output,
                        const PoolOptions& options);

// running = momentum * running + (1 - momentum) * batch, as in Caffe2.
struct SpatialBNOptions {
  float epsilon = 1e-3f;
  float momentum = 0.9f;
  float initial_scale = 1.f;
};
// The running mean "_rm" and variance "_riv" are computed parameters. If the model is_test they are
// only read.
std::string SpatialBN(ModelHelper* model, const std::string& input, const std::string& output,
                      int dim_in, const SpatialBNOptions& options = {});

// If `output` equals `input` the layer works in place.
std::string Relu(ModelHelper* model, const std::string& input, const std::string& output);
std::string Sum(ModelHelper* model, const std::vector<std::string>& inputs,
                const std::string& output);
std::string Dropout(ModelHelper* model, const std::string& input, const std::string& output,
                    float ratio);
std::string Softmax(ModelHelper* model, const std::string& input, const std::string& output);

// Softmax over {N, labels}, and the mean cross entropy with the int32 `label` {N} or, with
// `label_prob`, with probabilities float {N, labels}. With `row_weights` float {N} the mean is
// weighted: divided by their sum.
struct SoftmaxLoss {
  std::string softmax;
  std::string loss;
};
SoftmaxLoss SoftmaxWithLoss(ModelHelper* model, const std::string& input, const std::string& label,
                            const std::string& softmax, const std::string& loss,
                            bool label_prob = false, const std::string& row_weights = "");
// Returns the row weights, float {N}, for a SoftmaxWithLoss: row i has the weight of its label.
// `label` is int32 {N}; weights[k] is the weight of label k. When the net runs, throws
// EnforceNotMet if a label has no weight.
std::string ClassWeights(ModelHelper* model, const std::string& label, const std::string& output,
                         const std::vector<float>& weights);
// Label smoothing (Szegedy et al., "Rethinking the Inception architecture", 2015). Returns
// probabilities, float {N, num_labels}, for a SoftmaxWithLoss with `label_prob`: each label gets
// smoothing / num_labels, and the int32 `label` {N} gets 1 - smoothing more. Makes a table of
// num_labels x num_labels floats.
std::string SmoothLabels(ModelHelper* model, const std::string& label, const std::string& output,
                         int64_t num_labels, float smoothing);
// Mixes the images of a batch (operators/image/mix_images_op.h): `images` {N, ...} and their int32
// `label` {N}. An alpha of 0 turns its method off; at least one must be positive.
struct MixedImages {
  std::string images;
  std::string probabilities;  // float {N, num_labels}, for a SoftmaxWithLoss with `label_prob`
};
struct MixSettings {
  float mixup_alpha = 0, cutmix_alpha = 0;
  int64_t num_labels = 0;
  float label_smoothing = 0;  // as in SmoothLabels
};
MixedImages MixImages(ModelHelper* model, const std::string& images, const std::string& label,
                      const std::string& output, const MixSettings& settings);
// The fraction of rows whose int32 label is among the top_k largest scores, a float scalar.
std::string Accuracy(ModelHelper* model, const std::string& scores, const std::string& label,
                     const std::string& output, int top_k = 1);

// Converts `input` to another element type. Returns `input` itself if `type` and the model's
// compute type are FLOAT.
std::string CastTo(ModelHelper* model, const std::string& input, const std::string& output,
                   TensorProto::DataType type);
// Stops the gradient at `input`, in place.
void StopGradient(ModelHelper* model, const std::string& input);

}  // namespace caffe2::brew
