// HSoftmax (hierarchical softmax) and its gradient. The host reads the labels, because they decide
// which nodes are on the paths. host_device_op.h or host_device_cuda.h runs the functors.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "caffe2/core/device_backend.h"
#include "caffe2/proto/hsm.pb.h"
#include "operators/common/copy_elements.h"
#include "operators/common/host_list.h"
#include "operators/loss/h_softmax_functions.h"
#include "operators/loss/index_labels.h"

namespace caffe2 {

// Throws unless W is [rows, D] and b [rows], for samples X of D numbers each.
inline NodeWeights NodeWeightsOf(const Tensor& X, const Tensor& W, const Tensor& b) {
  CAFFE_ENFORCE(X.dim() >= 1, "X must have at least one axis, found a scalar");
  const int64_t dim = X.size_from_dim(1);
  CAFFE_ENFORCE(W.dim() == 2 && W.size(1) == dim, "W must be a matrix of rows of ", dim,
                " elements, as many as a sample; found shape ", ShapeString(W.sizes()));
  CAFFE_ENFORCE(b.numel() == W.size(0), "b must have one element for each of the ", W.size(0),
                " rows of W, found ", b.numel());
  return {W.data<float>(), b.data<float>(), dim};
}

// The argument `hierarchy`, and the paths of samples through it.
template <class Context>
class HSoftmaxBase : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  HSoftmaxBase(const OperatorDef& def, Workspace* ws) : Operator<Context>(def, ws) {
    HierarchyProto hierarchy;
    CAFFE_ENFORCE(
        hierarchy.ParseFromString(this->template GetSingleArgument<std::string>("hierarchy", "")),
        "argument hierarchy must be a serialized HierarchyProto");
    for (const PathProto& path : hierarchy.paths()) {
      for (const PathNodeProto& node : path.path_nodes()) {
        CAFFE_ENFORCE(node.index() >= 0 && node.target() >= 0 && node.target() < node.length(),
                      "the path to word ", path.word_id(), " goes to child ", node.target(), " of ",
                      node.length(), " from ", node.index());
      }
      CAFFE_ENFORCE(paths_.emplace(path.word_id(), path).second, "two paths lead to word ",
                    path.word_id());
    }
  }

 protected:
  struct Samples {
    std::vector<PathStep> steps;       // of all samples, one after another
    std::vector<int64_t> first = {0};  // step of each sample; then their number
    int64_t probabilities = 0;

    int64_t count() const { return static_cast<int64_t>(first.size()) - 1; }
    int64_t num_steps() const { return static_cast<int64_t>(steps.size()); }
  };

  // The paths to the labels in input 3. Throws EnforceNotMet if a label has no path, or a node has
  // no rows in W.
  Samples FindPaths(const Tensor& X, int64_t rows) const {
    Tensor copy(CPU);
    const Tensor& labels = OnHost(this->template Input<Tensor>(3), &copy);
    CAFFE_ENFORCE(labels.dim() == 1 && labels.size(0) == X.size(0),
                  "there must be one label for each row of X: labels has shape ",
                  ShapeString(labels.sizes()), ", X ", ShapeString(X.sizes()));
    Tensor narrowed(CPU);
    CPUContext host;
    const int* label = IndexLabels(labels, &narrowed, &host);
    Samples samples;
    for (int64_t s = 0; s < labels.numel(); ++s) {
      const auto found = paths_.find(label[s]);
      CAFFE_ENFORCE(found != paths_.end(), "label ", label[s], " is not a word of the hierarchy");
      for (const PathNodeProto& node : found->second.path_nodes()) {
        CAFFE_ENFORCE(int64_t{node.index()} + node.length() <= rows, "the hierarchy needs ",
                      int64_t{node.index()} + node.length(), " rows of W, which has ", rows);
        samples.steps.push_back(
            {s, node.index(), node.length(), node.target(), samples.probabilities});
        samples.probabilities += node.length();
      }
      samples.first.push_back(samples.num_steps());
    }
    return samples;
  }

 private:
  std::unordered_map<int, PathProto> paths_;  // by word
};

// Y[s] = -sum over the path to label s of the logarithms of its probabilities
template <class Context>
class HSoftmaxOp final : public HSoftmaxBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using HSoftmaxBase<Context>::HSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const NodeWeights weights = NodeWeightsOf(X, Input(1), Input(2));
    const auto samples = this->FindPaths(X, Input(1).size(0));
    Output(0)->Resize(samples.count());
    Output(1)->Resize(samples.probabilities);
    const float* x = X.data<float>();
    auto *y = Output(0)->template mutable_data<float>(),
         *p = Output(1)->template mutable_data<float>();
    Tensor list(CPU), first_list(CPU);
    const PathStep* steps = ListFor(samples.steps, &list, &context_);
    ForEachRow(samples.num_steps(), weights.dim, SoftmaxOfSteps{weights, steps, x, p}, &context_);
    ForEach(samples.count(),
            LossOfPaths{ListFor(samples.first, &first_list, &context_), steps, p, y}, &context_);
    return true;
  }
};

// Inputs X, W, b, labels, intermediate_output, dY.
template <class Context>
class HSoftmaxGradientOp final : public HSoftmaxBase<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using HSoftmaxBase<Context>::HSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(5);
    const NodeWeights weights = NodeWeightsOf(X, Input(1), Input(2));
    const auto samples = this->FindPaths(X, Input(1).size(0));
    CAFFE_ENFORCE(Input(4).numel() == samples.probabilities, "intermediate_output must have ",
                  samples.probabilities, " elements, found ", Input(4).numel());
    CAFFE_ENFORCE(dY.numel() == X.size(0), "dY must have one element for each of the ", X.size(0),
                  " rows of X, found ", dY.numel());
    const auto *x = X.data<float>(), *p = Input(4).template data<float>(), *dy = dY.data<float>();
    float* grads[3];
    for (int i = 0; i < 3; ++i) {
      Output(i)->ResizeLike(Input(i));
      grads[i] = Output(i)->template mutable_data<float>();
      if (i > 0) ClearBytes(Output(i)->nbytes(), grads[i], &context_);
    }
    Tensor d_logits(context_.device()), list(CPU), first_list(CPU);
    d_logits.Resize(samples.probabilities);
    auto* d = d_logits.template mutable_data<float>();
    const PathStep* steps = ListFor(samples.steps, &list, &context_);
    ForEach(samples.num_steps(), GradientOfLogits{steps, p, dy, d}, &context_);
    ForEachRow(samples.count(), weights.dim,
               GradientOfSamples{weights.dim, ListFor(samples.first, &first_list, &context_), steps,
                                 weights.w, d, grads[0]},
               &context_);
    GradientsOfWeights(samples, weights.dim, x, d, grads[1], grads[2]);
    return true;
  }

 private:
  // Sorts the entries by row; entries of one row keep the order of the samples.
  void GradientsOfWeights(const typename HSoftmaxBase<Context>::Samples& samples, int64_t dim,
                          const float* x, const float* d, float* dw, float* db) {
    std::vector<PathEntry> entries;
    for (const PathStep& step : samples.steps) {
      for (int64_t c = 0; c < step.length; ++c) {
        entries.push_back({step.row + c, step.sample, step.begin + c});
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const PathEntry& a, const PathEntry& b) { return a.row < b.row; });
    std::vector<int64_t> first;
    for (size_t e = 0; e < entries.size(); ++e) {
      if (e == 0 || entries[e].row != entries[e - 1].row) first.push_back(static_cast<int64_t>(e));
    }
    const auto rows = static_cast<int64_t>(first.size());
    first.push_back(static_cast<int64_t>(entries.size()));
    Tensor list(CPU), first_list(CPU);
    ForEachRow(rows, dim,
               GradientOfRows{dim, ListFor(first, &first_list, &context_),
                              ListFor(entries, &list, &context_), x, d, dw, db},
               &context_);
  }
};

}  // namespace caffe2
