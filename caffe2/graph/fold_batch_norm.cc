#include <cmath>
#include <map>
#include <vector>

#include "caffe2/core/argument.h"
#include "caffe2/core/device_backend.h"
#include "caffe2/core/workspace.h"
#include "caffe2/graph/dataflow.h"
#include "caffe2/graph/inference.h"

namespace caffe2 {
namespace {

// y = factor * x + offset, channel by channel.
struct ChannelMap {
  std::vector<float> factor, offset;
};

class Folder {
 public:
  Folder(NetDef* net, Workspace* ws, const std::set<std::string>& keep)
      : net_(net), ws_(ws), flow_(*net, keep), removed_(net->op_size()) {}

  int Run() {
    int folded = 0;
    std::vector<std::pair<int, OperatorDef>> changed;
    for (int i = 0; i < net_->op_size(); ++i) {
      if (net_->op(i).type() != "SpatialBN") continue;
      const int conv = flow_.WriterOf(i, 0);
      if (conv < 0 || net_->op(conv).type() != "Conv") continue;
      const std::string reason = WhyNot(conv, i);
      if (!reason.empty()) {
        VLOG(1) << "net " << net_->name() << ": SpatialBN of operator " << i
                << " is not folded into Conv: " << reason;
        continue;
      }
      changed.emplace_back(i, Fold(conv, i));
      removed_[conv] = true;
      ++folded;
    }
    for (auto& [position, op] : changed) *net_->mutable_op(position) = std::move(op);
    RemoveOperators(removed_, net_);
    return folded;
  }

 private:
  // The parameter if it is a float tensor with values, else null.
  const Tensor* Parameter(const std::string& blob) const {
    const Blob* found = ws_->GetBlob(blob);
    const Tensor* tensor = found != nullptr ? BlobTensor(*found) : nullptr;
    return tensor != nullptr && tensor->IsType<float>() && tensor->has_data() ? tensor : nullptr;
  }
  // The values of a parameter, in host memory.
  const float* ValuesOf(const std::string& blob) {
    return OnHost(*Parameter(blob), &copies_[blob]).data<float>();
  }

  std::string WhyNot(int conv, int norm) const {
    const OperatorDef& conv_op = net_->op(conv);
    const OperatorDef& norm_op = net_->op(norm);
    if (!ArgumentHelper(norm_op).GetSingleArgument<bool>("is_test", false)) return "is_test is 0";
    const std::string shared = flow_.WhyShared(conv, 0, norm);
    if (!shared.empty()) return shared;
    if (flow_.IsWrittenBetween(conv_op.input(0), conv, norm)) {
      return conv_op.input(0) + " is overwritten between them";
    }
    if (conv_op.input(0) == norm_op.output(0)) return "it would overwrite its input";
    std::vector<std::string> parameters(conv_op.input().begin() + 1, conv_op.input().end());
    parameters.insert(parameters.end(), norm_op.input().begin() + 1, norm_op.input().end());
    for (const std::string& blob : parameters) {
      if (flow_.IsWritten(blob)) return "the net writes " + blob;
      if (Parameter(blob) == nullptr) return blob + " is not a float tensor in the workspace";
    }
    const Tensor* filter = Parameter(conv_op.input(1));
    if (filter->dim() < 3) return conv_op.input(1) + " is not a filter: it has less than 3 axes";
    for (size_t i = 1; i < parameters.size(); ++i) {
      if (Parameter(parameters[i])->numel() != filter->size(0)) {
        return parameters[i] + " does not have one value for each channel";
      }
    }
    return "";
  }

  ChannelMap MapOf(const OperatorDef& norm) {
    const double epsilon = ArgumentHelper(norm).GetSingleArgument<float>("epsilon", 1e-5f);
    const float *scale = ValuesOf(norm.input(1)), *bias = ValuesOf(norm.input(2));
    const float *mean = ValuesOf(norm.input(3)), *variance = ValuesOf(norm.input(4));
    ChannelMap map;
    for (int64_t c = 0; c < Parameter(norm.input(1))->numel(); ++c) {
      map.factor.push_back(static_cast<float>(scale[c] / std::sqrt(variance[c] + epsilon)));
      map.offset.push_back(bias[c] - map.factor[c] * mean[c]);
    }
    return map;
  }

  // The Conv with folded parameters and the output of the SpatialBN.
  OperatorDef Fold(int conv, int norm) {
    OperatorDef folded = net_->op(conv);
    const ChannelMap map = MapOf(net_->op(norm));
    const Tensor& filter = *Parameter(folded.input(1));
    const float* weights = ValuesOf(folded.input(1));
    const float* bias = folded.input_size() > 2 ? ValuesOf(folded.input(2)) : nullptr;
    const int64_t channels = filter.size(0), size = filter.size_from_dim(1);
    std::vector<float> new_filter(channels * size), new_bias(channels);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < size; ++i) {
        new_filter[c * size + i] = map.factor[c] * weights[c * size + i];
      }
      new_bias[c] = map.offset[c] + (bias != nullptr ? map.factor[c] * bias[c] : 0.f);
    }
    std::string prefix = folded.output(0) + "_folded";
    while (!prefixes_.insert(prefix).second) prefix += "_";  // another Conv that writes this blob
    AddParameter(prefix + "_w", Tensor(filter.sizes(), new_filter), filter.device());
    AddParameter(prefix + "_b", Tensor({channels}, new_bias), filter.device());
    folded.set_input(1, prefix + "_w");
    if (bias == nullptr) folded.add_input();
    folded.set_input(2, prefix + "_b");
    folded.set_output(0, net_->op(norm).output(0));
    folded.mutable_control_input()->MergeFrom(net_->op(norm).control_input());
    return folded;
  }

  // Adds a parameter to the workspace, on `device`.
  void AddParameter(const std::string& blob, const Tensor& values, const Device& device) {
    CAFFE_ENFORCE(!flow_.IsWritten(blob), "net ", net_->name(), " writes ", blob,
                  ", the name of a folded parameter");
    BlobGetMutableTensor(ws_->CreateLocalBlob(blob), device)->CopyFrom(values);
    net_->add_external_input(blob);
  }

  NetDef* net_;
  Workspace* ws_;
  const Dataflow flow_;
  std::vector<bool> removed_;
  std::set<std::string> prefixes_;        // of the new parameters
  std::map<std::string, Tensor> copies_;  // of parameters on devices
};

}  // namespace

int FoldBatchNorm(NetDef* net, Workspace* ws, const std::set<std::string>& keep) {
  const int folded = Folder(net, ws, keep).Run();
  VLOG(1) << "net " << net->name() << ": folded " << folded << " SpatialBN";
  return folded;
}

}  // namespace caffe2
