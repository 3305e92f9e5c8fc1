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

}  // namespace
}  // namespace caffe2::testing
