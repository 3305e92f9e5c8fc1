#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, MomentumUpdatesRowsAsTheDenseOneDoes) {
  for (const int nesterov : {0, 1}) {
    const std::vector<Argument> momentum{MakeArgument<float>("momentum", 0.9f),
                                         MakeArgument("nesterov", nesterov)};
    ExpectSameAsDense(
        Op("SparseMomentumSGDUpdate", {"g", "m", "lr", "p", "i"}, {"g", "m", "p"}, momentum),
        Op("MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}, momentum), {"m", "p"});
  }
}

TEST_F(SparseOptimizerTest, MomentumRejectsBadInput) {
  ExpectThrows(&ws, Op("SparseMomentumSGDUpdate", {"g", "m", "short", "p", "i"}, {"g", "m", "p"}),
               "the learning rate must have one element, found 2");
}

}  // namespace
}  // namespace caffe2::testing
