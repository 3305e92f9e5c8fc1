// HSoftmax, HSoftmaxSearch: the softmax over a tree of classes (Morin and Bengio, 2005).
#include "operators/loss/h_softmax_op.h"

#include "operators/common/cpu_only.h"
#include "operators/common/gradient_rule.h"
#include "operators/common/host_device_op.h"

namespace caffe2 {
namespace {

// Walks down the tree from the root, into every child that is likely enough.
class HSoftmaxSearchOp final : public Operator<CPUContext> {
 public:
  HSoftmaxSearchOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        top_n_(GetSingleArgument<int>("topN", 5)),
        beam_(GetSingleArgument<float>("beam", 0.01f)) {
    CAFFE_ENFORCE(tree_.ParseFromString(GetSingleArgument<std::string>("tree", "")),
                  "argument tree must be a serialized TreeProto");
    CAFFE_ENFORCE(top_n_ >= 0, "argument topN must not be negative, found ", top_n_);
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const NodeWeights weights = NodeWeightsOf(X, Input(1), Input(2));
    const int64_t count = X.size(0);
    Output(0)->Resize(count, top_n_);
    Output(1)->Resize(count, top_n_);
    auto* names = Output(0)->mutable_data<std::string>();
    float* scores = Output(1)->mutable_data<float>();
    std::vector<Hit> hits;
    for (int64_t s = 0; s < count; ++s, names += top_n_, scores += top_n_) {
      hits.clear();
      Search(weights, X.data<float>() + s * weights.dim, tree_.root_node(), 0, &hits);
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
    const int64_t rows = Input(1).size(0);
    CAFFE_ENFORCE(node.has_offset() && node.offset() >= 0 && node.offset() + length <= rows,
                  "node \"", node.name(), "\" has ", length, " children from row ", node.offset(),
                  " of ", rows);
    std::vector<float> probability(length);
    weights.Softmax(x, node.offset(), length, probability.data(), host_device::SoloTeam());
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
      .Arg<std::string>("hierarchy",
                        "A serialized HierarchyProto (caffe2.python.hsm_util.create_hierarchy).",
                        true)
      .Input(3, "labels", "int32 or int64 [M], words of the hierarchy.");
}

}  // namespace

REGISTER_CPU_OPERATOR(HSoftmax, HSoftmaxOp<CPUContext>);
REGISTER_CPU_OPERATOR(HSoftmaxGradient, HSoftmaxGradientOp<CPUContext>);
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
        "over its children, and the probability of a word is the product of the probabilities on "
        "the path to it.")
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
    .Output(3, "dOutput", "Accepted because Caffe2 has it; not written.");
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
        "Searches a tree for the likeliest nodes and words of each sample. The score of a node is "
        "minus the logarithm of its probability. The search does not go below a child whose own "
        "part of the score is at least beam.")
    .Arg<std::string>(
        "tree", "A serialized TreeProto with names, and offsets as create_hierarchy sets them.",
        true)
    .Arg<int>("topN", "(>= 0, default 5) The number of results for each sample.")
    .Arg<float>("beam", "(default 0.01) See above.")
    .Output(0, "Y_names", "Strings [M, topN]: names of nodes, ids of words; empty after the last.")
    .Output(1, "Y_scores", "Float [M, topN], ascending; 0 after the last.")
    .CpuOnly(cpu_only::kDecodes);
REGISTER_GRADIENT(HSoftmax, GradientRule<"I0 I1 I2 I3 O1 GO0 -> GI0 GI1 GI2">);
SHOULD_NOT_DO_GRADIENT(HSoftmaxSearch);

}  // namespace caffe2
