#include <mutex>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class LastNWindowCollectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ws_.CreateBlob("window");
    Feed<int32_t>(&ws_, "next", {}, {0});
  }
  // Rows [first, first + count) of the stream, in which row i is {i, -i}.
  void Collect(int first, int count) {
    std::vector<float> rows;
    for (int i = first; i < first + count; ++i) {
      rows.push_back(static_cast<float>(i));
      rows.push_back(static_cast<float>(-i));
    }
    Feed<float>(&ws_, "X", {count, 2}, rows);
    ASSERT_TRUE(ws_.RunOperatorOnce(op_));
  }
  void ExpectWindow(const std::vector<int>& rows, int next) {
    std::vector<float> expected;
    for (const int i : rows) {
      expected.push_back(static_cast<float>(i));
      expected.push_back(static_cast<float>(-i));
    }
    ExpectTensor(ws_, "window", {static_cast<int64_t>(rows.size()), 2}, expected);
    EXPECT_EQ(FetchValues<int32_t>(ws_, "next"), std::vector<int32_t>{next});
  }

  const Argument size_ = MakeArgument("num_to_collect", 5);
  OperatorDef op_ =
      Op("LastNWindowCollector", {"window", "next", "X"}, {"window", "next"}, {size_});
  Workspace ws_;
};

TEST_F(LastNWindowCollectorTest, KeepsTheLastRows) {
  Collect(1, 3);
  ExpectWindow({1, 2, 3}, 3);
  Collect(4, 3);
  ExpectWindow({6, 2, 3, 4, 5}, 1);
  Collect(7, 0);
  ExpectWindow({6, 2, 3, 4, 5}, 1);
  Collect(7, 4);
  ExpectWindow({6, 7, 8, 9, 10}, 0);
}

TEST_F(LastNWindowCollectorTest, OfLargeInputsTheLastRowsCount) {
  Collect(1, 8);
  ExpectWindow({4, 5, 6, 7, 8}, 0);
  Collect(9, 2);
  Collect(11, 6);
  ExpectWindow({15, 16, 12, 13, 14}, 2);
}

TEST_F(LastNWindowCollectorTest, CountsUnderAMutex) {
  RunOp(&ws_, Op("CreateMutex", {}, {"mutex"}));
  Feed<int64_t>(&ws_, "visited", {}, {10});
  op_ = Op("LastNWindowCollector", {"window", "next", "X", "mutex", "visited"},
           {"window", "next", "visited"}, {size_});
  Collect(1, 3);
  Collect(4, 7);
  ExpectWindow({8, 9, 10, 6, 7}, 3);
  EXPECT_EQ(FetchValues<int64_t>(ws_, "visited"), std::vector<int64_t>{20});
}

TEST_F(LastNWindowCollectorTest, InfersTheFullWindow) {
  Collect(1, 4);
  Feed<float>(&ws_, "X", {1, 2}, {5, -5});
  RunOp(&ws_, op_);  // now it is full
  ExpectWindow({1, 2, 3, 4, 5}, 0);
}

TEST_F(LastNWindowCollectorTest, RefusesWhatDoesNotFit) {
  Collect(1, 2);
  Feed<float>(&ws_, "X", {1, 3}, {1, 2, 3});
  ExpectThrows(&ws_, op_, "do not fit");
  Feed<int32_t>(&ws_, "X", {1, 2}, {1, 2});
  ExpectThrows(&ws_, op_, "do not fit");
  Feed<float>(&ws_, "X", {}, {1});
  ExpectThrows(&ws_, op_, "must have at least one axis");
  Feed<float>(&ws_, "X", {1, 2}, {1, 2});
  for (const int32_t next : {-1, 5, 4}) {
    Feed<int32_t>(&ws_, "next", {}, {next});
    ExpectThrows(
        &ws_, op_,
        (next == 4 ? "next is " : "less than num_to_collect (5), found ") + std::to_string(next));
  }
  ExpectThrows(&ws_, Op("LastNWindowCollector", {"window", "next", "X"}, {"window", "next"}),
               "num_to_collect");
  ExpectThrows(&ws_,
               Op("LastNWindowCollector", {"window", "next", "X"}, {"window", "next"},
                  {MakeArgument("num_to_collect", 0)}),
               "num_to_collect");
}

}  // namespace
}  // namespace caffe2::testing
