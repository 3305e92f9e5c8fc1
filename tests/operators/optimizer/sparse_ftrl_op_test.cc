#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, FtrlUpdatesRowsAsTheDenseOneDoes) {
  FeedRandom(&ws, "nz", {5, 3, 2}, 7, 0.1f, 1);
  ExpectSameAsDense(Op("SparseFtrl", {"p", "nz", "i", "g"}, {"p", "nz"}),
                    Op("Ftrl", {"p", "nz", "g"}, {"p", "nz"}), {"p", "nz"});
  Feed<float>(&ws, "alpha", {1}, {0.3f});
  ExpectSameAsDense(Op("SparseFtrl", {"p", "nz", "i", "g", "alpha"}, {"p", "nz"}),
                    Op("Ftrl", {"p", "nz", "g", "alpha"}, {"p", "nz"}), {"p", "nz"});
}

TEST_F(SparseOptimizerTest, FtrlRejectsBadInput) {
  ExpectThrows(&ws, Op("SparseFtrl", {"p", "v", "i", "g"}, {"p", "v"}),
               "n_z must have 2 values for each element of the parameter: it has shape [5, 3], the "
               "parameter [5, 3]");
}

}  // namespace
}  // namespace caffe2::testing
