#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PositionTest, EncodesWaves) {
  Workspace ws;
  Feed<int32_t>(&ws, "p", {2, 1}, {0, 7});
  std::vector<float> expected;
  for (const int p : {0, 7}) {
    for (int i = 0; i < 5; ++i) {
      const double angle = p / std::pow(100., i / 5.);
      expected.push_back(static_cast<float>(2 * (i % 2 == 0 ? std::sin(angle) : std::cos(angle))));
    }
  }
  RunOp(&ws, Op("SinusoidPositionEncoding", {"p"}, {"Y"},
                {MakeArgument("embedding_size", 5), MakeArgument<float>("alpha", 100.f),
                 MakeArgument<float>("amplitude", 2.f)}));
  ExpectTensor(ws, "Y", {2, 1, 5}, expected);
  ExpectThrows(&ws,
               Op("SinusoidPositionEncoding", {"p"}, {"Y"}, {MakeArgument("embedding_size", 0)}),
               "embedding_size");
}

}  // namespace
}  // namespace caffe2::testing
