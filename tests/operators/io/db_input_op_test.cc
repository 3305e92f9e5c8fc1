#include "operators/io/db_input_op.h"

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// What the pipelines do: tensor_protos_db_input_op_test.cc, image_input_op_test.cc.
TEST(DBInputOpTest, AnOperatorWithoutAPipelineIsNamed) {
  Workspace ws;
  FeedRandom(&ws, "X", {1}, 1);
  const auto copy = CreateOperator(Op("Copy", {"X"}, {"Y"}), &ws);
  try {
    MakeInputPipeline(*copy, 1, nullptr);
    FAIL() << "no error";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("the input of operator Copy"), std::string::npos);
  }
}

}  // namespace
}  // namespace caffe2::testing
