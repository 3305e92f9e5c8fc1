#include "distributed/redis_store_handler.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "distributed/host.h"
#include "distributed/private_file.h"
#include "distributed/redis_connection.h"

namespace caffe2 {

namespace {

using Command = std::vector<std::string>;

constexpr milliseconds kFirstRetry{20}, kSlowestRetry{500};
constexpr milliseconds kWarnEvery{10000};
constexpr milliseconds kMinTime{1000};  // more than a healthy server ever needs

class RedisStoreHandler final : public StoreHandler {
 public:
  RedisStoreHandler(const RedisOptions& options, const std::string& prefix)
      : options_(options), prefix_(prefix.empty() ? "" : prefix + "/") {
    CAFFE_ENFORCE(!options.host.empty(), "the Redis host is empty");
    CAFFE_ENFORCE(options.port > 0 && options.port < 65536, "Redis port ", options.port,
                  " is not in [1, 65535]");
    CAFFE_ENFORCE(options.database >= 0,
                  "the number of the Redis database must not be negative, found ",
                  options.database);
    IgnoreBrokenPipes();
    Retry(options.connect_timeout, true, [](const Deadline&) {});
  }

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    CheckValueSize(key, value.size());
    bool tried = false;
    bool created = false;
    Retry(
        options_.command_timeout, true,
        [&](const Deadline& deadline) {
          RedisReply reply = connection_->Execute({"SET", prefix_ + key, value, "NX"}, deadline);
          created = reply->type == REDIS_REPLY_STATUS;
          // If the first reply was lost, the key may be there because this call made it.
          if (!created && tried) created = FetchString(key, deadline) == value;
        },
        [&] { tried = true; });
    return created;
  }

  void Put(const std::string& key, const std::string& value, milliseconds lifetime) override {
    CheckValueSize(key, value.size());
    Command command = {"SET", prefix_ + key, value};
    if (lifetime.count() > 0) {
      command.push_back("PX");
      command.push_back(std::to_string(lifetime.count()));
    }
    Run(command, REDIS_REPLY_STATUS);
  }

  std::optional<std::string> TryGet(const std::string& key) override {
    std::optional<std::string> value;
    Retry(options_.command_timeout, true,
          [&](const Deadline& deadline) { value = FetchString(key, deadline); });
    return value;
  }

  int64_t Add(const std::string& key, int64_t delta) override {
    int64_t sum = 0;
    // Not tried again once it was sent, because it might count twice.
    Retry(options_.command_timeout, false, [&](const Deadline& deadline) {
      RedisReply reply =
          connection_->Execute({"INCRBY", prefix_ + key, std::to_string(delta)}, deadline);
      ExpectType(*reply, REDIS_REPLY_INTEGER, "INCRBY");
      sum = reply->integer;
    });
    return sum;
  }

  bool Check(const std::vector<std::string>& keys) override {
    Command command = {"EXISTS"};
    for (const std::string& key : keys) command.push_back(prefix_ + key);
    return Run(command, REDIS_REPLY_INTEGER)->integer == static_cast<int64_t>(keys.size());
  }

  bool Remove(const std::string& key) override {
    return Run({"DEL", prefix_ + key}, REDIS_REPLY_INTEGER)->integer > 0;
  }

  void Expire(const std::string& key, milliseconds lifetime) override {
    Run({"PEXPIRE", prefix_ + key, std::to_string(lifetime.count())}, REDIS_REPLY_INTEGER);
  }

  void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                 milliseconds lifetime) override {
    Command command = {"HSET", prefix_ + key};
    for (const auto& [name, value] : fields) {
      command.push_back(name);
      command.push_back(value);
    }
    Run(command, REDIS_REPLY_INTEGER);
    if (lifetime.count() > 0) Expire(key, lifetime);
  }

  void SetDeadline(const std::optional<Deadline>& deadline) override { deadline_ = deadline; }

  std::string LocalAddress() override {
    return connection_ ? connection_->LocalAddress() : std::string();
  }

  std::string Description() const override {
    const std::string database = options_.database == 0 ? "" : MakeString("/", options_.database);
    return MakeString("redis ", options_.host, ":", options_.port, database);
  }

 private:
  // Calls body(deadline of this attempt) on a live connection. If the connection breaks or does not
  // answer within `timeout`, it reconnects and tries again until the deadline of SetDeadline() (or,
  // without one, for `timeout`). It calls `on_lost` before it sends a command again, and does not
  // send one again unless `repeatable`.
  template <typename Body>
  void Retry(milliseconds timeout, bool repeatable, const Body& body,
             const std::function<void()>& on_lost = {}) {
    const milliseconds limit =
        deadline_ ? std::max(deadline_->remaining(), std::min(timeout, kMinTime)) : timeout;
    const Deadline end(limit);
    for (milliseconds pause = kFirstRetry;; pause = std::min(pause * 2, kSlowestRetry)) {
      bool sent = false;
      try {
        const Deadline attempt(std::min(timeout, end.remaining()));
        if (!connection_) connection_ = std::make_unique<RedisConnection>(options_, attempt);
        sent = true;
        body(attempt);
        return;
      } catch (const StoreUnreachable& e) {
        connection_.reset();
        if (sent && on_lost) on_lost();
        if (sent && !repeatable) throw;
        if (end.remaining() <= pause) {
          if (limit <= timeout) throw;
          throw StoreUnreachable(
              MakeString(e.what(), "; tried for ", limit.count() / 1000.0, " s"));
        }
        if (next_warning_.expired()) {
          LOG(WARNING) << e.what() << "; trying again";
          next_warning_ = Deadline(kWarnEvery);
        }
      }
      std::this_thread::sleep_for(pause);
    }
  }

  RedisReply Run(const Command& command, int expected_type) {
    RedisReply reply;
    Retry(options_.command_timeout, true,
          [&](const Deadline& deadline) { reply = connection_->Execute(command, deadline); });
    ExpectType(*reply, expected_type, command[0]);
    return reply;
  }

  std::optional<std::string> FetchString(const std::string& key, const Deadline& deadline) {
    RedisReply reply = connection_->Execute({"GET", prefix_ + key}, deadline);
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    ExpectType(*reply, REDIS_REPLY_STRING, "GET");
    CheckValueSize(key, reply->len);
    return std::string(reply->str, reply->len);
  }

  void ExpectType(const redisReply& reply, int type, const std::string& command) const {
    if (reply.type == type) return;
    ThrowIoError(ExitCode::kStoreUnreachable, Description(), ": unexpected answer to ", command,
                 " (type ", reply.type, "); is this a Redis server?");
  }

  const RedisOptions options_;
  const std::string prefix_;
  std::unique_ptr<RedisConnection> connection_;
  std::optional<Deadline> deadline_;
  Deadline next_warning_{
      milliseconds(0)};  // of all calls: each call of a lost store tries for a while
};

}  // namespace

std::unique_ptr<StoreHandler> NewRedisStore(const RedisOptions& options,
                                            const std::string& prefix) {
  return std::make_unique<RedisStoreHandler>(options, prefix);
}

std::string FindRedisPassword(const std::string& path) {
  const char* variable = path.empty() ? std::getenv("CAFFE2_REDIS_PASSWORD_FILE") : nullptr;
  const std::string file_path = variable == nullptr ? path : variable;
  if (file_path.empty()) {
    const char* password = std::getenv("REDISCLI_AUTH");
    return password == nullptr ? "" : password;
  }
  return ReadPrivateFile(file_path, "the password file");
}

StoreFactory RedisStores(const RedisOptions& options) {
  return [options](const std::string& prefix) { return NewRedisStore(options, prefix); };
}

}  // namespace caffe2
