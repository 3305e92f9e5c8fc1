#include <algorithm>
#include <set>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(UniqueUniformFillOpTest, DrawsDifferentNumbers) {
  Workspace ws;
  Feed<float>(&ws, "like", {8}, std::vector<float>(8));
  Feed<int32_t>(&ws, "avoid", {3}, {3, 4, 99});
  RunOp(&ws, Op("UniqueUniformFill", {"like", "avoid"}, {"Y"}, {MakeArgument("max", 9)}));
  std::vector<int32_t> values = FetchValues<int32_t>(ws, "Y");
  std::sort(values.begin(), values.end());
  NoteCompared(ws, "Y");
  EXPECT_EQ(values, (std::vector<int32_t>{0, 1, 2, 5, 6, 7, 8, 9}));
  ExpectThrows(&ws, Op("UniqueUniformFill", {"like", "avoid"}, {"Y"}, {MakeArgument("max", 8)}),
               "there are fewer than 8");
  Feed<float>(&ws, "one", {1}, {0});
  Feed<int32_t>(&ws, "all", {2}, {0, 1});
  ExpectThrows(&ws, Op("UniqueUniformFill", {"one", "all"}, {"Y"}, {MakeArgument("max", 1)}),
               "there are fewer than 1 different values from 0 to 1, without the 2 to avoid");
  RunOp(&ws, Op("UniqueUniformFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{100}), MakeArgument("min", INT64_MIN),
                 MakeArgument("max", INT64_MAX),
                 MakeArgument("dtype", static_cast<int>(TensorProto::INT64))}));
  const auto wide = FetchValues<int64_t>(ws, "Y");
  EXPECT_EQ(std::set<int64_t>(wide.begin(), wide.end()).size(), 100u);
  ExpectThrows(&ws, Op("UniqueUniformFill", {}, {"Y"}, {MakeArgument("dtype", 1)}), "INT32");
}

}  // namespace
}  // namespace caffe2::testing
