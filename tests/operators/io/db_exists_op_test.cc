#include <gtest/gtest.h>

#include "tests/db/temporary_directory.h"
#include "tests/operators/io/load_save_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class DBExistsOpTest : public LoadSaveTest {};

TEST_P(DBExistsOpTest, DBExists) {
  const auto expect_exists = [&](const std::string& name, bool expected) {
    RunOp(&ws_, Op("DBExists", {}, {"exists"},
                   {MakeArgument<std::string>("db_name", directory_.Path(name)),
                    MakeArgument<std::string>("db_type", GetParam()),
                    MakeArgument<int>("absolute_path", 1)}));
    EXPECT_EQ(FetchValues<bool>(ws_, "exists"), Flags{expected});
  };
  expect_exists("db", false);
  Feed<float>(&ws_, "a", {1}, {1});
  Save({"a"}, "db");
  expect_exists("db", true);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, DBExistsOpTest, ::testing::Values("lmdb", "leveldb", "minidb"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace caffe2::testing
