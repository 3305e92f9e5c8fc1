#include "caffe2/proto/hsm.pb.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TreeProto Huffman(Workspace* ws, int classes) {
  RunOp(ws, Op("HuffmanTreeHierarchy", {"labels"}, {"tree"},
               {MakeArgument<int>("num_classes", classes)}));
  NoteCompared(*ws, "tree");  // by each caller
  TreeProto tree;
  EXPECT_TRUE(tree.ParseFromString(FetchValues<std::string>(*ws, "tree").at(0)));
  return tree;
}

// Sum of count times depth over the words, and the rows of the weights.
int64_t Cost(const NodeProto& node, const std::vector<int64_t>& counts, int depth, int* rows) {
  EXPECT_EQ(node.offset(), *rows);
  *rows += node.children_size() + node.word_ids_size();
  int64_t cost = 0;
  for (const NodeProto& child : node.children()) cost += Cost(child, counts, depth + 1, rows);
  for (const int word : node.word_ids()) cost += counts[word] * depth;
  return cost;
}

TEST(HuffmanTreeHierarchyTest, PathsAreShortOnTheWhole) {
  Workspace ws;
  const std::vector<int64_t> counts{1, 2, 3, 4, 5, 6};
  std::vector<int64_t> labels;
  for (int label = 0; label < 6; ++label) labels.insert(labels.end(), counts[label], label);
  Feed<int64_t>(&ws, "labels", {21}, labels);
  int rows = 0;
  // Merging 1+2, 3+3, 4+5, 6+6, 9+12.
  EXPECT_EQ(Cost(Huffman(&ws, 6).root_node(), counts, 1, &rows), 3 + 6 + 9 + 12 + 21);
  EXPECT_EQ(rows, 10);
}

TEST(HuffmanTreeHierarchyTest, EqualFrequenciesGiveLowTrees) {
  Workspace ws;
  Feed<int32_t>(&ws, "labels", {0}, {});
  int rows = 0;
  EXPECT_EQ(Cost(Huffman(&ws, 1024).root_node(), std::vector<int64_t>(1024, 1), 1, &rows),
            10 * 1024);
  Feed<int32_t>(&ws, "labels", {2}, {0, 0});
  EXPECT_EQ(Huffman(&ws, 1).root_node().word_ids(0), 0);
  const auto refused = [&ws](int classes, const std::string& reason) {
    ExpectThrows(&ws,
                 Op("HuffmanTreeHierarchy", {"labels"}, {"tree"},
                    {MakeArgument<int>("num_classes", classes)}),
                 reason);
  };
  refused(0, "num_classes");
  Feed<int32_t>(&ws, "labels", {2}, {0, 3});
  refused(3, "3");
  Feed<int32_t>(&ws, "labels", {1, 1}, {0});
  refused(3, "the labels must be one-dimensional");
}

}  // namespace
}  // namespace caffe2::testing
