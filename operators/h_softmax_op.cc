// HSoftmax, HSoftmaxSearch: the softmax over a tree of classes (Morin and Bengio, 2005).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "caffe2/core/operator.h"
#include "caffe2/proto/hsm.pb.h"
#include "caffe2/utils/parallel.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr float kLogThreshold = 1e-20f;  // probabilities below count as this

// The linear layers of all inner nodes: child c of a node is row offset + c of W and b.
struct NodeWeights {
  const float* w;
  const float* b;
  int64_t rows, dim;

  NodeWeights(const Tensor& weights, const Tensor& bias, int64_t dim)
      : w(weights.data<float>()), b(bias.data<float>()), rows(weights.size(0)), dim(dim) {
    CAFFE_ENFORCE(weights.dim() == 2 && weights.size(1) == dim, "W ", ShapeString(weights.sizes()),
                  " for samples of ", dim, " numbers");
    CAFFE_ENFORCE_EQ(bias.numel(), rows, "elements of b, and rows of W");
  }

  // The probabilities of the children of a node.
  void Softmax(const float* x, int64_t offset, int64_t length, float* probability) const {
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t c = 0; c < length; ++c) {
      const float* row = w + (offset + c) * dim;
      probability[c] =
          static_cast<float>(std::inner_product(x, x + dim, row, double{b[offset + c]}));
      largest = std::max(largest, probability[c]);
    }
    double sum = 0;
    for (int64_t c = 0; c < length; ++c) {
      probability[c] = std::exp(probability[c] - largest);
      sum += probability[c];
    }
    for (int64_t c = 0; c < length; ++c) {
      probability[c] = static_cast<float>(probability[c] / sum);
    }
  }
};

float MinusLog(float probability) { return -std::log(std::max(probability, kLogThreshold)); }

int64_t SampleSize(const Tensor& X) {
  CAFFE_ENFORCE_GE(X.dim(), 1, "axes of X");
  return X.size_from_dim(1);
}

// The argument `hierarchy`, and where the probabilities of each sample's path lie.
class HSoftmaxBase : public Operator<CPUContext> {
 public:
  HSoftmaxBase(const OperatorDef& def, Workspace* ws) : Operator<CPUContext>(def, ws) {
    HierarchyProto hierarchy;
    CAFFE_ENFORCE(hierarchy.ParseFromString(GetSingleArgument<std::string>("hierarchy", "")),
                  "the argument hierarchy is no HierarchyProto");
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
    std::vector<const PathProto*> paths;
    std::vector<int64_t> starts;  // of each sample's probabilities; then their number
  };

  Samples Find(const Tensor& X, const Tensor& labels, int64_t rows) const {
    CAFFE_ENFORCE(X.dim() >= 1 && labels.dim() == 1 && labels.size(0) == X.size(0), "labels ",
                  ShapeString(labels.sizes()), " for X ", ShapeString(X.sizes()));
    Samples samples;
    samples.starts.push_back(0);
    for (int64_t s = 0; s < labels.numel(); ++s) {
      const auto found = paths_.find(labels.data<int>()[s]);
      CAFFE_ENFORCE(found != paths_.end(), "label ", labels.data<int>()[s],
                    " is no word of the hierarchy");
      int64_t length = 0;
      for (const PathNodeProto& node : found->second.path_nodes()) {
        CAFFE_ENFORCE_LE(int64_t{node.index()} + node.length(), rows,
                         "rows of W that the hierarchy needs");
        length += node.length();
      }
      samples.paths.push_back(&found->second);
      samples.starts.push_back(samples.starts.back() + length);
    }
    return samples;
  }

 private:
  std::unordered_map<int, PathProto> paths_;  // by word
};

// Y[s] = -sum over the path to label s of the logarithms of its probabilities
class HSoftmaxOp final : public HSoftmaxBase {
 public:
  using HSoftmaxBase::HSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const int64_t dim = SampleSize(X);
    const NodeWeights weights(Input(1), Input(2), dim);
    const Samples samples = Find(X, Input(3), weights.rows);
    const auto count = static_cast<int64_t>(samples.paths.size());
    Output(0)->Resize(count);
    Output(1)->Resize(samples.starts.back());
    const float* x = X.data<float>();
    float* y = Output(0)->mutable_data<float>();
    float* probabilities = Output(1)->mutable_data<float>();
    ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        float* p = probabilities + samples.starts[s];
        y[s] = 0;
        for (const PathNodeProto& node : samples.paths[s]->path_nodes()) {
          weights.Softmax(x + s * dim, node.index(), node.length(), p);
          y[s] += MinusLog(p[node.target()]);
          p += node.length();
        }
      }
    });
    return true;
  }
};

// Through each softmax with cross-entropy of the path: d = (p - [target]) dY for its logits.
class HSoftmaxGradientOp final : public HSoftmaxBase {
 public:
  using HSoftmaxBase::HSoftmaxBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(5);
    const int64_t dim = SampleSize(X);
    const NodeWeights weights(Input(1), Input(2), dim);
    const Samples samples = Find(X, Input(3), weights.rows);
    CAFFE_ENFORCE_EQ(Input(4).numel(), samples.starts.back(), "elements of intermediate_output");
    CAFFE_ENFORCE_EQ(dY.numel(), X.size(0), "elements of dY");
    float* grads[3];
    for (int i = 0; i < 3; ++i) {
      Output(i)->ResizeLike(Input(i));
      grads[i] = Output(i)->mutable_data<float>();
      std::fill_n(grads[i], Output(i)->numel(), 0.f);
    }
    const float* p = Input(4).data<float>();
    for (size_t s = 0; s < samples.paths.size(); ++s) {
      const float* x = X.data<float>() + static_cast<int64_t>(s) * dim;
      float* dx = grads[0] + static_cast<int64_t>(s) * dim;
      for (const PathNodeProto& node : samples.paths[s]->path_nodes()) {
        for (int c = 0; c < node.length(); ++c) {
          const int64_t row = node.index() + c;
          const float d = (*p++ - (c == node.target() ? 1.f : 0.f)) * dY.data<float>()[s];
          grads[2][row] += d;
          for (int64_t k = 0; k < dim; ++k) {
            grads[1][row * dim + k] += d * x[k];
            dx[k] += d * weights.w[row * dim + k];
          }
        }
      }
    }
    return true;
  }
};

// Walks down the tree from the root, wherever a child is likely enough.
class HSoftmaxSearchOp final : public Operator<CPUContext> {
 public:
  HSoftmaxSearchOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        top_n_(GetSingleArgument<int>("topN", 5)),
        beam_(GetSingleArgument<float>("beam", 0.01f)) {
    CAFFE_ENFORCE(tree_.ParseFromString(GetSingleArgument<std::string>("tree", "")),
                  "the argument tree is no TreeProto");
    CAFFE_ENFORCE_GE(top_n_, 0, "topN");
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const int64_t dim = SampleSize(X), count = X.size(0);
    const NodeWeights weights(Input(1), Input(2), dim);
    Output(0)->Resize(count, top_n_);
    Output(1)->Resize(count, top_n_);
    auto* names = Output(0)->mutable_data<std::string>();
    float* scores = Output(1)->mutable_data<float>();
    std::vector<Hit> hits;
    for (int64_t s = 0; s < count; ++s, names += top_n_, scores += top_n_) {
      hits.clear();
      Search(weights, X.data<float>() + s * dim, tree_.root_node(), 0, &hits);
      std::stable_sort(hits.begin(), hits.end(),
                       [](const Hit& a, const Hit& b) { return a.score < b.score; });
      for (int i = 0; i < top_n_; ++i) {
        const bool found = i < static_cast<int>(hits.size());
        names[i] = found ? hits[i].name : "";
        scores[i] = found ? hits[i].score : 0;
      }
    }
    return true;
  }

 private:
  struct Hit {
    std::string name;
    float score;
  };

  void Search(const NodeWeights& weights, const float* x, const NodeProto& node, float above,
              std::vector<Hit>* hits) const {
    const int children = node.children_size(), length = children + node.word_ids_size();
    CAFFE_ENFORCE(
        node.has_offset() && node.offset() >= 0 && int64_t{node.offset()} + length <= weights.rows,
        "node \"", node.name(), "\" has ", length, " children from row ", node.offset(), " of ",
        weights.rows);
    std::vector<float> probability(length);
    weights.Softmax(x, node.offset(), length, probability.data());
    for (int c = 0; c < length; ++c) {
      const float score = MinusLog(probability[c]);
      if (score >= beam_) continue;
      const bool is_node = c < children;
      hits->push_back({is_node ? node.children(c).name() : MakeString(node.word_ids(c - children)),
                       above + score});
      if (is_node) Search(weights, x, node.children(c), above + score, hits);
    }
  }

  TreeProto tree_;
  const int top_n_;
  const float beam_;
};

void DescribeWeights(OpSchema& schema) {
  schema.Input(0, "data", "Float samples [M, ...] of D numbers each.")
      .Input(1, "weights", "Float [rows, D]: a row for each child of each inner node.")
      .Input(2, "bias", "Float [rows].");
}

void DescribeHierarchy(OpSchema& schema) {
  schema.FillUsing(DescribeWeights)
      .Arg("hierarchy",
           "(string) A serialized HierarchyProto (caffe2.python.hsm_util.create_hierarchy).", true)
      .Input(3, "labels", "int32 [M], words of the hierarchy.");
}

}  // namespace

REGISTER_CPU_OPERATOR(HSoftmax, HSoftmaxOp);
REGISTER_CPU_OPERATOR(HSoftmaxGradient, HSoftmaxGradientOp);
REGISTER_CPU_OPERATOR(HSoftmaxSearch, HSoftmaxSearchOp);

OPERATOR_SCHEMA(HSoftmax)
    .NumInputs(4)
    .NumOutputs(2)
    .FillUsing(DescribeHierarchy)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{
          CreateTensorShape(GetDimsVector(in.at(3)), TensorProto::FLOAT), UnknownTensorShape()};
    })
    .SetDoc(
        "Cross-entropy of a softmax over a tree: each inner node has a linear layer and a softmax "
        "over its children, and the probability of a word is the product of those on the path to "
        "it.")
    .Output(0, "Y", "Float [M]: minus the logarithm of the label's probability.")
    .Output(1, "intermediate_output",
            "The probabilities of all children of the nodes on the paths, for the gradient.");
OPERATOR_SCHEMA(HSoftmaxGradient)
    .NumInputs(6)
    .NumOutputs(3, 4)
    .FillUsing(DescribeHierarchy)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(0), in.at(1), in.at(2)};
    })
    .SetDoc("The gradient of HSoftmax.")
    .Input(4, "intermediate_output", "Output of HSoftmax.")
    .Input(5, "dY", "Gradient of Y.")
    .Output(0, "dX", "Gradient of data.")
    .Output(1, "dW", "Gradient of weights, dense.")
    .Output(2, "db", "Gradient of bias.")
    .Output(3, "dOutput", "Accepted as Caffe2 has it, and left as it is.");
OPERATOR_SCHEMA(HSoftmaxSearch)
    .NumInputs(3)
    .NumOutputs(2)
    .FillUsing(DescribeWeights)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      const int64_t top = ArgumentHelper(def).GetSingleArgument<int>("topN", 5);
      std::vector<TensorShape> out(2, UnknownTensorShape());
      if (in.at(0).dims_size() > 0) {
        out[0] = CreateTensorShape({in[0].dims(0), top}, TensorProto::STRING);
        out[1] = CreateTensorShape({in[0].dims(0), top}, TensorProto::FLOAT);
      }
      return out;
    })
    .SetDoc(
        "The likeliest nodes and words of a tree for each sample. The score of a node is minus the "
        "logarithm of its probability; below a child whose own share of it is not less than beam "
        "nothing is looked for.")
    .Arg("tree",
         "(string) A serialized TreeProto with names, and offsets as create_hierarchy sets them.",
         true)
    .Arg("topN", "(int, default 5) How many there are for each sample.")
    .Arg("beam", "(float, default 0.01) See above.")
    .Output(0, "Y_names", "Strings [M, topN]: names of nodes, ids of words; empty after the last.")
    .Output(1, "Y_scores", "Float [M, topN], ascending; 0 after the last.");
REGISTER_GRADIENT(HSoftmax, GradientRule<"I0 I1 I2 I3 O1 GO0 -> GI0 GI1 GI2">);
SHOULD_NOT_DO_GRADIENT(HSoftmaxSearch);

}  // namespace caffe2
