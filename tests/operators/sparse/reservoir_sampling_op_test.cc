#include <cmath>
#include <map>

#include "operators/sparse/map_op.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class ReservoirSamplingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RunOp(&ws_, Op("CreateMutex", {}, {"mutex"}));
    RunOp(&ws_, Op("CreateMap", {}, {"places"},
                   {MakeArgument("key_dtype", static_cast<int>(TensorProto::INT64))}));
    Clear();
  }
  void Clear() {
    ws_.RemoveBlob("reservoir");
    ws_.CreateBlob("reservoir");
    Feed<int64_t>(&ws_, "visited", {}, {0});
    Feed<int64_t>(&ws_, "objects", {0}, {});
  }
  // Rows {i, -i} of each number i.
  void FeedRows(const std::string& name, const std::vector<float>& numbers) {
    std::vector<float> rows;
    for (const float i : numbers) rows.insert(rows.end(), {i, -i});
    Feed<float>(&ws_, name, {static_cast<int64_t>(numbers.size()), 2}, rows);
  }
  // The numbers in the reservoir, whose rows must be as they were fed.
  Longs Kept() {
    const auto rows = FetchValues<float>(ws_, "reservoir");
    NoteCompared(ws_, "reservoir");  // each test knows which rows there may be
    Longs numbers;
    for (size_t i = 0; i < rows.size(); i += 2) {
      EXPECT_EQ(rows[i], -rows[i + 1]);
      numbers.push_back(static_cast<int64_t>(rows[i]));
    }
    return numbers;
  }
  void ExpectVisited(int64_t count) {
    EXPECT_EQ(FetchValues<int64_t>(ws_, "visited"), Longs{count});
  }

  static OperatorDef Plain(int capacity) {
    return Op("ReservoirSampling", {"reservoir", "visited", "X", "mutex"}, {"reservoir", "visited"},
              {MakeArgument("num_to_collect", capacity)});
  }
  static OperatorDef ByObject(int capacity) {
    return Op(
        "ReservoirSampling", {"reservoir", "visited", "X", "mutex", "ids", "places", "objects"},
        {"reservoir", "visited", "places", "objects"}, {MakeArgument("num_to_collect", capacity)});
  }
  // The objects' bookkeeping must agree with the rows, whose numbers are their objects.
  void ExpectObjectsOfRows() {
    const auto objects = FetchValues<int64_t>(ws_, "objects");
    EXPECT_EQ(objects, Kept());
    const auto& places = ws_.GetBlob("places")->Get<MapInt64ToInt32>();
    ASSERT_EQ(places.size(), objects.size());
    for (size_t i = 0; i < objects.size(); ++i) EXPECT_EQ(places.at(objects[i]), i);
  }

  Workspace ws_;
};

TEST_F(ReservoirSamplingTest, FillsInOrderFirst) {
  FeedRows("X", {1, 2});
  ws_.RunOperatorOnce(Plain(4));
  EXPECT_EQ(Kept(), (Longs{1, 2}));
  FeedRows("X", {3, 4});
  RunOp(&ws_, Plain(4));  // now full, as inferred
  EXPECT_EQ(Kept(), (Longs{1, 2, 3, 4}));
  FeedRows("X", {});
  RunOp(&ws_, Plain(4));
  ExpectVisited(4);
}

TEST_F(ReservoirSamplingTest, KeepsEachRowEquallyOften) {
  constexpr int kTrials = 3000, kRows = 6, kCapacity = 2;
  std::map<int64_t, int> kept;
  OperatorDef op = Plain(kCapacity);
  for (int trial = 0; trial < kTrials; ++trial) {
    Clear();
    op.mutable_device_option()->set_random_seed(trial + 1);
    FeedRows("X", {0, 1, 2, 3, 4, 5});
    ws_.RunOperatorOnce(op);
    for (const int64_t i : Kept()) ++kept[i];
    ExpectVisited(kRows);
  }
  const double share = static_cast<double>(kCapacity) / kRows;
  const double deviation = std::sqrt(kTrials * share * (1 - share));
  for (int i = 0; i < kRows; ++i) EXPECT_NEAR(kept[i], kTrials * share, 5 * deviation) << i;
}

TEST_F(ReservoirSamplingTest, TakesEachObjectOnce) {
  FeedRows("X", {1, 2, 3, 1, 2});
  Feed<int64_t>(&ws_, "ids", {5}, {1, 2, 3, 1, 2});
  RunOp(&ws_, ByObject(3));
  EXPECT_EQ(Kept(), (Longs{1, 2, 3}));
  ExpectVisited(3);
  ExpectObjectsOfRows();
  RunOp(&ws_, ByObject(3));  // all are there
  ExpectVisited(3);
  for (int64_t batch = 0; batch < 20; ++batch) {
    const auto first = static_cast<float>(10 + 3 * batch);
    FeedRows("X", {first, 1, first + 1, first, first + 2});
    const auto id = static_cast<int64_t>(first);
    Feed<int64_t>(&ws_, "ids", {5}, {id, 1, id + 1, id, id + 2});
    RunOp(&ws_, ByObject(3));
    ExpectObjectsOfRows();
  }
  EXPECT_GE(FetchValues<int64_t>(ws_, "visited").at(0), 3 + 20 * 3);
  // An empty reservoir starts anew, whatever was left of the bookkeeping.
  ws_.RemoveBlob("reservoir");
  ws_.CreateBlob("reservoir");
  RunOp(&ws_, ByObject(3));
  ExpectVisited(4);
  ExpectObjectsOfRows();
}

TEST_F(ReservoirSamplingTest, RefusesWhatDoesNotFit) {
  FeedRows("X", {1, 2});
  ExpectThrows(&ws_, Plain(0), "num_to_collect");
  Feed<int64_t>(&ws_, "ids", {1}, {1});
  ExpectThrows(&ws_, ByObject(3), "OBJECT_ID");
  ws_.RunOperatorOnce(Plain(3));
  Feed<int64_t>(&ws_, "visited", {}, {5});
  ExpectThrows(&ws_, Plain(3),
               "the reservoir must hold as many rows as were collected: it has 2 rows after 5 "
               "visits with num_to_collect 3");
  Feed<int64_t>(&ws_, "visited", {}, {2});
  Feed<float>(&ws_, "X", {1, 3}, {1, 2, 3});
  ExpectThrows(&ws_, Plain(3), "do not fit");
  Feed<float>(&ws_, "X", {}, {1});
  ExpectThrows(&ws_, Plain(3), "must have at least one axis");
}

}  // namespace
}  // namespace caffe2::testing
