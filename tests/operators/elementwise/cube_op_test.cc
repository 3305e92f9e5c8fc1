#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kCube{"Cube", [](double x) { return x * x * x; }, -2, 2};

TEST(CubeTest, MatchesReference) { ExpectUnaryReference(kCube); }
TEST(CubeTest, GradientIsNumericOne) { CheckUnaryGradient(kCube); }

}  // namespace
}  // namespace caffe2::testing
