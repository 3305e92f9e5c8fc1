#include "distributed/launcher/host_slots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"

namespace caffe2 {
namespace {

using Hosts = std::vector<HostSlots>;

TEST(HostSlotsTest, ParsesLists) {
  EXPECT_EQ(ParseHosts("-H", "a:2,b"), (Hosts{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(ParseHosts("-H", "n[1-2,7]:4,m"), (Hosts{{"n1", 4}, {"n2", 4}, {"n7", 4}, {"m", 1}}));
  EXPECT_EQ(ParseHosts("-H", "a:2,b:1,a:3"), (Hosts{{"a", 5}, {"b", 1}}));
  EXPECT_EQ(TotalSlots({{"a", 5}, {"b", 1}}), 6);
}

TEST(HostSlotsTest, RefusesOthers) {
  for (const char* text :
       {"", "a:", "a:0", "a:x", "a:-1", "a:5000", "a,,b", "n[1", ":2", "-oProxyCommand=x:1"}) {
    EXPECT_THROW(ParseHosts("-H", text), UsageError) << text;
  }
}

TEST(HostSlotsTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "hosts." + std::to_string(getpid());
  std::ofstream(path) << "# two hosts\na slots=2\n\nb:3  # fast\nc\n";
  EXPECT_EQ(ReadHostFile(path), (Hosts{{"a", 2}, {"b", 3}, {"c", 1}}));
  std::ofstream(path) << "a\nb cores=2\n";
  try {
    ReadHostFile(path);
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("line 2: \"b cores=2\""), std::string::npos)
        << error.what();
  }
  std::ofstream(path) << "# none\n";
  EXPECT_THROW(ReadHostFile(path), UsageError);
  std::remove(path.c_str());
  try {
    ReadHostFile(path);
    ADD_FAILURE();
  } catch (const IoError& error) {
    EXPECT_EQ(ExitCodeOf(error), ExitCode::kNoInput);
  }
}

TEST(HostSlotsTest, PlacesFillHostsInOrder) {
  const auto places = PlaceShards({{"a", 2}, {"b", 3}, {"c", 1}}, 4);
  ASSERT_EQ(places.size(), 4u);
  const char* hosts[] = {"a", "a", "b", "b"};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(places[i].host, hosts[i]);
    EXPECT_EQ(places[i].local_rank, static_cast<int>(i % 2));
    EXPECT_EQ(places[i].local_size, 2);
  }
  EXPECT_THROW(PlaceShards({{"a", 2}}, 3), UsageError);
  EXPECT_THROW(PlaceShards({{"a", 2}}, 0), UsageError);
}

TEST(HostSlotsTest, KnowsThisHost) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  for (const std::string host : {"localhost", "127.0.0.1", "::1", static_cast<const char*>(name)}) {
    EXPECT_TRUE(IsThisHost(host)) << host;
  }
  EXPECT_FALSE(IsThisHost("host.invalid"));
}

}  // namespace
}  // namespace caffe2
