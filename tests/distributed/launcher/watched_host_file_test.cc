#include "distributed/launcher/watched_host_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "tests/distributed/test_util.h"

namespace caffe2 {
namespace {

using Hosts = std::vector<HostSlots>;

using testing::TemporaryDirectory;

class WatchedHostFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/hosts";
};

TEST_F(WatchedHostFileTest, ReportsEachChangeOnce) {
  Write("a slots=2\n");
  WatchedHostFile file(path_, {{"a", 2}}, false);
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2  # a comment is no change\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2\nb:3\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"a", 2}, {"b", 3}}));
  EXPECT_FALSE(file.ReadIfChanged());
  Write("b:3\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"b", 3}}));
}

TEST_F(WatchedHostFileTest, AWrongOrMissingFileChangesNothing) {
  WatchedHostFile file(path_, {{"a", 2}}, false);
  EXPECT_FALSE(file.ReadIfChanged());  // missing
  Write("a slots=many\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=1\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"a", 1}}));
}

TEST_F(WatchedHostFileTest, ALocalRunTakesNoOtherHost) {
  WatchedHostFile file(path_, {{"localhost", 2}}, true);
  Write("localhost slots=2\nelsewhere slots=2\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("localhost slots=4\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"localhost", 4}}));
}

}  // namespace
}  // namespace caffe2
