#include <algorithm>
#include <cmath>
#include <map>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Labels = std::vector<int32_t>;

// The labels of a path of classes: without repetitions, then without blanks.
Labels Collapse(const Labels& path) {
  Labels labels;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != 0 && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  }
  return labels;
}

TEST(CtcGreedyDecoderTest, TakesTheBestClassOfEachStep) {
  Workspace ws;
  // Steps x sequences x classes; the best classes are 1 1 0 1 2 and 0 2 2 1 1.
  const int best[5][2] = {{1, 0}, {1, 2}, {0, 2}, {1, 1}, {2, 1}};
  std::vector<float> scores(5 * 2 * 3, 0.1f);
  for (int t = 0; t < 5; ++t) {
    for (int n = 0; n < 2; ++n) scores[(t * 2 + n) * 3 + best[t][n]] = 0.8f;
  }
  Feed(&ws, "X", {5, 2, 3}, scores);
  RunOp(&ws, Op("CTCGreedyDecoder", {"X"}, {"len", "values"}), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{3, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "values"), (Labels{1, 1, 2, 2, 1}));
  RunOp(&ws,
        Op("CTCGreedyDecoder", {"X"}, {"len", "values"}, {MakeArgument("merge_repeated", false)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{4, 4}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "values"), (Labels{1, 1, 1, 2, 2, 2, 1, 1}));
  Feed<int32_t>(&ws, "seq", {2}, {2, 0});
  RunOp(&ws, Op("CTCGreedyDecoder", {"X", "seq"}, {"len", "values"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{1, 0}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "values"), (Labels{1}));
}

// The probability of every label sequence, summed over all paths.
std::map<Labels, double> AllPaths(const std::vector<float>& scores, int n, int steps) {
  std::map<Labels, double> probabilities;
  for (int code = 0; code < std::pow(3, steps); ++code) {
    Labels path;
    double p = 1;
    for (int t = 0, rest = code; t < steps; ++t, rest /= 3) {
      path.push_back(rest % 3);
      p *= scores[(t * 2 + n) * 3 + rest % 3];
    }
    probabilities[Collapse(path)] += p;
  }
  return probabilities;
}

TEST(CtcBeamSearchDecoderTest, AWideBeamFindsTheBestOfAllPaths) {
  Workspace ws;
  const int steps = 5, candidates = 4, lengths[2] = {5, 3};
  FeedRandom(&ws, "X", {steps, 2, 3}, 1, 0.05f, 1);
  Feed<int32_t>(&ws, "seq", {2}, {lengths[0], lengths[1]});
  Labels expected_lengths, expected_values;
  std::vector<float> expected_probabilities;
  for (int n = 0; n < 2; ++n) {
    const auto all = AllPaths(FetchValues<float>(ws, "X"), n, lengths[n]);
    std::vector<std::pair<double, Labels>> ranked;
    for (const auto& [labels, p] : all) ranked.emplace_back(-p, labels);
    std::sort(ranked.begin(), ranked.end());
    for (int k = 0; k < candidates; ++k) {
      const Labels& labels = ranked[k].second;
      expected_lengths.push_back(static_cast<int32_t>(labels.size()));
      expected_values.insert(expected_values.end(), labels.begin(), labels.end());
      expected_probabilities.push_back(static_cast<float>(-ranked[k].first));
    }
  }
  RunOp(&ws, Op("CTCBeamSearchDecoder", {"X", "seq"}, {"len", "values", "prob"},
                {MakeArgument("beam_width", 1000), MakeArgument("num_candidates", candidates)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), expected_lengths);
  EXPECT_EQ(FetchValues<int32_t>(ws, "values"), expected_values);
  ExpectTensor(ws, "prob", {2 * candidates}, expected_probabilities);
}

TEST(CtcBeamSearchDecoderTest, ANarrowBeamAndThresholdLoseWhatTheyDrop) {
  Workspace ws;
  // Either step alone prefers the blank, but both together label 1.
  Feed<float>(&ws, "X", {2, 1, 2}, {0.6f, 0.4f, 0.6f, 0.4f});
  const OperatorDef narrow =
      Op("CTCBeamSearchDecoder", {"X"}, {"len", "values", "prob"}, {MakeArgument("beam_width", 1)});
  RunOp(&ws, narrow, true);
  // After one step the empty prefix (0.6) is kept. 1 then has 0.6 * 0.4, and what the dropped
  // prefix 1 had: 0.4 * (0.6 + 0.4).
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{1}));
  ExpectTensor(ws, "prob", {1}, {0.64f});
  RunOp(&ws, Op("CTCBeamSearchDecoder", {"X"}, {"len", "values", "prob"},
                {MakeArgument("prune_threshold", 0.5f), MakeArgument("num_candidates", 2)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{0, 0}));
  ExpectTensor(ws, "prob", {2}, {0.36f, 0});
}

TEST(CtcBeamSearchDecoderTest, AStepOfUnlikelyClassesIsNotPruned) {
  Workspace ws;
  // None of the second step is above the threshold. 1 has 0.8 * (0.3 + 0.3) after it and 1 2 has
  // 0.8 * 0.4; then both have a blank.
  Feed<float>(&ws, "X", {3, 1, 3}, {0.1f, 0.8f, 0.1f, 0.3f, 0.3f, 0.4f, 0.7f, 0.2f, 0.1f});
  const std::vector<Argument> args{MakeArgument("prune_threshold", 0.5f),
                                   MakeArgument("num_candidates", 2)};
  RunOp(&ws, Op("CTCBeamSearchDecoder", {"X"}, {"len", "values", "prob"}, args), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "len"), (Labels{1, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "values"), (Labels{1, 1, 2}));
  ExpectTensor(ws, "prob", {2}, {0.336f, 0.224f});
  // Without probabilities.
  RunOp(&ws, Op("CTCBeamSearchDecoder", {"X"}, {"len2", "values2"}, args), true);
  EXPECT_EQ(FetchValues<int32_t>(ws, "len2"), (Labels{1, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "values2"), (Labels{1, 1, 2}));
}

TEST(CtcDecoderTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 2, 3}, 1);
  FeedRandom(&ws, "M", {2, 2}, 1);
  Feed<int32_t>(&ws, "long", {2}, {3, 1});
  Feed<int32_t>(&ws, "negative", {2}, {-1, 1});
  Feed<int32_t>(&ws, "one", {1}, {1});
  for (const std::string type : {"CTCGreedyDecoder", "CTCBeamSearchDecoder"}) {
    std::vector<std::string> outputs{"a", "b"};
    if (type == "CTCBeamSearchDecoder") outputs.emplace_back("c");
    ExpectThrows(&ws, Op(type, {"M"}, outputs), "time x batch x classes");
    ExpectThrows(&ws, Op(type, {"X", "long"}, outputs),
                 "the length of sequence 0 must be from 0 to 2, the steps of INPUTS; found 3");
    ExpectThrows(&ws, Op(type, {"X", "negative"}, outputs),
                 "the length of sequence 0 must be from 0 to 2, the steps of INPUTS; found -1");
    ExpectThrows(&ws, Op(type, {"X", "one"}, outputs), "SEQ_LEN");
  }
  ExpectThrows(&ws,
               Op("CTCBeamSearchDecoder", {"X"}, {"a", "b", "c"},
                  {MakeArgument("beam_width", 1), MakeArgument("num_candidates", 2)}),
               "num_candidates must be from 1 to beam_width (1), found 2");
}

}  // namespace
}  // namespace caffe2::testing
