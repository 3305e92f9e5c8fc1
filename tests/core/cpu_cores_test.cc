#include "caffe2/core/cpu_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace caffe2 {
namespace {

namespace fs = std::filesystem;

// A folder that stands for the mounted control groups.
class CpuCoresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "cgroups_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    mount_ = name;
  }
  void TearDown() override { fs::remove_all(mount_); }
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(mount_ + path).parent_path());
    std::ofstream(mount_ + path) << text << "\n";
  }
  // With `own_groups` as the text of /proc/self/cgroup.
  std::optional<double> Quota(const std::string& own_groups) const {
    Write("/own_groups", own_groups);
    return CoreQuota(mount_, mount_ + "/own_groups");
  }
  std::string mount_;
};

TEST_F(CpuCoresTest, AQuotaOfVersion2IsTheLeastOnTheWayUp) {
  Write("/cpu.max", "max 100000");
  Write("/pods/cpu.max", "150000 100000");
  Write("/pods/one/cpu.max", "400000 100000");
  EXPECT_EQ(Quota("0::/pods/one"), 1.5);
  EXPECT_EQ(Quota("0::/pods"), 1.5);
  EXPECT_EQ(Quota("0::/"), std::nullopt);
  EXPECT_EQ(Quota("0::/elsewhere"), std::nullopt);
}

TEST_F(CpuCoresTest, AQuotaOfVersion1IsFoundUnderItsController) {
  Write("/cpu,cpuacct/job/cpu.cfs_quota_us", "250000");
  Write("/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  Write("/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  Write("/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(Quota("7:memory:/job\n4:cpu,cpuacct:/job\n"), 2.5);
  EXPECT_EQ(Quota("4:cpu,cpuacct:/"), std::nullopt);
  EXPECT_EQ(Quota("4:cpuset:/job"), std::nullopt);
}

TEST_F(CpuCoresTest, DamagedFilesAreNoQuota) {
  Write("/cpu.max", "a lot");
  EXPECT_EQ(Quota("0::/"), std::nullopt);
  EXPECT_EQ(Quota("nonsense"), std::nullopt);
  EXPECT_EQ(CoreQuota(mount_, mount_ + "/no_such_file"), std::nullopt);
}

TEST_F(CpuCoresTest, ListsOfCoresAreWrittenAndReadBack) {
  EXPECT_EQ(FormatCores({}), "");
  EXPECT_EQ(FormatCores({5}), "5");
  EXPECT_EQ(FormatCores({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(ParseCores("0-3,8,10-11"), (CoreSet{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(ParseCores(""), CoreSet{});
  for (const char* text : {"x", "3-1", "1-", "-1", "1,,2", "1,", "0-99999999999", "70000", "1 2"}) {
    EXPECT_EQ(ParseCores(text), CoreSet{}) << text;
  }
}

TEST_F(CpuCoresTest, AProcessMayUseTheCoresOfItsMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int core = *AffinityCores().begin();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AffinityCores(), CoreSet{core});
  EXPECT_EQ(AvailableCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace caffe2
