#include "caffe2/utils/plan_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "caffe2/core/logging.h"
#include "tests/core/log_lines.h"

namespace caffe2 {
namespace {

class PlanCacheTest : public ::testing::Test {
 protected:
  PlanCacheTest() {
    std::string name = ::testing::TempDir() + "/plans.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~PlanCacheTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(PlanCacheTest, FindsWhatAnotherProcessAdded) {
  const PlanCache writer(folder_), reader(folder_);
  EXPECT_FALSE(reader.Find("a b"));
  writer.Add("a b", "one\ntwo");
  writer.Add("c", "");
  EXPECT_EQ(reader.Find("a b"), "one\ntwo");
  EXPECT_EQ(reader.Find("c"), "");
  EXPECT_FALSE(reader.Find("a"));
  writer.Add("a b", "three");
  EXPECT_EQ(reader.Find("a b"), "three");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 2) << "temporary files stay behind";
}

TEST_F(PlanCacheTest, ThreadsMayAddTheSameKey) {
  const testing::LogLines lines;
  const PlanCache cache(folder_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 500; ++i) cache.Add("key", std::string(1000, static_cast<char>('a' + t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.Count("cannot keep"), 0);
  const std::string found = cache.Find("key").value_or("");
  EXPECT_EQ(found, std::string(1000, found.empty() ? 'a' : found[0]));
}

TEST_F(PlanCacheTest, AFileOfAnotherKeyIsNoAnswer) {
  const PlanCache cache(folder_);
  cache.Add("key", "text");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::ofstream(entry.path()) << "another key\ntext";
  }
  EXPECT_FALSE(cache.Find("key"));
}

TEST_F(PlanCacheTest, AMissingFolderStopsNothing) {
  const PlanCache none(""), missing(folder_ + "/missing");
  for (const PlanCache* cache : {&none, &missing}) {
    cache->Add("key", "text");
    EXPECT_FALSE(cache->Find("key"));
  }
}

TEST(FastestOfTest, TakesTheLeastMedian) {
  // Candidate 1 is best but for one outlier; candidate 2 has the least single time.
  const std::vector<std::vector<double>> times = {
      {9, 5, 5, 5, 5}, {9, 4, 90, 4, 4}, {9, 6, 6, 1, 6}};
  std::vector<int> round(3, 0);
  EXPECT_EQ(FastestOf(3, [&](int i) { return times[i][round[i]++]; }), 1);
}

TEST(FirstThatWorksTest, PassesOverWhatFails) {
  std::vector<int> attempts;
  EXPECT_EQ(FirstThatWorks(4,
                           [&](int i) {
                             attempts.push_back(i);
                             if (i < 2) throw Error("broken");
                           }),
            2);
  EXPECT_EQ(attempts, (std::vector<int>{0, 1, 2}));
  try {
    FirstThatWorks(2, [](int i) { throw Error(i == 0 ? "broken" : "worse"); });
    FAIL() << "both failed";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("worse"), std::string::npos) << error.what();
  }
}

TEST(FastestOfTest, DoesNotWaitForWhatIsManyTimesSlower) {
  // The first turn, in which a candidate may be loaded, does not decide alone.
  const std::vector<std::vector<double>> times = {
      {90, 5, 5, 5, 5}, {50, 50}, {90, 4, 4, 4, 4}, {5, 90, 6, 6, 6}};
  std::vector<size_t> turns(4, 0);
  EXPECT_EQ(FastestOf(4, [&](int i) { return times[i].at(turns[i]++); }), 2);
  EXPECT_EQ(turns, (std::vector<size_t>{5, 2, 5, 5}));
}

TEST(FastestOfTest, PassesOverWhatFails) {
  EXPECT_EQ(FastestOf(2,
                      [](int i) {
                        if (i == 0) throw Error("broken");
                        return 1.0;
                      }),
            1);
  EXPECT_THROW(FastestOf(1, [](int) -> double { throw Error("broken"); }), EnforceNotMet);
  EXPECT_THROW(FastestOf(0, [](int) { return 1.0; }), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
