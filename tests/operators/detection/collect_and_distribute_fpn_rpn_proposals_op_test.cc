#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(CollectAndDistributeTest, GivesProposalsToLevelsBySize) {
  Workspace ws;
  // Sides of 448, 224, 56 and 8 pixels: levels 5, 4, 2 and (below the least) 2.
  Feed<float>(&ws, "r2", {3, 5}, {0, 0, 0, 7, 7, 0, 0, 0, 447, 447, 1, 0, 0, 55, 55});
  Feed<float>(&ws, "p2", {3}, {0.2f, 0.5f, 0.9f});
  Feed<float>(&ws, "r3", {2, 5}, {1, 0, 0, 223, 223, 0, 1, 1, 2, 2});
  Feed<float>(&ws, "p3", {2}, {0.7f, 0.1f});
  const std::vector<Argument> args{MakeArgument("rpn_max_level", 3),
                                   MakeArgument("rpn_post_nms_topN", 4)};
  const std::vector<std::string> outputs{"rois", "l2", "l3", "l4", "l5", "restore"};
  const OperatorDef op =
      Op("CollectAndDistributeFpnRpnProposals", {"r2", "r3", "p2", "p3"}, outputs, args);
  RunOp(&ws, op, true);
  ExpectTensor(ws, "rois", {4, 5},
               {1, 0, 0, 55, 55, 1, 0, 0, 223, 223, 0, 0, 0, 447, 447, 0, 0, 0, 7, 7});
  ExpectTensor(ws, "l2", {2, 5}, {1, 0, 0, 55, 55, 0, 0, 0, 7, 7});
  EXPECT_EQ(Fetch(ws, "l3").sizes(), (std::vector<int64_t>{0, 5}));
  ExpectTensor(ws, "l4", {1, 5}, {1, 0, 0, 223, 223});
  ExpectTensor(ws, "l5", {1, 5}, {0, 0, 0, 447, 447});
  EXPECT_EQ(FetchValues<int>(ws, "restore"), (Ints{0, 2, 3, 1}));
  // The halves do the same.
  RunOp(&ws, Op("CollectRpnProposals", {"r2", "r3", "p2", "p3"}, {"best"}, args), true);
  EXPECT_EQ(FetchValues<float>(ws, "best"), FetchValues<float>(ws, "rois"));
  const std::vector<std::string> parts{"m2", "m3", "m4", "m5", "back"};
  RunOp(&ws, Op("DistributeFpnProposals", {"best"}, parts), true);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(FetchValues<float>(ws, parts[i]), FetchValues<float>(ws, outputs[i + 1]));
  }
  EXPECT_EQ(FetchValues<int>(ws, "back"), FetchValues<int>(ws, "restore"));
  ExpectThrows(&ws, Op("DistributeFpnProposals", {"best"}, {"m2", "back"}), "each RoI level");
  ExpectThrows(&ws, Op("DistributeFpnProposals", {"p2"}, parts), "must be n x 5, found shape");
  Feed<float>(&ws, "p3", {1}, {0.7f});
  ExpectThrows(&ws, op, "must have one score for each of the");
  ExpectThrows(&ws, Op(op.type(), {"r2", "p2"}, outputs, args), "two for each RPN level");
}

TEST(CollectAndDistributeTest, FillsEveryLevel) {
  Workspace ws;
  // Sides of 56, 112, 224 and 448 pixels: one for each level, the best last.
  const std::vector<std::vector<float>> of_level{
      {0, 0, 0, 55, 55}, {1, 8, 0, 119, 111}, {0, 0, 0, 223, 223}, {1, 0, 9, 447, 456}};
  std::vector<float> rois, best_first;
  for (const std::vector<float>& roi : of_level) {
    rois.insert(rois.end(), roi.begin(), roi.end());
    best_first.insert(best_first.begin(), roi.begin(), roi.end());
  }
  Feed(&ws, "r", {4, 5}, rois);
  Feed<float>(&ws, "p", {4}, {0.1f, 0.2f, 0.3f, 0.4f});
  Feed(&ws, "best", {4, 5}, best_first);
  RunOp(&ws,
        Op("CollectAndDistributeFpnRpnProposals", {"r", "p"},
           {"rois", "l2", "l3", "l4", "l5", "restore"}, {MakeArgument("rpn_max_level", 2)}),
        true);
  RunOp(&ws, Op("DistributeFpnProposals", {"best"}, {"m2", "m3", "m4", "m5", "back"}), true);
  ExpectTensor(ws, "rois", {4, 5}, best_first, 0, 0);
  for (size_t i = 0; i < of_level.size(); ++i) {
    const std::string level = std::to_string(i + 2);
    ExpectTensor(ws, "l" + level, {1, 5}, of_level[i], 0, 0);
    ExpectTensor(ws, "m" + level, {1, 5}, of_level[i], 0, 0);
  }
  EXPECT_EQ(FetchValues<int>(ws, "restore"), (Ints{3, 2, 1, 0}));
  EXPECT_EQ(FetchValues<int>(ws, "back"), (Ints{3, 2, 1, 0}));
}

}  // namespace
}  // namespace caffe2::testing
