#include "train/load_model.h"

#include <algorithm>
#include <map>
#include <optional>

#include "caffe2/model/optimizer.h"
#include "train/predictor.h"
#include "train/run_settings.h"

namespace caffe2 {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string WithoutScope(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::string Join(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

// A model trained on other images sees shapes or values that it does not know.
void WarnOfOtherImages(const Predictor& predictor, const TrainOptions& options) {
  const DataOptions& data = options.data;
  for (const auto& [name, now] :
       {std::pair("mean", CommaList(data.mean)), std::pair("std", CommaList(data.std)),
        std::pair("image_size", MakeString(options.model.shape.image_size)),
        std::pair("image_scale", MakeString(options.ImageScale()))}) {
    const auto found = predictor.application_info.find(name);
    if (found == predictor.application_info.end() || found->second == now) continue;
    LOG(WARNING) << options.output.load_model_path << " was trained with --" << name << " "
                 << found->second << ", now it is " << now;
  }
}

// What to do if the last layer does not fit.
std::string AdviceOnLabels(const TrainOptions& options) {
  return options.schedule.evaluate ? " (--num_labels must be the model's number of labels)"
                                   : " (add --finetune to train it for other labels)";
}

// What to do if a parameter does not fit, other than the last layer's.
std::string AdviceOnNetwork(const TrainOptions& options) {
  return MakeString(" (the model may be of another network: now it is ", options.model.network,
                    " with --num_channels ", options.model.shape.num_channels,
                    options.model.shape.small_stem ? " and --small_stem" : "", ")");
}

void CheckIsFloat(const Predictor& predictor, const std::string& path) {
  for (const OperatorDef& op : predictor.net.op()) {
    CAFFE_ENFORCE(op.type().rfind("Int8", 0) != 0, path,
                  " is a model of 8 bits, which trainers cannot test or train: give the model from "
                  "which doppio quantize made it");
  }
}

// What to do if a filter only has the other storage order, as converted models may.
std::string AdviceOnOrder(const std::vector<int64_t>& found, const std::vector<int64_t>& needed) {
  if (found.size() != 4 || found == needed) return "";
  using Sizes = std::vector<int64_t>;
  if (needed == Sizes{found[0], found[2], found[3], found[1]}) return " (add --order NCHW)";
  if (needed == Sizes{found[0], found[3], found[1], found[2]}) return " (add --order NHWC)";
  return "";
}

void CopyParameter(const Tensor& value, const std::string& name, const std::string& path,
                   const std::string& advice, Tensor* param) {
  const std::string order = AdviceOnOrder(value.sizes(), param->sizes());
  CAFFE_ENFORCE(param->sizes() == value.sizes(), "parameter ", name, " has shape ",
                ShapeString(value.sizes()), " in ", path, "; the network needs ",
                ShapeString(param->sizes()), order.empty() ? advice : order);
  CAFFE_ENFORCE(param->dtype() == value.dtype(), "parameter ", name, " has type ",
                value.dtype().name(), " in ", path, "; the network needs ", param->dtype().name());
  param->CopyFrom(value);
}

}  // namespace

std::vector<std::string> LastLayerParams(const TrainOptions& options) {
  const InferenceNets nets = BuildPredictorNets(options);
  for (int i = nets.net.op_size() - 1; i >= 0; --i) {
    std::vector<std::string> params;
    for (const std::string& input : nets.net.op(i).input()) {
      if (Contains(nets.params, input)) params.push_back(input);
    }
    if (!params.empty()) return params;
  }
  CAFFE_THROW("network ", options.model.network, " has no parameters");
}

void LoadModel(const TrainOptions& options, const TrainNets& nets, Workspace* ws) {
  const std::string& path = options.output.load_model_path;
  Workspace source;
  std::optional<ModelLimits> limits;
  if (!options.output.trust_model) limits = ModelLimits{.trust_setting = "--trust_model"};
  const Predictor predictor = LoadPredictor(path, &source, limits);
  CheckIsFloat(predictor, path);
  WarnOfOtherImages(predictor, options);
  std::map<std::string, std::string> by_name;
  for (const std::string& name : predictor.parameters) by_name[WithoutScope(name)] = name;
  const std::vector<std::string> last = LastLayerParams(options);
  for (const auto* names : {&nets.params, &nets.computed_params}) {
    for (const std::string& name : *names) {
      const bool of_last = Contains(last, name);
      if (of_last && options.output.finetune) continue;
      const std::string advice = of_last ? AdviceOnLabels(options) : AdviceOnNetwork(options);
      CAFFE_ENFORCE(by_name.count(name), path, " has no parameter ", name, advice);
      CopyParameter(source.GetBlob(by_name[name])->Get<Tensor>(), name, path, advice,
                    ws->GetBlob(nets.scope + name)->GetMutable<Tensor>());
    }
  }
  *ws->GetBlob(kOptimizerIteration)->GetMutable<Tensor>()->mutable_data<int64_t>() =
      options.output.load_epoch * options.EpochIterations();
  LOG(INFO) << "Loaded " << path << ". Reset epoch to " << options.output.load_epoch;
  if (options.output.finetune) LOG(INFO) << "Finetuning: fresh parameters " << Join(last);
}

}  // namespace caffe2
