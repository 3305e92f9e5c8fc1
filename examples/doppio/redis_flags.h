// The options of sub-commands that connect to a Redis server.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "distributed/redis_store_handler.h"

namespace caffe2 {

// The group of these options in --help.
constexpr char kRedisGroup[] = "Redis and TLS";

// Adds --redis_port, --redis_user, --redis_password_file and the options of TLS, in their group.
// `redis` and `password_file` must outlive the parsing.
void AddRedisOptions(CLI::App* command, RedisOptions* redis, std::string* password_file);

// What to do if a server cannot be reached. `address` names the options that may be wrong.
std::string RedisRemedy(const std::string& address);

// Throws UsageError if files for TLS are named but TLS is off. `remedy` says what to give, for
// instance "--redis_tls".
void CheckTlsFiles(const RedisOptions& redis, const std::string& remedy);

}  // namespace caffe2
