// CTCGreedyDecoder and CTCBeamSearchDecoder: label sequences from the class scores of connectionist
// temporal classification (Graves et al., ICML 2006). Class 0 is the blank.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "caffe2/core/operator.h"
#include "operators/common/cpu_only.h"

namespace caffe2 {
namespace {

constexpr int32_t kBlank = 0;

// Reads INPUTS [T, N, C] and the number of steps of each sequence: SEQ_LEN [N], or T for all.
class CtcDecoderBase : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

 protected:
  struct Scores {
    int64_t time = 0, batch = 0, classes = 0;
    const float* data = nullptr;
    const int32_t* lengths = nullptr;

    int64_t length(int64_t n) const { return lengths == nullptr ? time : lengths[n]; }
    const float* at(int64_t t, int64_t n) const { return data + (t * batch + n) * classes; }
  };

  Scores ReadScores() const {
    const Tensor& inputs = Input(0);
    CAFFE_ENFORCE(inputs.dim() == 3 && inputs.size(2) > 0,
                  "INPUTS must be time x batch x classes with at least one class, found shape ",
                  ShapeString(inputs.sizes()));
    Scores scores{inputs.size(0), inputs.size(1), inputs.size(2), inputs.data<float>()};
    if (InputSize() > 1) {
      CAFFE_ENFORCE(Input(1).numel() == scores.batch,
                    "SEQ_LEN must have one length for each of the ", scores.batch,
                    " sequences in INPUTS, found ", Input(1).numel());
      scores.lengths = Input(1).data<int32_t>();
      for (int64_t n = 0; n < scores.batch; ++n) {
        CAFFE_ENFORCE(scores.lengths[n] >= 0 && scores.lengths[n] <= scores.time,
                      "the length of sequence ", n, " must be from 0 to ", scores.time,
                      ", the steps of INPUTS; found ", scores.lengths[n]);
      }
    }
    return scores;
  }
  template <typename T>
  void Write(int output, const std::vector<T>& values) {
    Output(output)->Resize(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), Output(output)->mutable_data<T>());
  }
};

class CtcGreedyDecoderOp final : public CtcDecoderBase {
 public:
  CtcGreedyDecoderOp(const OperatorDef& def, Workspace* ws)
      : CtcDecoderBase(def, ws), merge_(GetSingleArgument<bool>("merge_repeated", true)) {}

  bool RunOnDevice() override {
    const Scores scores = ReadScores();
    std::vector<int32_t> lengths, values;
    for (int64_t n = 0; n < scores.batch; ++n) {
      const size_t before = values.size();
      int32_t previous = kBlank;
      for (int64_t t = 0; t < scores.length(n); ++t) {
        const float* row = scores.at(t, n);
        const auto best = static_cast<int32_t>(std::max_element(row, row + scores.classes) - row);
        if (best != kBlank && !(merge_ && best == previous)) values.push_back(best);
        previous = best;
      }
      lengths.push_back(static_cast<int32_t>(values.size() - before));
    }
    Write(0, lengths);
    Write(1, values);
    return true;
  }

 private:
  bool merge_;
};

// The label sequences that the search of one input has met, as a tree: a node is its parent's
// sequence and one more label. It has the probabilities of all paths that end in a blank and of all
// paths that end in the last label, up to the last touched step and up to the step before.
class PrefixTree {
 public:
  struct Probability {
    double blank = 0, label = 0;
    double total() const { return blank + label; }
  };
  struct Node {
    int parent = -1;
    int32_t label = kBlank;
    int64_t step = 0;
    int64_t in_beam = 0;  // the last step at which it was extended
    Probability before, now;
  };

  PrefixTree() {
    nodes_.emplace_back();
    nodes_[0].now.blank = 1;
  }
  Node& operator[](int i) { return nodes_[i]; }
  int Child(int parent, int32_t label) {
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | static_cast<uint32_t>(label);
    const auto [found, is_new] = children_.emplace(key, static_cast<int>(nodes_.size()));
    if (is_new) {
      nodes_.emplace_back();
      nodes_.back().parent = parent;
      nodes_.back().label = label;
      nodes_.back().step = -1;
    }
    return found->second;
  }
  // Makes `step` the current step of node i. Returns true if it was another one.
  bool Touch(int i, int64_t step) {
    Node& node = nodes_[i];
    if (node.step == step) return false;
    node.before = node.step == step - 1 ? node.now : Probability{};
    node.now = {};
    node.step = step;
    return true;
  }
  std::vector<int32_t> Labels(int i) const {
    std::vector<int32_t> labels;
    for (; nodes_[i].parent >= 0; i = nodes_[i].parent) labels.push_back(nodes_[i].label);
    std::reverse(labels.begin(), labels.end());
    return labels;
  }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, int> children_;
};

class CtcBeamSearchDecoderOp final : public CtcDecoderBase {
 public:
  CtcBeamSearchDecoderOp(const OperatorDef& def, Workspace* ws)
      : CtcDecoderBase(def, ws),
        beam_width_(GetSingleArgument<int>("beam_width", 10)),
        candidates_(GetSingleArgument<int>("num_candidates", 1)),
        threshold_(GetSingleArgument<float>("prune_threshold", 0.001f)) {
    CAFFE_ENFORCE(candidates_ >= 1 && candidates_ <= beam_width_,
                  "argument num_candidates must be from 1 to beam_width (", beam_width_,
                  "), found ", candidates_);
  }

  bool RunOnDevice() override {
    const Scores scores = ReadScores();
    const size_t results = scores.batch * candidates_;
    std::vector<int32_t> lengths(results, 0), values;
    std::vector<float> probabilities(results, 0.f);
    for (int64_t n = 0; n < scores.batch; ++n) {
      PrefixTree tree;
      const std::vector<int> beam = Search(scores, n, &tree);
      for (size_t k = 0; k < std::min<size_t>(candidates_, beam.size()); ++k) {
        const std::vector<int32_t> labels = tree.Labels(beam[k]);
        lengths[n * candidates_ + k] = static_cast<int32_t>(labels.size());
        probabilities[n * candidates_ + k] = static_cast<float>(tree[beam[k]].now.total());
        values.insert(values.end(), labels.begin(), labels.end());
      }
    }
    Write(0, lengths);
    Write(1, values);
    if (OutputSize() > 2) Write(2, probabilities);
    return true;
  }

 private:
  // The most likely prefixes of sequence n, best first.
  std::vector<int> Search(const Scores& scores, int64_t n, PrefixTree* tree) const {
    std::vector<int> beam{0};
    for (int64_t t = 1; t <= scores.length(n); ++t) {
      std::vector<int> touched;
      for (const int prefix : beam) (*tree)[prefix].in_beam = t;
      const std::vector<int32_t> classes = LikelyClasses(scores.at(t - 1, n), scores.classes);
      for (const int prefix : beam) {
        Extend(scores.at(t - 1, n), classes, t, prefix, tree, &touched);
      }
      std::erase_if(touched, [tree](int i) { return !((*tree)[i].now.total() > 0); });
      std::stable_sort(touched.begin(), touched.end(), [tree](int a, int b) {
        return (*tree)[a].now.total() > (*tree)[b].now.total();
      });
      if (touched.size() > static_cast<size_t>(beam_width_)) touched.resize(beam_width_);
      beam = std::move(touched);
    }
    return beam;
  }

  // The classes above the threshold, or all classes if none is above it: no step may end the
  // search.
  std::vector<int32_t> LikelyClasses(const float* score, int64_t classes) const {
    std::vector<int32_t> likely(classes);
    std::iota(likely.begin(), likely.end(), 0);
    const auto pruned = [&](int32_t c) { return !(score[c] > threshold_); };
    if (!std::all_of(likely.begin(), likely.end(), pruned)) std::erase_if(likely, pruned);
    return likely;
  }

  // Extends a prefix of the step before by each of `classes`, at step t.
  void Extend(const float* score, const std::vector<int32_t>& classes, int64_t t, int prefix,
              PrefixTree* tree, std::vector<int>* touched) const {
    const auto touch = [=](int i) {
      if (tree->Touch(i, t)) touched->push_back(i);
    };
    touch(prefix);
    const PrefixTree::Probability before = (*tree)[prefix].before;
    for (const int32_t c : classes) {
      const double p = score[c];
      if (c == kBlank) {
        (*tree)[prefix].now.blank += p * before.total();
        continue;
      }
      const int longer = tree->Child(prefix, c);
      touch(longer);
      // Without a blank between them, two equal labels are one.
      const bool repeats = prefix != 0 && c == (*tree)[prefix].label;
      if (repeats) (*tree)[prefix].now.label += p * before.label;
      PrefixTree::Node& node = (*tree)[longer];
      node.now.label += p * (repeats ? before.blank : before.total());
      if (node.in_beam != t) {  // the prefix had left the beam, but its probability counts
        node.now.blank += score[kBlank] * node.before.total();
        node.now.label += p * node.before.label;
      }
    }
  }

  int beam_width_, candidates_;
  float threshold_;
};

void DescribeCtcDecoder(OpSchema& schema) {
  schema.NumInputs(1, 2)
      .Input(0, "INPUTS", "Float, time x batch x classes: probabilities; class 0 is the blank.")
      .Input(1, "SEQ_LEN", "Optional: int32, the number of steps of each sequence. Default: all.");
}

}  // namespace

REGISTER_CPU_OPERATOR(CTCGreedyDecoder, CtcGreedyDecoderOp);
REGISTER_CPU_OPERATOR(CTCBeamSearchDecoder, CtcBeamSearchDecoderOp);

OPERATOR_SCHEMA(CTCGreedyDecoder)
    .FillUsing(DescribeCtcDecoder)
    .NumOutputs(2)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[0].dims_size() == 3, "INPUTS must be time x batch x classes, found ",
                    in[0].dims_size(), " axes");
      return std::vector<TensorShape>{CreateTensorShape({in[0].dims(1)}, TensorProto::INT32),
                                      UnknownTensorShape()};
    })
    .SetDoc(
        "Decodes the output of a network trained by connectionist temporal classification (Graves "
        "et al., 2006): takes the most likely class of each step, without blanks and repetitions.")
    .Arg<bool>("merge_repeated", "(default 1) Equal classes in a row are one label.")
    .Output(0, "OUTPUT_LEN", "Int32 [batch]: the number of labels of each sequence.")
    .Output(1, "VALUES", "Int32: the labels of all sequences, one after the other.")
    .CpuOnly(cpu_only::kDecodes);
OPERATOR_SCHEMA(CTCBeamSearchDecoder)
    .FillUsing(DescribeCtcDecoder)
    .NumOutputs(2, 3)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      CAFFE_ENFORCE(in[0].dims_size() == 3, "INPUTS must be time x batch x classes, found ",
                    in[0].dims_size(), " axes");
      const int candidates = ArgumentHelper(def).GetSingleArgument<int>("num_candidates", 1);
      const std::vector<int64_t> dims{in[0].dims(1) * candidates};
      std::vector<TensorShape> out{CreateTensorShape(dims, TensorProto::INT32),
                                   UnknownTensorShape(),
                                   CreateTensorShape(dims, TensorProto::FLOAT)};
      out.resize(def.output_size());
      return out;
    })
    .SetDoc(
        "The most likely label sequences, where the probability of a sequence is the sum over all "
        "its paths of classes. The search keeps the `beam_width` best prefixes at every step "
        "(Hannun et al., 2014, without a language model).")
    .Arg<int>("beam_width", "(> 0, default 10) The number of prefixes kept.")
    .Arg<int>("num_candidates", "(> 0, default 1) The number of sequences returned for each input.")
    .Arg<float>("prune_threshold",
                "(default 0.001) A step skips classes whose probability is not larger, unless that "
                "would skip all.")
    .Output(0, "OUTPUT_LEN", "Int32 [batch * num_candidates]: labels of each, best first.")
    .Output(1, "VALUES", "Int32: the labels of all sequences, one after the other.")
    .Output(2, "OUTPUT_PROB", "Optional: float [batch * num_candidates], their probabilities.")
    .CpuOnly(cpu_only::kDecodes);
NO_GRADIENT(CTCGreedyDecoder);
NO_GRADIENT(CTCBeamSearchDecoder);

}  // namespace caffe2
