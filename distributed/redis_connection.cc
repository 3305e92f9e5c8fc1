#include "distributed/redis_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "caffe2/core/exit_code.h"
#include "caffe2/utils/library_versions.h"
#include "distributed/host.h"

namespace caffe2 {

namespace {

const RegisterLibraryVersion version("hiredis", MakeString(HIREDIS_MAJOR, ".", HIREDIS_MINOR, ".",
                                                           HIREDIS_PATCH));

// No reply is longer: one value, and what the protocol adds.
constexpr size_t kMaxReplyBytes = StoreHandler::kMaxValueBytes + 1024;

// hiredis makes an array as soon as its length has come, which may be any number. An element takes
// four bytes or more, so a longer one than this cannot come whole.
constexpr uint64_t kMaxElements = kMaxReplyBytes / 4;

// A server that has not answered the TLS handshake for this long is asked without TLS.
constexpr milliseconds kTlsPatience{1000};

// Versions of hiredis differ in the type of the length.
template <typename Length>
struct ArrayLimit {
  using Function = void* (*)(const redisReadTask*, Length);
  static inline Function unlimited = nullptr;
  // Null: the reader refuses the reply.
  static void* Make(const redisReadTask* task, Length elements) {
    if (static_cast<uint64_t>(elements) > kMaxElements) return nullptr;
    return unlimited(task, elements);
  }
};

template <typename Length>
void LimitArrays(void* (*&create)(const redisReadTask*, Length)) {
  ArrayLimit<Length>::unlimited = create;
  create = ArrayLimit<Length>::Make;
}

// The functions that make the parts of a reply, with short arrays only.
redisReplyObjectFunctions* LimitedFunctions(const redisReplyObjectFunctions& usual) {
  static redisReplyObjectFunctions limited = [&usual] {
    redisReplyObjectFunctions functions = usual;
    LimitArrays(functions.createArray);
    return functions;
  }();
  return &limited;
}

// The server's text, made safe for a terminal and a log line: it may come from anybody.
std::string CleanText(const char* text, size_t length) {
  constexpr size_t kMaxShown = 300;
  std::string clean;
  for (size_t i = 0; i < std::min(length, kMaxShown); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    clean += std::isprint(c) ? static_cast<char>(c) : ' ';
  }
  return length > kMaxShown ? clean + "..." : clean;
}

std::string CleanText(const char* text) { return CleanText(text, std::strlen(text)); }

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

// The code for an error that the server answers.
ExitCode RefusalCode(const std::string& error) {
  for (const char* start : {"NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "ERR AUTH", "ERR invalid"}) {
    if (StartsWith(error, start)) return ExitCode::kNotPermitted;
  }
  return ExitCode::kStoreUnreachable;
}

timeval ToTimeval(milliseconds time) {
  time = std::max(time, milliseconds(1));  // 0 would mean no limit
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

}  // namespace

RedisConnection::RedisConnection(const RedisOptions& options, const Deadline& deadline)
    : server_(MakeString("redis ", options.host, ":", options.port)) {
  const milliseconds limit = std::min(deadline.remaining(), options.connect_timeout);
  context_.reset(redisConnectWithTimeout(options.host.c_str(), options.port, ToTimeval(limit)));
  if (!context_) ThrowIoError(ExitCode::kSystem, "out of memory");
  if (context_->err != 0) {
    throw StoreUnreachable(
        MakeString("cannot connect to ", server_, ": ", CleanText(context_->errstr)));
  }
  // hiredis would block for each part of a reply anew, and would read a reply of any length.
  fcntl(context_->fd, F_SETFL, fcntl(context_->fd, F_GETFL) | O_NONBLOCK);
  context_->flags &= ~REDIS_BLOCK;
  context_->reader->fn = LimitedFunctions(*context_->reader->fn);
  if (options.tls) StartTls(options, Deadline(limit));
  if (!options.password.empty()) {
    std::vector<std::string> auth = {"AUTH"};
    if (!options.user.empty()) auth.push_back(options.user);
    auth.push_back(options.password);
    Execute(auth, deadline);
  }
  if (options.database != 0) Execute({"SELECT", std::to_string(options.database)}, deadline);
}

RedisReply RedisConnection::Execute(const std::vector<std::string>& command,
                                    const Deadline& deadline) {
  Send(command, deadline);
  RedisReply reply = Receive(command[0], deadline);
  if (reply->type != REDIS_REPLY_ERROR) return reply;
  const std::string error = CleanText(reply->str, reply->len);
  // A server that is still loading its data set will answer soon.
  if (StartsWith(error, "LOADING")) throw StoreUnreachable(server_ + ": " + error);
  ThrowIoError(RefusalCode(error), server_, ": ", command[0], ": ", error, Advice(error));
}

void RedisConnection::StartTls(const RedisOptions& options, const Deadline& deadline) {
  tls_ = std::make_unique<TlsSession>(options, context_->fd);
  const Deadline early(std::min(kTlsPatience, deadline.remaining() / 2));
  for (bool asked = false;; asked = true) {
    try {
      while (const short event = tls_->Handshake()) {
        WaitFor(event, "the TLS handshake (does the server speak TLS on this port?)",
                asked ? deadline : early);
      }
      return;
    } catch (const StoreUnreachable&) {
      if (asked) throw;
      const bool is_lost = !early.expired();
      RefuseIfPlain(options, deadline);
      if (is_lost) throw;
    }
  }
}

void RedisConnection::RefuseIfPlain(const RedisOptions& options, const Deadline& deadline) const {
  RedisOptions plain;
  plain.host = options.host;
  plain.port = options.port;
  plain.connect_timeout = kTlsPatience;
  try {
    const Deadline end(std::min(kTlsPatience, deadline.remaining() / 2));
    RedisConnection(plain, end).Execute({"PING"}, end);
  } catch (const StoreUnreachable&) {
    return;
  } catch (const IoError&) {
    // It speaks Redis, if only to say that it needs a password.
  }
  ThrowNoTls(server_ + ": ");
}

void RedisConnection::Send(const std::vector<std::string>& command, const Deadline& deadline) {
  std::vector<const char*> arguments;
  std::vector<size_t> lengths;
  for (const std::string& argument : command) {
    arguments.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  char* text = nullptr;
  const int size = redisFormatCommandArgv(&text, static_cast<int>(arguments.size()),
                                          arguments.data(), lengths.data());
  if (size < 0) ThrowIoError(ExitCode::kSystem, "out of memory");
  const std::unique_ptr<char, void (*)(char*)> owner(text, redisFreeCommand);
  for (size_t sent = 0; sent < static_cast<size_t>(size);) {
    sent += Write(text + sent, static_cast<size_t>(size) - sent, command[0], deadline);
  }
}

size_t RedisConnection::Write(const char* data, size_t size, const std::string& command,
                              const Deadline& deadline) {
  while (true) {
    short event = POLLOUT;
    const ssize_t n =
        tls_ ? tls_->Write(data, size, &event) : send(context_->fd, data, size, MSG_NOSIGNAL);
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0) ThrowLost(command, "Server closed the connection");
    if (!tls_ && errno != EAGAIN && errno != EINTR) ThrowLost(command, std::strerror(errno));
    WaitFor(event, command, deadline);
  }
}

size_t RedisConnection::Read(char* data, size_t size, const std::string& command,
                             const Deadline& deadline) {
  while (true) {
    short event = POLLIN;
    const ssize_t n = tls_ ? tls_->Read(data, size, &event) : recv(context_->fd, data, size, 0);
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0) ThrowLost(command, "Server closed the connection");
    if (!tls_ && errno != EAGAIN && errno != EINTR) ThrowLost(command, std::strerror(errno));
    WaitFor(event, command, deadline);
  }
}

RedisReply RedisConnection::Receive(const std::string& command, const Deadline& deadline) {
  size_t received = 0;
  while (true) {
    void* reply = nullptr;
    if (redisReaderGetReply(context_->reader, &reply) != REDIS_OK) {
      const bool too_long = context_->reader->err == REDIS_ERR_OOM;
      ThrowLost(command, too_long ? "the answer is too long" : context_->reader->errstr);
    }
    if (reply != nullptr) {
      answered_ = true;
      return RedisReply(static_cast<redisReply*>(reply));
    }
    char buffer[16384];
    const size_t n = Read(buffer, sizeof buffer, command, deadline);
    received += n;
    if (received > kMaxReplyBytes) {
      ThrowLost(command, MakeString("the answer is longer than ", kMaxReplyBytes, " bytes"));
    }
    if (redisReaderFeed(context_->reader, buffer, n) != REDIS_OK) {
      ThrowLost(command, context_->reader->errstr);
    }
  }
}

void RedisConnection::WaitFor(short event, const std::string& command, const Deadline& deadline) {
  while (true) {
    const milliseconds left = deadline.remaining();
    if (left == milliseconds(0)) {
      throw StoreUnreachable(MakeString(server_, ": no answer to ", command, " in time"));
    }
    pollfd entry{context_->fd, event, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 60000)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) ThrowLost(command, std::strerror(errno));
  }
}

void RedisConnection::ThrowLost(const std::string& command, const std::string& why) const {
  const bool may_want_tls = !tls_ && !answered_;
  throw StoreUnreachable(MakeString(
      server_, ": ", command, ": ", CleanText(why.c_str()),
      may_want_tls ? " before its first answer; if it speaks TLS on this port, give --redis_tls"
                   : ""));
}

std::string RedisConnection::LocalAddress() const { return SocketAddress(context_->fd); }

}  // namespace caffe2
