#include "caffe2/model/layers.h"

#include <algorithm>

#include "caffe2/core/logging.h"

namespace caffe2::brew {
namespace {

std::string AddPool(ModelHelper* model, const std::string& type, const std::string& input,
                    const std::string& output, const PoolOptions& options) {
  const std::string scoped = model->Scoped(output);
  std::vector<Argument> args = {MakeArgument("order", model->order())};
  if (options.global_pooling) {
    args.push_back(MakeArgument("global_pooling", true));
  } else {
    args.push_back(MakeArgument("kernel", options.kernel));
    args.push_back(MakeArgument("stride", options.stride));
    if (options.pad != 0) args.push_back(MakeArgument("pad", options.pad));
  }
  model->AddOperator(type, {input}, {scoped}, args);
  return scoped;
}

// True if the blob holds float whatever the model's compute type: the output of an FC, or computed
// from one.
bool IsFloat(const ModelHelper& model, const std::string& blob) {
  std::string name = blob;
  const auto& ops = model.net().op();
  for (int i = ops.size() - 1; i >= 0; --i) {
    const OperatorDef& op = ops[i];
    if (std::find(op.output().begin(), op.output().end(), name) == op.output().end()) continue;
    if (op.type() == "FC") return true;
    if (op.type() == "Cast" || op.input_size() == 0) return false;
    name = op.input(0);
  }
  return false;
}

}  // namespace

std::string Conv(ModelHelper* model, const std::string& input, const std::string& output,
                 int dim_in, int dim_out, int kernel, const ConvOptions& options) {
  CAFFE_ENFORCE(options.group > 0 && dim_in % options.group == 0 && dim_out % options.group == 0,
                "conv ", output, ": ", options.group, " groups do not divide ", dim_in, " and ",
                dim_out, " channels");
  const int64_t in = dim_in / options.group;
  const std::vector<int64_t> shape = model->order() == "NCHW"
                                         ? std::vector<int64_t>{dim_out, in, kernel, kernel}
                                         : std::vector<int64_t>{dim_out, kernel, kernel, in};
  std::vector<std::string> inputs = {input};
  inputs.push_back(
      model->CreateParameter(output + "_w", shape, ParameterTag::kWeight, options.weight_init));
  if (!options.no_bias) {
    inputs.push_back(model->CreateParameter(output + "_b", {dim_out}, ParameterTag::kBias,
                                            "ConstantFill", {MakeArgument("value", 0.f)}));
  }
  std::vector<Argument> args = {MakeArgument("order", model->order()),
                                MakeArgument("kernel", kernel),
                                MakeArgument("stride", options.stride)};
  if (options.pad != 0) args.push_back(MakeArgument("pad", options.pad));
  if (options.dilation != 1) args.push_back(MakeArgument("dilation", options.dilation));
  if (options.group != 1) args.push_back(MakeArgument("group", options.group));
  // With no_bias the gradient has outputs {filter, input} instead of {filter, bias, input}.
  if (options.no_bias) args.push_back(MakeArgument("no_bias", true));
  if (options.no_gradient_to_input) args.push_back(MakeArgument("no_gradient_to_input", true));
  const std::string scoped = model->Scoped(output);
  model->AddOperator("Conv", inputs, {scoped}, args);
  return scoped;
}

std::string FC(ModelHelper* model, const std::string& input, const std::string& output,
               int64_t dim_in, int64_t dim_out) {
  const std::string weight =
      model->CreateParameter(output + "_w", {dim_out, dim_in}, ParameterTag::kWeight, "XavierFill");
  const std::string bias = model->CreateParameter(output + "_b", {dim_out}, ParameterTag::kBias,
                                                  "ConstantFill", {MakeArgument("value", 0.f)});
  const std::string x =
      IsFloat(*model, input) ? input : CastTo(model, input, output + "_in", TensorProto::FLOAT);
  const std::string scoped = model->Scoped(output);
  model->AddOperator("FC", {x, weight, bias}, {scoped});
  return scoped;
}

std::string MaxPool(ModelHelper* model, const std::string& input, const std::string& output,
                    const PoolOptions& options) {
  return AddPool(model, "MaxPool", input, output, options);
}

std::string AveragePool(ModelHelper* model, const std::string& input, const std::string& output,
                        const PoolOptions& options) {
  return AddPool(model, "AveragePool", input, output, options);
}

std::string SpatialBN(ModelHelper* model, const std::string& input, const std::string& output,
                      int dim_in, const SpatialBNOptions& options) {
  const auto parameter = [&](const char* suffix, ParameterTag tag, float value) {
    return model->CreateParameter(output + suffix, {dim_in}, tag, "ConstantFill",
                                  {MakeArgument("value", value)});
  };
  const std::string scale = parameter("_s", ParameterTag::kWeight, options.initial_scale);
  const std::string bias = parameter("_b", ParameterTag::kBias, 0.f);
  const std::string mean = parameter("_rm", ParameterTag::kComputed, 0.f);
  const std::string variance = parameter("_riv", ParameterTag::kComputed, 1.f);
  const std::string scoped = model->Scoped(output);
  const bool is_test = model->is_test() || model->IsFrozen(output + "_s");
  std::vector<std::string> outputs = {scoped};
  if (!is_test) {
    outputs.insert(outputs.end(), {mean, variance, scoped + "_sm", scoped + "_siv"});
  }
  model->AddOperator(
      "SpatialBN", {input, scale, bias, mean, variance}, outputs,
      {MakeArgument("is_test", is_test), MakeArgument("epsilon", options.epsilon),
       MakeArgument("momentum", options.momentum), MakeArgument("order", model->order())});
  return scoped;
}

std::string Relu(ModelHelper* model, const std::string& input, const std::string& output) {
  const std::string scoped = input == output ? input : model->Scoped(output);
  model->AddOperator("Relu", {input}, {scoped});
  return scoped;
}

std::string Sum(ModelHelper* model, const std::vector<std::string>& inputs,
                const std::string& output) {
  const std::string scoped = model->Scoped(output);
  model->AddOperator("Sum", inputs, {scoped});
  return scoped;
}

std::string Dropout(ModelHelper* model, const std::string& input, const std::string& output,
                    float ratio) {
  const std::string scoped = model->Scoped(output);
  std::vector<std::string> outputs = {scoped};
  if (!model->is_test()) outputs.push_back(model->Scoped("_" + output + "_mask"));
  model->AddOperator("Dropout", {input}, outputs,
                     {MakeArgument("ratio", ratio), MakeArgument("is_test", model->is_test())});
  return scoped;
}

std::string Softmax(ModelHelper* model, const std::string& input, const std::string& output) {
  const std::string scoped = model->Scoped(output);
  model->AddOperator("Softmax", {input}, {scoped});
  return scoped;
}

SoftmaxLoss SoftmaxWithLoss(ModelHelper* model, const std::string& input, const std::string& label,
                            const std::string& softmax, const std::string& loss, bool label_prob,
                            const std::string& row_weights) {
  SoftmaxLoss result{model->Scoped(softmax), model->Scoped(loss)};
  std::vector<std::string> inputs = {input, label};
  if (!row_weights.empty()) inputs.push_back(row_weights);
  std::vector<Argument> args;
  if (label_prob) args.push_back(MakeArgument("label_prob", true));
  model->AddOperator("SoftmaxWithLoss", inputs, {result.softmax, result.loss}, args);
  return result;
}

std::string ClassWeights(ModelHelper* model, const std::string& label, const std::string& output,
                         const std::vector<float>& weights) {
  std::string scoped = model->Scoped(output);
  const std::string table = scoped + "_table";
  model->AddInitOperator(
      "GivenTensorFill", {}, {table},
      {MakeArgument("shape", std::vector<int64_t>{static_cast<int64_t>(weights.size())}),
       MakeArgument("values", weights)});
  model->net()->add_external_input(table);
  model->AddOperator("Gather", {table, label}, {scoped});
  return scoped;
}

std::string SmoothLabels(ModelHelper* model, const std::string& label, const std::string& output,
                         int64_t num_labels, float smoothing) {
  const std::string scoped = model->Scoped(output), table = scoped + "_table",
                    uniform = scoped + "_uniform", certain = scoped + "_certain";
  const std::vector<int64_t> shape = {num_labels, num_labels};
  model->AddInitOperator("DiagonalFill", {}, {certain},
                         {MakeArgument("shape", shape), MakeArgument("value", 1 - smoothing)});
  model->AddInitOperator("ConstantFill", {}, {uniform},
                         {MakeArgument("shape", shape),
                          MakeArgument("value", smoothing / static_cast<float>(num_labels))});
  model->AddInitOperator("Sum", {certain, uniform}, {table});
  model->net()->add_external_input(table);
  model->AddOperator("Gather", {table, label}, {scoped});
  return scoped;
}

MixedImages MixImages(ModelHelper* model, const std::string& images, const std::string& label,
                      const std::string& output, const MixSettings& settings) {
  const MixedImages mixed = {model->Scoped(output), model->Scoped(output + "_label")};
  model->AddOperator("MixImages", {images, label}, {mixed.images, mixed.probabilities},
                     {MakeArgument("mixup_alpha", settings.mixup_alpha),
                      MakeArgument("cutmix_alpha", settings.cutmix_alpha),
                      MakeArgument("num_labels", settings.num_labels),
                      MakeArgument("label_smoothing", settings.label_smoothing),
                      MakeArgument("order", model->order())});
  StopGradient(model, mixed.images);
  return mixed;
}

std::string Accuracy(ModelHelper* model, const std::string& scores, const std::string& label,
                     const std::string& output, int top_k) {
  const std::string scoped = model->Scoped(output);
  model->AddOperator("Accuracy", {scores, label}, {scoped}, {MakeArgument("top_k", top_k)});
  return scoped;
}

std::string CastTo(ModelHelper* model, const std::string& input, const std::string& output,
                   TensorProto::DataType type) {
  if (model->options().compute_type == TensorProto::FLOAT && type == TensorProto::FLOAT) {
    return input;
  }
  const std::string scoped = model->Scoped(output);
  const TensorProto::DataType from =
      type == TensorProto::FLOAT ? model->options().compute_type : TensorProto::FLOAT;
  model->AddOperator("Cast", {input}, {scoped},
                     {MakeArgument<int>("to", type), MakeArgument<int>("from_type", from)});
  return scoped;
}

void StopGradient(ModelHelper* model, const std::string& input) {
  model->AddOperator("StopGradient", {input}, {input});
}

}  // namespace caffe2::brew
