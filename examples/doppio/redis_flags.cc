#include "examples/doppio/redis_flags.h"

#include "caffe2/core/usage_error.h"

namespace caffe2 {

void AddRedisOptions(CLI::App* command, RedisOptions* redis, std::string* password_file) {
  const std::string group = command->option_defaults()->get_group();
  command->option_defaults()->group(kRedisGroup);
  command->add_option("--redis_port", redis->port, "its port; default: 6379")
      ->check(CLI::Range(1, 65535));
  command->add_option("--redis_user", redis->user, "user name for it");
  command->add_option("--redis_password_file", *password_file,
                      "file whose first line is its password; default: as for the trainers");
  command->add_flag("--redis_tls", redis->tls, "connect to it with TLS, as rediss:// does");
  command->add_option("--redis_ca_file", redis->ca_file,
                      "PEM file with the authorities that may sign its certificate; default: those "
                      "that the system trusts");
  command->add_option("--redis_cert_file", redis->cert_file,
                      "PEM file with a certificate for a server that asks for one");
  command->add_option("--redis_key_file", redis->key_file,
                      "PEM file with its private key; default: in --redis_cert_file");
  command->option_defaults()->group(group);
}

std::string RedisRemedy(const std::string& address) {
  return "start redis-server there, open its port in the firewall, or correct " + address;
}

void CheckTlsFiles(const RedisOptions& redis, const std::string& remedy) {
  CheckUsage(
      redis.tls || (redis.ca_file.empty() && redis.cert_file.empty() && redis.key_file.empty()),
      "--redis_ca_file, --redis_cert_file and --redis_key_file need ", remedy);
}

}  // namespace caffe2
