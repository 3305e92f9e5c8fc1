#include "tests/operators/op_test.h"
#include "tests/operators/recurrent/recurrent_test_util.h"

namespace caffe2::testing {
namespace {

TEST(RecurrentNetworkTest, BlobFetcher) {
  Workspace ws;
  FeedLstm(&ws, 2);
  RunOp(&ws, LstmOp(LstmStep(false), {0}), true);
  RunOp(&ws, Op("RecurrentNetworkBlobFetcher", {"scratch"}, {"names"}), true);
  const auto names = FetchValues<std::string>(ws, "names");
  EXPECT_EQ(names, (std::vector<std::string>{"rnn_c0", "rnn_c_prev0", "rnn_gates0", "rnn_h0",
                                             "rnn_h_prev0", "rnn_input_t0", "rnn_timestep0",
                                             "rnn_c1", "rnn_c_prev1", "rnn_gates1", "rnn_h1",
                                             "rnn_h_prev1", "rnn_input_t1", "rnn_timestep1"}));
  ExpectTensor(ws, "rnn_h1", {1, kLstmBatch, kLstmUnits}, FetchValues<float>(ws, "h_last"));
  EXPECT_EQ(FetchValues<int32_t>(ws, "rnn_timestep1"), std::vector<int32_t>{1});
}

}  // namespace
}  // namespace caffe2::testing
