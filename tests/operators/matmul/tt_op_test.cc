// TT and TTSparseLengthsSum.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(TtTest, EqualsTheMatrixThatTheCoresMake) {
  Workspace ws;
  const std::vector<int> in = {2, 3, 2}, out = {3, 1, 2}, ranks = {1, 2, 3, 1};
  FeedRandom(&ws, "X", {4, 12}, 1);
  FeedRandom(&ws, "b", {6}, 2);
  FeedRandom(&ws, "cores", {12 + 18 + 12}, 3);
  const auto x = FetchValues<float>(ws, "X"), b = FetchValues<float>(ws, "b"),
             cores = FetchValues<float>(ws, "cores");
  const int64_t begin[3] = {30, 12, 0};  // the last core comes first
  const auto core = [&](int k, int i, int r_next, int r, int o) {
    return cores[begin[k] + ((i * ranks[k + 1] + r_next) * ranks[k] + r) * out[k] + o];
  };
  std::vector<float> y;
  for (int n = 0; n < 4; ++n) {
    for (int o = 0; o < 6; ++o) {
      double sum = b[o];
      for (int i = 0; i < 12; ++i) {
        for (int r = 0; r < 6; ++r) {
          sum += x[n * 12 + i] * core(0, i / 6, r / 3, 0, o / 2) *
                 core(1, i / 2 % 3, r % 3, r / 3, 0) * core(2, i % 2, 0, r % 3, o % 2);
        }
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  const std::vector<Argument> args{MakeArgument("inp_sizes", in), MakeArgument("out_sizes", out),
                                   MakeArgument("tt_ranks", ranks)};
  RunOp(&ws, Op("TT", {"X", "b", "cores"}, {"Y"}, args));
  ExpectTensor(ws, "Y", {4, 6}, y, 1e-4f, 1e-5f);
  ExpectThrows(&ws, Op("TT", {"b", "b", "cores"}, {"Y"}, args), "found shape [6]");
  ExpectThrows(&ws, Op("TT", {"X", "X", "cores"}, {"Y"}, args), "for out_sizes");
  ExpectThrows(&ws, Op("TT", {"X", "b", "b"}, {"Y"}, args), "cores");
  std::vector<Argument> bad = args;
  bad[2] = MakeArgument("tt_ranks", std::vector<int>{1, 2, 1});
  ExpectThrows(&ws, Op("TT", {"X", "b", "cores"}, {"Y"}, bad), "one more");
  bad[2] = MakeArgument("tt_ranks", std::vector<int>{2, 2, 3, 1});
  ExpectThrows(&ws, Op("TT", {"X", "b", "cores"}, {"Y"}, bad),
               "the first and last of tt_ranks must be 1, found 2 and 1");
  bad[2] = MakeArgument("tt_ranks", std::vector<int>{1, 0, 3, 1});
  ExpectThrows(&ws, Op("TT", {"X", "b", "cores"}, {"Y"}, bad), "rank");
}

}  // namespace
}  // namespace caffe2::testing
