// The Redis server where shards meet.
#include <sys/time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "distributed/host.h"
#include "distributed/redis_connection.h"
#include "distributed/tcp_port.h"
#include "examples/doppio/doctor/checks.h"
#include "examples/doppio/redis_flags.h"

namespace caffe2::doctor {
namespace {

constexpr milliseconds kRedisTimeout{5000};

// A command's reply as text; nullopt if the server refuses the command, as an ACL may.
std::optional<std::string> Ask(RedisConnection* redis, const std::vector<std::string>& command) {
  try {
    const RedisReply reply = redis->Execute(command, Deadline(kRedisTimeout));
    if (reply->type == REDIS_REPLY_ARRAY) {  // CONFIG GET: name, value
      if (reply->elements < 2 || reply->element[1]->str == nullptr) return std::nullopt;
      return std::string(reply->element[1]->str, reply->element[1]->len);
    }
    return reply->str == nullptr ? std::string() : std::string(reply->str, reply->len);
  } catch (const StoreUnreachable&) {
    throw;
  } catch (const IoError&) {
    return std::nullopt;
  }
}

// The value of a line "name:value" of INFO.
std::string InfoField(const std::string& info, const std::string& name) {
  std::istringstream stream(info);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(name + ":", 0) != 0) continue;
    const std::string value = line.substr(name.size() + 1);
    return value.substr(0, value.find('\r'));
  }
  return "";
}

double Now() {
  timeval now = {};
  gettimeofday(&now, nullptr);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_usec) * 1e-6;
}

Finding CheckServer(RedisConnection* redis, const std::string& name) {
  const double begin = Now();
  const std::string key =
      MakeString("doppio_doctor/", ProcessId::Self().host, "/", ProcessId::Self().pid);
  redis->Execute({"SET", key, "1", "PX", "10000"}, Deadline(kRedisTimeout));
  redis->Execute({"GET", key}, Deadline(kRedisTimeout));
  redis->Execute({"DEL", key}, Deadline(kRedisTimeout));
  char time[32];
  std::snprintf(time, sizeof(time), "%.2f ms", (Now() - begin) * 1000 / 3);
  const std::string info = Ask(redis, {"INFO", "server"}).value_or("");
  std::string version = InfoField(info, "valkey_version");
  version = version.empty() ? "version " + InfoField(info, "redis_version") : "Valkey " + version;
  const std::string text = MakeString(name, ", ", info.empty() ? "version unknown" : version,
                                      ", a command takes ", time);
  if (!info.empty() && std::atoi(InfoField(info, "redis_version").c_str()) < 6) {
    return Warning("Redis", text, "it has no users (--redis_user): 6.0 is the oldest one tested");
  }
  return Ok("Redis", text);
}

// Whoever can write to the server can end and change runs.
Finding CheckProtection(RedisConnection* redis, const RedisOptions& options) {
  const bool open = options.password.empty();  // it has answered without one
  bool local = true;
  for (const std::string& address : ResolveHost(options.host)) local &= IsLoopback(address);
  const auto protected_mode = Ask(redis, {"CONFIG", "GET", "protected-mode"});
  const std::string mode = protected_mode ? "protected-mode " + *protected_mode
                                          : "protected-mode unknown (CONFIG is refused)";
  const std::string fix =
      "set requirepass in redis.conf, and name the file with the password by "
      "--redis_password_file";
  if (!open) return Ok("Redis safety", "asks for a password; " + mode);
  if (!local) {
    return Warning(
        "Redis safety",
        "no password: everybody who reaches " + options.host + " can change runs; " + mode, fix);
  }
  if (protected_mode && *protected_mode == "no") {
    return Warning("Redis safety", "no password and protected-mode no: other hosts may reach it",
                   fix + ", or set protected-mode yes");
  }
  return Ok("Redis safety", "no password, only for this host; " + mode);
}

Finding CheckEviction(RedisConnection* redis) {
  const auto policy = Ask(redis, {"CONFIG", "GET", "maxmemory-policy"});
  const auto limit = Ask(redis, {"CONFIG", "GET", "maxmemory"});
  if (!policy || !limit) return Ok("Redis memory", "unknown (CONFIG is refused)");
  const std::string text = "maxmemory " + *limit + ", maxmemory-policy " + *policy;
  if (*limit != "0" && *policy != "noeviction") {
    return Warning("Redis memory", text,
                   "the server may drop the keys of a run: set maxmemory-policy noeviction");
  }
  return Ok("Redis memory", text);
}

// The difference of the clocks, to half of the time that the command takes.
Finding CheckRedisClock(RedisConnection* redis) {
  constexpr double kMax = 1;  // seconds
  const double before = Now();
  RedisReply reply;
  try {
    reply = redis->Execute({"TIME"}, Deadline(kRedisTimeout));
  } catch (const StoreUnreachable&) {
    throw;
  } catch (const IoError& refused) {
    return Ok("Redis clock", std::string("unknown: ") + refused.what());
  }
  const double after = Now();
  if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
    return Ok("Redis clock", "unknown: TIME gives no time");
  }
  const double server =
      std::atof(reply->element[0]->str) + std::atof(reply->element[1]->str) * 1e-6;
  const double difference = (before + after) / 2 - server;
  char text[80];
  std::snprintf(text, sizeof(text), "this host is %.3f s %s the server (to %.3f s)",
                std::abs(difference), difference < 0 ? "behind" : "ahead of", (after - before) / 2);
  if (std::abs(difference) - (after - before) / 2 > kMax) {
    return Warning("Redis clock", text,
                   "run an NTP client (chrony or systemd-timesyncd) on both hosts: times in logs "
                   "of several hosts do not compare");
  }
  return Ok("Redis clock", text);
}

}  // namespace

Findings CheckRedis(const RedisOptions& options) {
  const std::string name = MakeString(options.host, ":", options.port);
  try {
    RedisConnection redis(options, Deadline(kRedisTimeout));
    return {CheckServer(&redis, name), CheckProtection(&redis, options), CheckEviction(&redis),
            CheckRedisClock(&redis)};
  } catch (const StoreUnreachable& error) {
    return {Error("Redis", error.what(), RedisRemedy("--redis_host and --redis_port"),
                  ExitCodeOf(error))};
  } catch (const std::exception& error) {
    return {Error("Redis", error.what(),
                  "correct --redis_user and --redis_password_file, or the "
                  "server's ACL",
                  ExitCodeOf(error))};
  }
}

}  // namespace caffe2::doctor
