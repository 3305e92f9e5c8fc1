#include "distributed/redis_store_handler.h"

#include <hiredis/hiredis.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "caffe2/core/exit_code.h"
#include "distributed/host.h"

namespace caffe2 {

namespace {

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using ContextPtr = std::unique_ptr<redisContext, FreeContext>;
using Reply = std::unique_ptr<redisReply, FreeReply>;
using Command = std::vector<std::string>;

constexpr milliseconds kFirstRetry{20}, kSlowestRetry{500};
constexpr milliseconds kWarnEvery{10000};
constexpr milliseconds kMinTime{1000};  // more than a healthy server ever needs

// The server's text, made safe for a terminal and a log line: it may come from anybody.
std::string CleanText(const char* text, size_t length) {
  constexpr size_t kLongest = 300;
  std::string clean;
  for (size_t i = 0; i < std::min(length, kLongest); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    clean += std::isprint(c) ? static_cast<char>(c) : ' ';
  }
  return length > kLongest ? clean + "..." : clean;
}

bool StartsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

// Advice about an error of Redis, found by the first words of the error.
std::string Advice(const std::string& error) {
  static const std::vector<std::pair<const char*, const char*>> kAdvice = {
      {"NOAUTH",
       "the server needs a password: give it in a file (--redis_password_file, or the environment "
       "variable CAFFE2_REDIS_PASSWORD_FILE), or in REDISCLI_AUTH"},
      {"WRONGPASS", "user or password is wrong"},
      {"ERR invalid password", "the password is wrong"},
      {"ERR Client sent AUTH", "the server has no password: give none"},
      {"NOPERM",
       "the ACL of this user lacks a permission; distributed/README.md lists the commands"},
      {"DENIED",
       "the server is in protected mode: it has no password and serves only its own host. "
       "Set requirepass in redis.conf (or `redis-cli config set requirepass ...`) and give "
       "that password here"},
      {"READONLY", "this server is a read-only replica: use its primary"},
      {"OOM", "the server's maxmemory is reached"},
      {"MISCONF", "the server cannot save to its disk and refuses writes"},
      {"WRONGTYPE", "another program uses this key: choose another run_id"},
  };
  for (const auto& [start, advice] : kAdvice) {
    if (StartsWith(error, start)) return MakeString(" [", advice, "]");
  }
  return "";
}

timeval ToTimeval(milliseconds time) {
  time = std::max(time, milliseconds(1));  // 0 would mean no limit
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

// The connection broke; the command may be tried again on a new one.
class ConnectionLost : public WithExitCode<IoError> {
 public:
  explicit ConnectionLost(const std::string& text)
      : WithExitCode(ExitCode::kStoreUnreachable, text) {}
};

// The code for an error that the server answers.
ExitCode RefusalCode(const std::string& error) {
  for (const char* start : {"NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "ERR AUTH", "ERR invalid"}) {
    if (StartsWith(error, start)) return ExitCode::kNotPermitted;
  }
  return ExitCode::kStoreUnreachable;
}

class RedisStoreHandler final : public StoreHandler {
 public:
  RedisStoreHandler(const RedisOptions& options, const std::string& prefix)
      : options_(options), prefix_(prefix.empty() ? "" : prefix + "/") {
    CAFFE_ENFORCE(!options.host.empty(), "the Redis host is empty");
    CAFFE_ENFORCE(options.port > 0 && options.port < 65536, "Redis port ", options.port,
                  " is not in [1, 65535]");
    CAFFE_ENFORCE_GE(options.database, 0, "number of the Redis database");
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
          Reply reply = Execute({"SET", prefix_ + key, value, "NX"}, deadline);
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
      Reply reply = Execute({"INCRBY", prefix_ + key, std::to_string(delta)}, deadline);
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
    return connection_ ? SocketAddress(connection_->fd) : std::string();
  }

  std::string Description() const override {
    return MakeString("redis ", options_.host, ":", options_.port);
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
    Deadline next_warning(milliseconds(0));
    for (milliseconds pause = kFirstRetry;; pause = std::min(pause * 2, kSlowestRetry)) {
      bool sent = false;
      try {
        const Deadline attempt(std::min(timeout, end.remaining()));
        if (!connection_) Connect(attempt);
        sent = true;
        body(attempt);
        return;
      } catch (const ConnectionLost& e) {
        connection_.reset();
        if (sent && on_lost) on_lost();
        if (sent && !repeatable) throw;
        if (end.remaining() <= pause) {
          if (limit <= timeout) throw;
          throw ConnectionLost(MakeString(e.what(), "; tried for ", limit.count() / 1000.0, " s"));
        }
        if (next_warning.expired()) {
          LOG(WARNING) << e.what() << "; trying again";
          next_warning = Deadline(kWarnEvery);
        }
      }
      std::this_thread::sleep_for(pause);
    }
  }

  Reply Run(const Command& command, int expected_type) {
    Reply reply;
    Retry(options_.command_timeout, true,
          [&](const Deadline& deadline) { reply = Execute(command, deadline); });
    ExpectType(*reply, expected_type, command[0]);
    return reply;
  }

  std::optional<std::string> FetchString(const std::string& key, const Deadline& deadline) {
    Reply reply = Execute({"GET", prefix_ + key}, deadline);
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    ExpectType(*reply, REDIS_REPLY_STRING, "GET");
    CheckValueSize(key, reply->len);
    return std::string(reply->str, reply->len);
  }

  void Connect(const Deadline& deadline) {
    const milliseconds limit = std::min(deadline.remaining(), options_.connect_timeout);
    ContextPtr context(
        redisConnectWithTimeout(options_.host.c_str(), options_.port, ToTimeval(limit)));
    if (!context) ThrowIoError(ExitCode::kSystem, "out of memory");
    if (context->err != 0) {
      throw ConnectionLost(MakeString("cannot connect to ", Description(), ": ",
                                      CleanText(context->errstr, std::strlen(context->errstr))));
    }
    connection_ = std::move(context);
    try {
      if (!options_.password.empty()) {
        Command auth = {"AUTH"};
        if (!options_.user.empty()) auth.push_back(options_.user);
        auth.push_back(options_.password);
        Execute(auth, deadline);
      }
      if (options_.database != 0) Execute({"SELECT", std::to_string(options_.database)}, deadline);
    } catch (...) {
      connection_.reset();
      throw;
    }
  }

  // Sends one command and returns its reply. Throws ConnectionLost if there is no reply in time,
  // and IoError with the server's text if the reply is an error.
  Reply Execute(const Command& command, const Deadline& deadline) {
    std::vector<const char*> arguments;
    std::vector<size_t> lengths;
    for (const std::string& argument : command) {
      arguments.push_back(argument.data());
      lengths.push_back(argument.size());
    }
    redisSetTimeout(connection_.get(), ToTimeval(deadline.remaining()));
    errno = 0;
    Reply reply(static_cast<redisReply*>(redisCommandArgv(
        connection_.get(), static_cast<int>(arguments.size()), arguments.data(), lengths.data())));
    if (!reply) {
      const bool late = connection_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == ETIMEDOUT);
      const char* text = connection_->errstr;
      throw ConnectionLost(
          late ? MakeString(Description(), ": no answer to ", command[0], " in time")
               : MakeString(Description(), ": ", command[0], ": ",
                            CleanText(text, std::strlen(text))));
    }
    if (reply->type == REDIS_REPLY_ERROR) {
      const std::string error = CleanText(reply->str, reply->len);
      // A server that is still loading its data set will answer soon.
      if (StartsWith(error, "LOADING")) throw ConnectionLost(Description() + ": " + error);
      ThrowIoError(RefusalCode(error), Description(), ": ", command[0], ": ", error, Advice(error));
    }
    return reply;
  }

  void ExpectType(const redisReply& reply, int type, const std::string& command) const {
    if (reply.type == type) return;
    ThrowIoError(ExitCode::kStoreUnreachable, Description(), ": unexpected answer to ", command,
                 " (type ", reply.type, "); is this a Redis server?");
  }

  const RedisOptions options_;
  const std::string prefix_;
  ContextPtr connection_;
  std::optional<Deadline> deadline_;
};

}  // namespace

std::unique_ptr<StoreHandler> NewRedisStore(const RedisOptions& options,
                                            const std::string& prefix) {
  return std::make_unique<RedisStoreHandler>(options, prefix);
}

namespace {

// Everybody on the machine may be able to read a file in /tmp or in a home directory.
void CheckIsPrivate(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;  // reading it says why
  if ((file.st_mode & (S_IROTH | S_IWOTH)) == 0) return;
  ThrowIoError(ExitCode::kNotPermitted, "the password file ", path,
               " can be read or written by everybody on this machine: run chmod 600 ", path,
               " and change the password if others use the machine");
}

}  // namespace

std::string FindRedisPassword(const std::string& path) {
  const char* variable = path.empty() ? std::getenv("CAFFE2_REDIS_PASSWORD_FILE") : nullptr;
  const std::string file_path = variable == nullptr ? path : variable;
  if (file_path.empty()) {
    const char* password = std::getenv("REDISCLI_AUTH");
    return password == nullptr ? "" : password;
  }
  CheckIsPrivate(file_path);
  std::ifstream file(file_path);
  std::string password;
  if (!std::getline(file, password)) {
    ThrowIoError(ExitCode::kNoInput, "cannot read the Redis password from ", file_path,
                 variable == nullptr ? "" : ", which CAFFE2_REDIS_PASSWORD_FILE names");
  }
  return password;
}

StoreFactory RedisStores(const RedisOptions& options) {
  return [options](const std::string& prefix) { return NewRedisStore(options, prefix); };
}

}  // namespace caffe2
