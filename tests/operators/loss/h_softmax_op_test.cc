#include <array>
#include <cmath>

#include "caffe2/proto/hsm.pb.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// root (rows 0 and 1) -> { inner (rows 2 to 4) -> words 0, 1, 2; word 3 }
TreeProto Tree() {
  TreeProto tree;
  NodeProto* root = tree.mutable_root_node();
  root->set_name("root");
  root->set_offset(0);
  root->add_word_ids(3);
  NodeProto* inner = root->add_children();
  inner->set_name("inner");
  inner->set_offset(2);
  for (const int word : {0, 1, 2}) inner->add_word_ids(word);
  return tree;
}

HierarchyProto Hierarchy() {
  HierarchyProto hierarchy;
  hierarchy.set_size(5);
  const auto add = [](PathProto* path, int index, int length, int target) {
    PathNodeProto* node = path->add_path_nodes();
    node->set_index(index);
    node->set_length(length);
    node->set_target(target);
  };
  for (int word = 0; word < 4; ++word) {
    PathProto* path = hierarchy.add_paths();
    path->set_word_id(word);
    add(path, 0, 2, word == 3 ? 1 : 0);
    if (word < 3) add(path, 2, 3, word);
  }
  return hierarchy;
}

class HSoftmaxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws_, "X", {4, 3}, 1);
    FeedRandom(&ws_, "W", {5, 3}, 2);
    FeedRandom(&ws_, "b", {5}, 3);
    Feed<int32_t>(&ws_, "labels", {4}, {2, 3, 0, 2});
  }
  // The probabilities of rows [begin, end) for sample s.
  std::vector<double> Softmax(int s, int begin, int end) const {
    const auto x = FetchValues<float>(ws_, "X"), w = FetchValues<float>(ws_, "W"),
               b = FetchValues<float>(ws_, "b");
    std::vector<double> p;
    double sum = 0;
    for (int r = begin; r < end; ++r) {
      double logit = b[r];
      for (int k = 0; k < 3; ++k) logit += double{x[s * 3 + k]} * w[r * 3 + k];
      p.push_back(std::exp(logit));
      sum += p.back();
    }
    for (double& value : p) value /= sum;
    return p;
  }
  // Of words 0 to 3.
  std::vector<double> Words(int s) const {
    const auto top = Softmax(s, 0, 2), below = Softmax(s, 2, 5);
    return {top[0] * below[0], top[0] * below[1], top[0] * below[2], top[1]};
  }
  static OperatorDef Forward(const HierarchyProto& hierarchy) {
    return Op("HSoftmax", {"X", "W", "b", "labels"}, {"Y", "p"},
              {MakeArgument<std::string>("hierarchy", hierarchy.SerializeAsString())});
  }
  static OperatorDef Search(const TreeProto& tree, int top, float beam) {
    return Op("HSoftmaxSearch", {"X", "W", "b"}, {"names", "scores"},
              {MakeArgument<std::string>("tree", tree.SerializeAsString()),
               MakeArgument<int>("topN", top), MakeArgument<float>("beam", beam)});
  }

  Workspace ws_;
};

TEST_F(HSoftmaxTest, IsTheProductAlongThePath) {
  std::vector<float> expected;
  const auto labels = FetchValues<int32_t>(ws_, "labels");
  for (int s = 0; s < 4; ++s) {
    expected.push_back(static_cast<float>(-std::log(Words(s)[labels[s]])));
  }
  RunOp(&ws_, Forward(Hierarchy()), true);
  ExpectTensor(ws_, "Y", {4}, expected);
  EXPECT_EQ(Fetch(ws_, "p").numel(), 3 * 5 + 2);
  CheckGradient(&ws_, Forward(Hierarchy()), {0, 1, 2});
}

TEST_F(HSoftmaxTest, ImpossibleWordsHaveAFiniteLoss) {
  Feed<float>(&ws_, "b", {5}, {1000, -1000, 0, 0, 0});
  RunOp(&ws_, Forward(Hierarchy()), true);
  EXPECT_NEAR(FetchValues<float>(ws_, "Y")[1], -std::log(1e-20), 1e-3);
}

// A flat and a deep branch, and samples of more numbers than a block has threads.
TEST(HSoftmaxSizeTest, LargeNodesAndSamples) {
  constexpr int kDim = 300, kLeaves = 70, kSamples = 9;
  HierarchyProto hierarchy;
  for (int word = 0; word < kLeaves; ++word) {
    PathProto* path = hierarchy.add_paths();
    path->set_word_id(word);
    for (const auto& [index, length, target] :
         {std::array{0, 2, word % 2}, std::array{2, kLeaves, word}}) {
      PathNodeProto* node = path->add_path_nodes();
      node->set_index(index);
      node->set_length(length);
      node->set_target(target);
    }
  }
  Workspace ws;
  FeedRandom(&ws, "X", {kSamples, kDim}, 1, -0.1f, 0.1f);
  FeedRandom(&ws, "W", {2 + kLeaves, kDim}, 2);
  FeedRandom(&ws, "b", {2 + kLeaves}, 3);
  FeedRandom(&ws, "dY", {kSamples}, 4);
  std::vector<int32_t> labels;
  for (int s = 0; s < kSamples; ++s) labels.push_back(s * 11 % kLeaves);
  Feed(&ws, "labels", {kSamples}, labels);
  const auto x = FetchValues<float>(ws, "X"), w = FetchValues<float>(ws, "W"),
             b = FetchValues<float>(ws, "b"), dy = FetchValues<float>(ws, "dY");
  std::vector<double> y(kSamples), dx(x.size()), dw(w.size()), db(b.size());
  for (int s = 0; s < kSamples; ++s) {
    for (const auto& [begin, end, target] :
         {std::array{0, 2, labels[s] % 2}, std::array{2, 2 + kLeaves, 2 + labels[s]}}) {
      std::vector<double> p(b.size());
      double sum = 0;
      for (int r = begin; r < end; ++r) {
        double logit = b[r];
        for (int k = 0; k < kDim; ++k) logit += double{x[s * kDim + k]} * w[r * kDim + k];
        sum += p[r] = std::exp(logit);
      }
      y[s] -= std::log(p[target] / sum);
      for (int r = begin; r < end; ++r) {
        const double d = (p[r] / sum - (r == target ? 1 : 0)) * dy[s];
        db[r] += d;
        for (int k = 0; k < kDim; ++k) {
          dw[r * kDim + k] += d * x[s * kDim + k];
          dx[s * kDim + k] += d * w[r * kDim + k];
        }
      }
    }
  }
  const auto argument = MakeArgument<std::string>("hierarchy", hierarchy.SerializeAsString());
  const std::vector<std::string> inputs{"X", "W", "b", "labels"};
  RunOp(&ws, Op("HSoftmax", inputs, {"Y", "p"}, {argument}), true);
  ExpectTensor(ws, "Y", {kSamples}, {y.begin(), y.end()}, 1e-4f);
  RunOp(&ws, Op("HSoftmaxGradient", {"X", "W", "b", "labels", "p", "dY"}, {"dX", "dW", "db"},
                {argument}));
  ExpectTensor(ws, "dX", {kSamples, kDim}, {dx.begin(), dx.end()}, 1e-3f, 1e-5f);
  ExpectTensor(ws, "dW", {2 + kLeaves, kDim}, {dw.begin(), dw.end()}, 1e-3f, 1e-5f);
  ExpectTensor(ws, "db", {2 + kLeaves}, {db.begin(), db.end()}, 1e-3f, 1e-5f);
}

TEST_F(HSoftmaxTest, NoSamples) {
  Feed<float>(&ws_, "X", {0, 3}, {});
  Feed<int32_t>(&ws_, "labels", {0}, {});
  RunOp(&ws_, Forward(Hierarchy()), true);
  EXPECT_EQ(Fetch(ws_, "Y").numel() + Fetch(ws_, "p").numel(), 0);
  Feed<float>(&ws_, "dY", {0}, {});
  OperatorDef gradient = Op("HSoftmaxGradient", {"X", "W", "b", "labels", "p", "dY"},
                            {"dX", "dW", "db"}, {Forward(Hierarchy()).arg(0)});
  RunOp(&ws_, gradient);
  ExpectTensor(ws_, "dW", {5, 3}, std::vector<float>(15));
}

TEST_F(HSoftmaxTest, SearchFindsTheLikeliest) {
  RunOp(&ws_, Search(Tree(), 6, 100), true);
  Strings all_names;
  std::vector<double> all_scores;
  for (int s = 0; s < 4; ++s) {
    std::vector<std::pair<double, std::string>> expected{{-std::log(Softmax(s, 0, 2)[0]), "inner"}};
    for (int word = 0; word < 4; ++word) {
      expected.emplace_back(-std::log(Words(s)[word]), std::to_string(word));
    }
    std::sort(expected.begin(), expected.end());
    for (int i = 0; i < 5; ++i) {
      all_names.push_back(expected[i].second);
      all_scores.push_back(expected[i].first);
    }
    all_names.emplace_back();
    all_scores.push_back(0);
  }
  EXPECT_EQ(FetchValues<std::string>(ws_, "names"), all_names);
  ExpectNear(FetchValues<float>(ws_, "scores"), all_scores, 1e-5);
}

TEST_F(HSoftmaxTest, TheBeamCutsUnlikelyBranches) {
  Feed<float>(&ws_, "W", {5, 3}, std::vector<float>(15));
  Feed<float>(&ws_, "b", {5}, {-5, 5, 0, 0, 0});
  RunOp(&ws_, Search(Tree(), 2, 2), true);
  EXPECT_EQ(FetchValues<std::string>(ws_, "names"),
            (std::vector<std::string>{"3", "", "3", "", "3", "", "3", ""}));
}

TEST_F(HSoftmaxTest, RefusesWhatDoesNotFit) {
  HierarchyProto hierarchy = Hierarchy();
  Feed<int32_t>(&ws_, "labels", {4}, {0, 1, 4, 0});
  ExpectThrows(&ws_, Forward(hierarchy), "label 4 is not a word");
  Feed<int32_t>(&ws_, "labels", {3}, {0, 1, 2});
  ExpectThrows(&ws_, Forward(hierarchy),
               "there must be one label for each row of X: labels has shape [3], X [4, 3]");
  Feed<int32_t>(&ws_, "labels", {4}, {0, 1, 2, 3});
  hierarchy.mutable_paths(0)->mutable_path_nodes(1)->set_index(3);
  ExpectThrows(&ws_, Forward(hierarchy), "rows of W");
  hierarchy.mutable_paths(0)->mutable_path_nodes(1)->set_target(3);
  ExpectThrows(&ws_, Forward(hierarchy), "child 3 of 3");
  hierarchy = Hierarchy();
  hierarchy.mutable_paths(1)->set_word_id(0);
  ExpectThrows(&ws_, Forward(hierarchy), "two paths lead to word 0");
  TreeProto tree = Tree();
  tree.mutable_root_node()->mutable_children(0)->set_offset(3);
  ExpectThrows(&ws_, Search(tree, 5, 100), "3 children from row 3 of 5");
  tree.mutable_root_node()->clear_offset();
  ExpectThrows(&ws_, Search(tree, 5, 100), "root");
  FeedRandom(&ws_, "W", {5, 2}, 2);
  ExpectThrows(&ws_, Search(Tree(), 5, 100),
               "W must be a matrix of rows of 3 elements, as many as a sample; found shape [5, 2]");
  ExpectThrows(&ws_, Op("HSoftmax", {"X", "W", "b", "labels"}, {"Y", "p"}), "hierarchy");
}

}  // namespace
}  // namespace caffe2::testing
