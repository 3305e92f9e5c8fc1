#include "distributed/redis_store_handler.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// A server that answers everything with one fixed text, then closes the connection. If `byte_ms` is
// not 0, it waits that long before each byte.
class FakeServer {
 public:
  explicit FakeServer(std::string answer, int byte_ms = 0)
      : answer_(std::move(answer)), byte_ms_(byte_ms) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    options_.port = ntohs(address.sin_port);
    options_.connect_timeout = options_.command_timeout = milliseconds(200);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  const RedisOptions& options() const { return options_; }

 private:
  void Serve() {
    int fd;
    while ((fd = accept(listener_, nullptr, nullptr)) >= 0) {
      char command[4096];
      if (recv(fd, command, sizeof command, 0) > 0) {
        Answer(fd);
      }
      close(fd);
    }
  }
  void Answer(int fd) {
    const size_t step = byte_ms_ == 0 ? answer_.size() : 1;
    for (size_t sent = 0; sent < answer_.size(); sent += step) {
      SleepMs(byte_ms_);
      if (send(fd, answer_.data() + sent, step, MSG_NOSIGNAL) < 0) return;
    }
  }

  const std::string answer_;
  const int byte_ms_;
  int listener_;
  RedisOptions options_;
  std::thread thread_;
};

TEST(RedisStoreHandlerTest, ErrorsShowTheServersWordsAndAdvice) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"-NOAUTH Authentication required.\r\n", "NOAUTH Authentication required. [the server needs"},
      {"-DENIED Redis is running in protected mode\r\n", "Set requirepass in redis.conf"},
      {"-READONLY You can't write against a read only replica.\r\n", "use its primary"},
      {"-OOM command not allowed when used memory > 'maxmemory'.\r\n", "maxmemory is reached"},
      {"-MISCONF Errors writing to the RDB\r\n", "cannot save to its disk"},
      {"-NOPERM this user has no permissions\r\n", "lacks a permission"},
      {"-ERR \x1b[31mred\x07\r\n", "ERR  [31mred"},
  };
  for (const auto& [answer, text] : cases) {
    FakeServer server(answer);
    auto store = NewRedisStore(server.options(), "run");
    const std::string error = ErrorOf([&] { store->Put("key", "value"); });
    EXPECT_HAS(error, text);
    EXPECT_HAS(error, MakeString("redis 127.0.0.1:", server.options().port, ": SET: "));
    for (const char c : error) EXPECT_GE(c, ' ');
  }
}

TEST(RedisStoreHandlerTest, HostileAnswersAreErrors) {
  for (const char* answer :
       {"", "\x16\x03\x01 not redis at all", ":5\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "$5\r\nab",
        "$-7\r\n", "*-9\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
        ":99999999999999999999999\r\n", "+OK\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    FakeServer server(answer);
    auto store = NewRedisStore(server.options(), "run");
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(store->TryGet("key"), IoError) << answer;
    EXPECT_LT(SecondsSince(start), 0.2 + kSlackSeconds) << answer;
  }
}

// The time limit holds for the whole answer, not for each part of it.
TEST(RedisStoreHandlerTest, SlowAnswersEndAtTheDeadline) {
  FakeServer server("$30\r\n" + std::string(30, 'a') + "\r\n", 100);
  auto store = NewRedisStore(server.options(), "run");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "no answer to GET in time");
  EXPECT_LT(SecondsSince(start), 3.0);  // the whole answer takes 3.7 s
}

TEST(RedisStoreHandlerTest, AnAnswerThatIsNoTlsIsFinal) {
  for (const char* answer :
       {"-DENIED Redis is running in protected mode\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"}) {
    FakeServer server(answer);
    RedisOptions options = server.options();
    options.tls = true;
    try {
      NewRedisStore(options, "run");
      FAIL();
    } catch (const StoreUnreachable& error) {
      FAIL() << error.what();  // which would be tried again
    } catch (const IoError& error) {
      EXPECT_HAS(std::string(error.what()), "the server speaks no TLS on this port");
    }
  }
}

TEST(RedisStoreHandlerTest, HugeAnswersAreNotRead) {
  FakeServer server("$536870912\r\n" + std::string(8 << 20, 'a'));
  auto store = NewRedisStore(server.options(), "run");
  EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "the answer is longer than 66560 bytes");
}

// Their length comes first, and memory for all elements would be taken at once.
TEST(RedisStoreHandlerTest, HugeArraysAreRefusedByTheirLength) {
  for (const std::string answer : {"*2147483647\r\n", "*16641\r\n", "*1\r\n*2147483647\r\n"}) {
    FakeServer server(answer);
    auto store = NewRedisStore(server.options(), "run");
    EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "the answer is too long") << answer;
  }
}

TEST(RedisStoreHandlerTest, ValuesHaveAMaximumLength) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  auto store = NewRedisStore(redis.options(), "run");
  const std::string longest(StoreHandler::kMaxValueBytes, 'a');
  store->Put("key", longest);
  EXPECT_EQ(store->TryGet("key"), longest);
  EXPECT_HAS(ErrorOf([&] { store->Put("key", longest + "a"); }),
             MakeString("the value of store key key has ", longest.size() + 1, " bytes, more than ",
                        longest.size()));
}

TEST(RedisStoreHandlerTest, AbsentServerIsNamedWithinTheConnectTimeout) {
  RedisOptions options;
  {
    FakeServer gone("");
    options = gone.options();
  }
  options.connect_timeout = milliseconds(600);
  const auto start = std::chrono::steady_clock::now();
  const std::string error = ErrorOf([&] { NewRedisStore(options, "run"); });
  EXPECT_LT(SecondsSince(start), 0.6 + kSlackSeconds);
  EXPECT_HAS(error, MakeString("cannot connect to redis 127.0.0.1:", options.port));
  EXPECT_HAS(error, "Connection refused");
  options.port = 70000;
  EXPECT_THROW(NewRedisStore(options, "run"), EnforceNotMet);
}

TEST(RedisStoreHandlerTest, Passwords) {
  PrivateRedis redis({"--requirepass", "secret"});
  REQUIRE_REDIS(redis);
  RedisOptions options = redis.options();
  EXPECT_HAS(ErrorOf([&] { NewRedisStore(options, "run")->Put("key", "1"); }), "NOAUTH");
  options.password = "wrong";
  const std::string error = ErrorOf([&] { NewRedisStore(options, "run"); });
  EXPECT_HAS(error, "WRONGPASS");
  EXPECT_EQ(error.find("AUTH wrong"), std::string::npos);
  options.password = "secret";
  NewRedisStore(options, "run")->Set("key", "1");
  options.user = "default";
  EXPECT_EQ(NewRedisStore(options, "run")->Get("key"), "1");
  options.database = 3;
  EXPECT_EQ(NewRedisStore(options, "run")->TryGet("key"), std::nullopt);
  options.database = 99;
  EXPECT_HAS(ErrorOf([&] { NewRedisStore(options, "run"); }), "SELECT: ERR DB index");
}

TEST(RedisStoreHandlerTest, WrongTypeShowsTheServersWords) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  auto store = NewRedisStore(redis.options(), "run");
  store->SetFields("key", {{"a", "b"}}, milliseconds(0));
  EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "WRONGTYPE");
  store->Set("text", "not a number");
  EXPECT_HAS(ErrorOf([&] { store->Add("text", 1); }), "ERR value is not an integer");
  EXPECT_EQ(store->LocalAddress(), "127.0.0.1");
}

TEST(RedisStoreHandlerTest, StoppedServerHonoursTheDeadlineAndContinuesAfterwards) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  RedisOptions options = redis.options();
  options.command_timeout = milliseconds(700);
  auto store = NewRedisStore(options, "run");
  redis.Signal(SIGSTOP);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_HAS(ErrorOf([&] { store->TryGet("key"); }), "no answer to GET in time");
  EXPECT_GE(SecondsSince(start), 0.65);
  EXPECT_LT(SecondsSince(start), 0.7 + kSlackSeconds);
  redis.Signal(SIGCONT);
  EXPECT_TRUE(store->SetIfAbsent("key", "1"));
  EXPECT_EQ(store->Get("key"), "1");
}

TEST(RedisStoreHandlerTest, DeadlinesReplaceTheCommandTimeout) {
  PrivateRedis redis;
  REQUIRE_REDIS(redis);
  RedisOptions options = redis.options();
  options.command_timeout = milliseconds(200);
  auto store = NewRedisStore(options, "run");
  redis.Signal(SIGSTOP);
  store->SetDeadline(Deadline(milliseconds(20000)));
  std::thread waker([&] {
    SleepMs(1200);
    redis.Signal(SIGCONT);
  });
  EXPECT_TRUE(store->SetIfAbsent("key", "1"));  // also if an attempt before was carried out late
  waker.join();
  EXPECT_EQ(store->Get("key"), "1");
  redis.Signal(SIGSTOP);
  store->SetDeadline(Deadline(milliseconds(1500)));
  const auto start = std::chrono::steady_clock::now();
  const std::string error = ErrorOf([&] { store->TryGet("key"); });
  EXPECT_HAS(error, "no answer to GET in time; tried for ");
  EXPECT_GE(SecondsSince(start), 1.3);
  EXPECT_LT(SecondsSince(start), 1.5 + kSlackSeconds);
  redis.Signal(SIGCONT);
}

TEST(RedisStoreHandlerTest, ReconnectsToARestartedServer) {
  auto redis = std::make_unique<PrivateRedis>();
  REQUIRE_REDIS(*redis);
  const RedisOptions options = redis->options();
  auto store = NewRedisStore(options, "run");
  store->Set("key", "1");
  redis.reset();
  std::thread waiter([&] {
    EXPECT_TRUE(store->SetIfAbsent("key", "2"));  // the new server knows nothing of the old key
  });
  SleepMs(300);
  redis = std::make_unique<PrivateRedis>(std::vector<std::string>(), options.port);
  waiter.join();
}

}  // namespace
}  // namespace caffe2::testing
