#include "distributed/store_url.h"

#include <gtest/gtest.h>

#include "caffe2/core/usage_error.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

using Kind = StoreUrl::Kind;

TEST(StoreUrlTest, TheFormsOfAStore) {
  const StoreUrl tcp = ParseStoreUrl("tcp://10.0.0.5:29500");
  EXPECT_EQ(tcp.kind, Kind::kTcp);
  EXPECT_EQ(tcp.host, "10.0.0.5");
  EXPECT_EQ(tcp.port, 29500);
  EXPECT_EQ(tcp.num_ports, 1);
  EXPECT_EQ(ParseStoreUrl("tcp://[fe80::1%eth0]:1").host, "fe80::1%eth0");
  EXPECT_EQ(ParseStoreUrl("tcp://node_1.cluster:65535").port, 65535);

  const StoreUrl file = ParseStoreUrl("file:///shared/run 1");
  EXPECT_EQ(file.kind, Kind::kFile);
  EXPECT_EQ(file.path, "/shared/run 1");

  const StoreUrl redis = ParseStoreUrl("redis://shards:p%40ss:%25@[::1]:6380/3");
  EXPECT_EQ(redis.kind, Kind::kRedis);
  EXPECT_EQ(redis.user, "shards");
  EXPECT_EQ(redis.password, "p@ss:%");
  EXPECT_EQ(redis.host, "::1");
  EXPECT_EQ(redis.port, 6380);
  EXPECT_EQ(redis.database, 3);

  const StoreUrl short_one = ParseStoreUrl("redis://:secret@store/");
  EXPECT_EQ(short_one.user, "");
  EXPECT_EQ(short_one.password, "secret");
  EXPECT_EQ(short_one.port, 6379);
  EXPECT_EQ(short_one.database, 0);
}

TEST(StoreUrlTest, TextsShowNoPassword) {
  for (const char* text : {"tcp://10.0.0.5:29500", "tcp://[::1]:29500", "file:///shared/run",
                           "redis://store:6379", "redis://store:6380/3", "rediss://store:6379/1"}) {
    EXPECT_EQ(ParseStoreUrl(text).ToString(), text);
  }
  EXPECT_EQ(ParseStoreUrl("redis://u:secret@store/1").ToString(), "redis://store:6379/1");
  EXPECT_TRUE(ParseStoreUrl("rediss://store").tls);
  EXPECT_FALSE(ParseStoreUrl("redis://store").tls);
  StoreUrl range = ParseStoreUrl("tcp://a:29500");
  range.num_ports = 16;
  EXPECT_EQ(range.ToString(), "tcp://a:29500-29515");
  EXPECT_EQ(StoreUrl().ToString(), "");
}

TEST(StoreUrlTest, WrongTextsAreErrorsThatNameThemAndTheFix) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"10.0.0.5:29500", "must be tcp://host:port"},
      {"", "must be tcp://host:port"},
      {"http://a:1", "must be tcp://host:port"},
      {"tcp://", "not the name or the address of a host"},
      {"tcp://a", "the port is missing"},
      {"tcp://a:", "the port is \"\""},
      {"tcp://a:0", "from 1 to 65535"},
      {"tcp://a:65536", "from 1 to 65535"},
      {"tcp://a:-1", "the port is \"-1\""},
      {"tcp://a:99999999999999999999", "from 1 to 65535"},
      {"tcp://a:1?rank=0", "the port is \"1?rank=0\""},
      {"tcp://::1:29500", "in brackets"},
      {"tcp://-rf:1", "not the name"},
      {"tcp://a b:1", "not the name"},
      {"tcp://a\x1b[31m:1", "tcp://a [31m"},
      {"file://shared/run", "with three slashes"},
      {"file:///", "must be absolute"},
      {"redis://", "not the name"},
      {"redis://a/one", "\"one\" is not the number of a Redis database"},
      {"redis://a/-1", "not the number of a Redis database"},
      {"redis://a/99999999999", "not the number of a Redis database"},
      {"redis://:%4@a", "followed by two hexadecimal digits"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THROW(ParseStoreUrl(text), UsageError) << text;
    const std::string error = ErrorOf([&, url = text] { ParseStoreUrl(url); });
    EXPECT_HAS(error, expected);
    EXPECT_HAS(error, "--init_method");
    for (const char c : error) EXPECT_GE(c, ' ') << error;
  }
}

TEST(StoreUrlTest, ErrorsShowNoPassword) {
  for (const char* text : {"redis://:secret@a/one", "redis://:secret@a:0", "redis://:secret%@a",
                           "rediss://:secret@a:0", "http://:secret@a", "redis://:secret@",
                           "redis:/:secret@a", ":secret@a"}) {
    const std::string error = ErrorOf([&] { ParseStoreUrl(text); });
    EXPECT_EQ(error.find("secret"), std::string::npos) << error;
    EXPECT_HAS(error, "...@");
  }
}

}  // namespace
}  // namespace caffe2::testing
