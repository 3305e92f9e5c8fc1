// HuffmanTreeHierarchy: the tree of classes with the shortest mean path to a label.
#include <memory>
#include <queue>

#include "caffe2/core/operator.h"
#include "caffe2/proto/hsm.pb.h"
#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"

namespace caffe2 {
namespace {

// A word, or a node over two others.
struct Branch {
  int64_t count;
  int number;  // in order of creation; words first
  int left = -1, right = -1;
};

// The least frequent branch comes first; of equally frequent ones the older, which keeps trees low.
struct ComesLater {
  bool operator()(const Branch& a, const Branch& b) const {
    return a.count != b.count ? a.count > b.count : a.number > b.number;
  }
};

std::vector<Branch> HuffmanTree(const std::vector<int64_t>& counts) {
  std::vector<Branch> branches;
  std::priority_queue<Branch, std::vector<Branch>, ComesLater> open;
  const auto add = [&](int64_t count, int left, int right) {
    branches.push_back({count, static_cast<int>(branches.size()), left, right});
    open.push(branches.back());
  };
  for (const int64_t count : counts) add(count, -1, -1);
  while (open.size() > 1) {
    const Branch left = open.top();
    open.pop();
    const Branch right = open.top();
    open.pop();
    add(left.count + right.count, left.number, right.number);
  }
  return branches;
}

// Recursive: a tree of this depth takes more than 1.6^depth labels.
void Describe(const std::vector<Branch>& branches, const Branch& branch, int* offset,
              NodeProto* node) {
  node->set_name(MakeString("node", branch.number));
  node->set_offset(*offset);
  *offset += 2;
  for (const int number : {branch.left, branch.right}) {
    const Branch& child = branches[number];
    if (child.left < 0) {
      node->add_word_ids(number);
    } else {
      Describe(branches, child, offset, node->add_children());
    }
  }
}

class HuffmanTreeHierarchyOp final : public Operator<CPUContext> {
 public:
  HuffmanTreeHierarchyOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), num_classes_(GetSingleArgument<int>("num_classes", -1)) {
    CAFFE_ENFORCE(num_classes_ > 0, "argument num_classes must be positive, found ", num_classes_);
  }

  bool RunOnDevice() override {
    const Tensor& labels = Input(0);
    CAFFE_ENFORCE(labels.dim() == 1, "the labels must be one-dimensional, found shape ",
                  ShapeString(labels.sizes()));
    std::vector<int64_t> counts(num_classes_);
    for (const int64_t label : ReadIndices(labels, num_classes_)) ++counts[label];
    const std::vector<Branch> branches = HuffmanTree(counts);
    TreeProto tree;
    int offset = 0;
    if (num_classes_ == 1) {
      tree.mutable_root_node()->set_name("node0");
      tree.mutable_root_node()->set_offset(0);
      tree.mutable_root_node()->add_word_ids(0);
    } else {
      Describe(branches, branches.back(), &offset, tree.mutable_root_node());
    }
    Output(0)->Resize(1);
    *Output(0)->mutable_data<std::string>() = tree.SerializeAsString();
    return true;
  }

 private:
  const int num_classes_;
};

}  // namespace

REGISTER_CPU_OPERATOR(HuffmanTreeHierarchy, HuffmanTreeHierarchyOp);
OPERATOR_SCHEMA(HuffmanTreeHierarchy)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::STRING)};
    })
    .SetDoc(
        "The Huffman tree of labels by their frequency, for HSoftmax. Joins the two rarest "
        "branches (of equally rare ones the older) until one is left.")
    .Arg<int>("num_classes", "(> 0) Number of labels; they count from 0.", true)
    .Input(0, "Labels", "int32 or int64, one-dimensional.")
    .Output(0, "Hierarch", "One string: a serialized TreeProto with names and offsets.")
    .CpuOnly(cpu_only::kDecodes);
SHOULD_NOT_DO_GRADIENT(HuffmanTreeHierarchy);

}  // namespace caffe2
