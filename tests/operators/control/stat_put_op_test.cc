#include <limits>
#include <map>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// The statistics of the process, which start again at 0.
std::map<std::string, int64_t> Export() {
  Workspace ws;
  RunOp(&ws, Op("StatRegistryExport", {}, {"keys", "values", "times"}), true);
  const auto keys = FetchValues<std::string>(ws, "keys");
  const auto values = FetchValues<int64_t>(ws, "values");
  for (const char* name : {"keys", "values"}) NoteCompared(ws, name);  // by each caller
  std::map<std::string, int64_t> sums;
  for (size_t i = 0; i < keys.size(); ++i) sums[keys[i]] = values[i];
  return sums;
}

OperatorDef Put(const std::string& type, const std::string& name, std::vector<Argument> args = {}) {
  args.push_back(MakeArgument("stat_name", name));
  return Op(type, {"v"}, {}, args);
}

TEST(StatPutTest, AddsToTheStatisticsOfTheProcess) {
  Workspace ws;
  const auto expand = MakeArgument("magnitude_expand", 100);
  for (const float value : {1.259f, 3.f, -2.f}) {
    Feed<float>(&ws, "v", {1}, {value});
    RunOp(&ws, Put("AveragePut", "mean", {expand}), true);
    RunOp(&ws, Put("IncrementPut", "total", {expand}), true);
    RunOp(&ws, Put("StdDevPut", "deviation", {expand}), true);
  }
  auto sums = Export();
  EXPECT_EQ(sums.at("mean/stat_value/sum"), 125 + 300 - 200);
  EXPECT_EQ(sums.at("mean/stat_value/count"), 3);
  EXPECT_EQ(sums.at("total/stat_value"), 125 + 300 - 200);
  EXPECT_EQ(sums.at("deviation/stat_value/sum"), 125 + 300 - 200);
  EXPECT_EQ(sums.at("deviation/stat_value/count"), 3);
  EXPECT_EQ(sums.at("deviation/stat_value/sumoffset"), 175 - 325);
  EXPECT_EQ(sums.at("deviation/stat_value/sumsqoffset"), 175 * 175 + 325 * 325);
  Feed<int64_t>(&ws, "v", {2}, {5, 6});
  RunOp(&ws, Op("IncrementPut", {"v"}, {}), true);
  EXPECT_EQ(Export().at("v/stat_value"), 5);
}

TEST(StatPutTest, TakesEveryIntegerType) {
  Workspace ws;
  const auto put = [&ws](auto value, const std::string& name) {
    Feed<decltype(value)>(&ws, "v", {1}, {value});
    RunOp(&ws, Put("IncrementPut", name), true);
  };
  put(int8_t{-128}, "int8");
  put(uint8_t{255}, "uint8");
  put(int16_t{-32768}, "int16");
  put(uint16_t{65535}, "uint16");
  auto sums = Export();
  EXPECT_EQ(sums.at("int8/stat_value"), -128);
  EXPECT_EQ(sums.at("uint8/stat_value"), 255);
  EXPECT_EQ(sums.at("int16/stat_value"), -32768);
  EXPECT_EQ(sums.at("uint16/stat_value"), 65535);
}

TEST(StatPutTest, BoundsWhatDoesNotFit) {
  Workspace ws;
  const std::vector<Argument> bound{MakeArgument("bound", 1), MakeArgument("magnitude_expand", 10)};
  constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
  Feed<double>(&ws, "v", {}, {1e18});
  ExpectThrows(&ws, Put("AveragePut", "large", {bound[1]}), "cannot be 1e+18 times 10");
  for (int i = 0; i < 2; ++i) RunOp(&ws, Put("StdDevPut", "large", bound), true);
  auto sums = Export();
  EXPECT_EQ(sums.at("large/stat_value/sum"), kMaxInt64);
  EXPECT_EQ(sums.at("large/stat_value/count"), 2);
  Feed<double>(&ws, "v", {}, {-1e18});
  RunOp(&ws, Put("StdDevPut", "large", bound), true);
  sums = Export();
  EXPECT_EQ(sums.at("large/stat_value/sum"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(sums.at("large/stat_value/sumsqoffset"), kMaxInt64);
  Feed<double>(&ws, "v", {}, {std::numeric_limits<double>::quiet_NaN()});
  RunOp(&ws, Put("IncrementPut", "nan", bound), true);
  EXPECT_EQ(Export().at("nan/stat_value"), 0);
  ExpectThrows(&ws, Put("IncrementPut", "nan"), "nan");
}

TEST(StatPutTest, KeepsIntegersExact) {
  Workspace ws;
  constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLarge = (int64_t{1} << 60) + 1;  // no double
  for (const int64_t value : {kLarge, kLarge - 3, kLarge + 100000001}) {
    Feed<int64_t>(&ws, "v", {1}, {value});
    RunOp(&ws, Put("StdDevPut", "exact"));
  }
  auto sums = Export();
  EXPECT_EQ(sums.at("exact/stat_value/sum"), 3 * kLarge + 99999998);
  EXPECT_EQ(sums.at("exact/stat_value/sumoffset"), 99999998);
  EXPECT_EQ(sums.at("exact/stat_value/sumsqoffset"), 9 + 10000000200000001);
  RunOp(&ws, Put("IncrementPut", "times", {MakeArgument("magnitude_expand", -3)}));
  EXPECT_EQ(Export().at("times/stat_value"), -3 * (kLarge + 100000001));
  Feed<int64_t>(&ws, "v", {1}, {kMaxInt64});
  RunOp(&ws, Put("IncrementPut", "most"));
  EXPECT_EQ(Export().at("most/stat_value"), kMaxInt64);
}

TEST(StatPutTest, BoundsIntegersThatDoNotFit) {
  Workspace ws;
  const std::vector<Argument> bound{MakeArgument("bound", 1), MakeArgument("magnitude_expand", 8)};
  constexpr int64_t kLarge = int64_t{1} << 60;
  Feed<int64_t>(&ws, "v", {1}, {kLarge});
  ExpectThrows(&ws, Put("IncrementPut", "up", {bound[1]}), "cannot be 1152921504606846976 times 8");
  RunOp(&ws, Put("IncrementPut", "up", bound));
  EXPECT_EQ(Export().at("up/stat_value"), std::numeric_limits<int64_t>::max());
  Feed<int64_t>(&ws, "v", {1}, {-kLarge - 1});
  RunOp(&ws, Put("IncrementPut", "down", bound));
  EXPECT_EQ(Export().at("down/stat_value"), std::numeric_limits<int64_t>::min());
}

TEST(StatPutTest, TakesADefaultForNothing) {
  Workspace ws;
  Feed<float>(&ws, "v", {0}, {});
  RunOp(&ws, Put("AveragePut", "empty", {MakeArgument("default_value", 16.f)}), true);
  EXPECT_EQ(Export().at("empty/stat_value/sum"), 16);
  ExpectThrows(&ws, Put("AveragePut", "empty"), "default_value");
}

}  // namespace
}  // namespace caffe2::testing
