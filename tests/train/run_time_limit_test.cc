#include "train/run_time_limit.h"

#include <gtest/gtest.h>

#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

// Loops without end: one whose body has an operator, one whose body has none.
NetDef EndlessNet(int operators_in_body) {
  NetDef body;
  body.set_name("body");
  for (int i = 0; i < operators_in_body; ++i) {
    *body.add_op() = GradientMakerBase::CreateOperatorDef("Copy", "", {"true"}, {"copy"});
  }
  NetDef net;
  net.set_name("endless");
  *net.add_op() =
      GradientMakerBase::CreateOperatorDef("GivenTensorBoolFill", "", {}, {"true"},
                                           {MakeArgument("shape", std::vector<int64_t>{1}),
                                            MakeArgument("values", std::vector<int64_t>{1})});
  *net.add_op() = GradientMakerBase::CreateOperatorDef("While", "", {"true"}, {},
                                                       {MakeArgument("loop_net", body)});
  return net;
}

TEST(RunTimeLimitTest, EndsLoops) {
  for (const int operators : {0, 1}) {
    const NetDef net = EndlessNet(operators);
    Workspace ws;
    try {
      RunWithin(0.2, "the net", &ws, [&] { return ws.RunNetOnce(net); });
      ADD_FAILURE() << "it has ended";
    } catch (const EnforceNotMet& error) {
      EXPECT_NE(std::string(error.what()).find("the net has not ended within 0.2 s"),
                std::string::npos)
          << error.what();
    }
    EXPECT_FALSE(ws.StopRequested());
  }
}

TEST(RunTimeLimitTest, LeavesOtherRunsAlone) {
  Workspace ws;
  EXPECT_TRUE(RunWithin(60, "the net", &ws, [] { return true; }));
  EXPECT_FALSE(RunWithin(0, "the net", &ws, [] { return false; }));
  // An error before the limit is not changed.
  EXPECT_THROW(RunWithin(60, "the net", &ws, []() -> bool { throw IoError("the disk is full"); }),
               IoError);
  EXPECT_FALSE(ws.StopRequested());
}

}  // namespace
}  // namespace caffe2
