#include "caffe2/graph/quantization.h"

#include <algorithm>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/graph/device_placement.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/inference.h"
#include "caffe2/graph/quantized_net.h"

namespace caffe2 {
namespace {

constexpr char kFloatNet[] = "quantize_float";

void RefuseSubnets(const NetDef& net) {
  for (const OperatorDef& op : net.op()) {
    for (const Argument& argument : op.arg()) {
      CAFFE_ENFORCE(!argument.has_n() && argument.nets_size() == 0, "net ", net.name(),
                    " cannot be quantized: its operator ", op.type(), " runs another net");
    }
  }
}

// Gives each version of a blob that is written several times a name of its own, so that all values
// are there after a run. External outputs keep theirs.
void SeparateVersions(NetDef* net) {
  std::set<std::string> names(net->external_input().begin(), net->external_input().end());
  std::map<std::string, int> last_writers;
  for (int i = 0; i < net->op_size(); ++i) {
    names.insert(net->op(i).output().begin(), net->op(i).output().end());
    for (const std::string& blob : net->op(i).output()) last_writers[blob] = i;
  }
  const std::set<std::string> inputs(net->external_input().begin(), net->external_input().end());
  const std::set<std::string> outputs(net->external_output().begin(), net->external_output().end());
  std::map<std::string, std::string> current;
  for (int i = 0; i < net->op_size(); ++i) {
    OperatorDef* op = net->mutable_op(i);
    for (std::string& blob : *op->mutable_input()) {
      if (const auto found = current.find(blob); found != current.end()) blob = found->second;
    }
    for (std::string& blob : *op->mutable_output()) {
      const bool is_last = last_writers[blob] == i;
      CAFFE_ENFORCE(!(is_last && inputs.count(blob) && outputs.count(blob)), "net ", net->name(),
                    " cannot be quantized: ", blob, " is both its input and its output");
      if (is_last && !inputs.count(blob)) {
        current.erase(blob);
        continue;
      }
      std::string version = blob;
      while (!names.insert(version += "_before").second) {
      }
      current[blob] = version;
      blob = version;
    }
  }
}

}  // namespace

StaticQuantizer::StaticQuantizer(const NetDef& net, const std::vector<std::string>& inputs,
                                 Workspace* ws, const QuantizationOptions& options)
    : name_(net.name()), net_(net), inputs_(inputs), ws_(ws), options_(options) {
  RefuseSubnets(net);
  PlaceOnDevice(&net_, Device{});
  net_.set_name(kFloatNet);
  net_.clear_type();
  RemoveIdentities(&net_);
  FoldBatchNorm(&net_, ws_);
  FuseOperators(&net_, {FusionLevel::kAll, {}});
  SeparateVersions(&net_);
}

void StaticQuantizer::Observe() {
  if (running_ == nullptr) running_ = ws_->CreateNet(net_, true);
  CAFFE_ENFORCE(running_->Run(), "the float net failed");
  std::vector<std::string> blobs = inputs_;
  for (const OperatorDef& op : net_.op()) {
    blobs.insert(blobs.end(), op.output().begin(), op.output().end());
  }
  for (const std::string& name : blobs) {
    const Blob* blob = ws_->GetBlob(name);
    const Tensor* tensor = blob != nullptr ? BlobTensor(*blob) : nullptr;
    if (tensor == nullptr || !tensor->IsType<float>() || !tensor->has_data()) continue;
    try {
      values_[name].Add(tensor->numel(), tensor->data<float>());
    } catch (Error& error) {
      error.AddContext("blob " + name);
      throw;
    }
  }
}

NetDef StaticQuantizer::Finish() {
  CAFFE_ENFORCE(running_ != nullptr, "no examples: the ranges of activations are not known");
  std::map<std::string, ValueRange> ranges;
  for (const auto& [name, values] : values_) ranges[name] = values.Range(options_.ranges);
  NetDef result = WriteQuantizedNet(net_, inputs_, ranges, options_.per_channel, ws_);
  WriteSumsInPlace(&result);
  result.set_name(name_);
  return result;
}

}  // namespace caffe2
