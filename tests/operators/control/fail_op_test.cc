// ThrowException and Fail.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FailTest, OneThrowsTheOtherReports) {
  Workspace ws;
  ExpectThrows(&ws, Op("ThrowException", {}, {}, {MakeArgument<std::string>("message", "planned")}),
               "planned");
  const auto op = CreateOperator(Op("Fail", {}, {}), &ws);
  EXPECT_FALSE(op->Run());
}

}  // namespace
}  // namespace caffe2::testing
