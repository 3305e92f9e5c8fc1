#include <algorithm>
#include <set>

#include "distributed/redis_connection.h"
#include "distributed/run_record.h"
#include "distributed/store_browser.h"

namespace caffe2 {
namespace {

constexpr char kGeneration[] = "/generation";

class RedisBrowser final : public StoreBrowser {
 public:
  explicit RedisBrowser(const RedisOptions& options)
      : options_(options), connection_(options, Deadline(options.connect_timeout)) {}

  std::vector<std::string> RunIds() override {
    std::vector<std::string> ids;
    for (const std::string& key : Scan(std::string("*") + kGeneration)) {
      ids.push_back(key.substr(0, key.size() - (sizeof(kGeneration) - 1)));
    }
    return ids;
  }

  std::vector<std::string> Keys(const std::string& run_id) override {
    CheckRunId(run_id);  // it has no character that a pattern gives a meaning
    std::vector<std::string> keys;
    for (const std::string& key : Scan(run_id + "/*"))
      keys.push_back(key.substr(run_id.size() + 1));
    return keys;
  }

  std::map<std::string, std::string> Fields(const std::string& run_id,
                                            const std::string& key) override {
    const RedisReply reply = Execute({"HGETALL", run_id + "/" + key});
    std::map<std::string, std::string> fields;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
      fields[TextOf(*reply->element[i])] = TextOf(*reply->element[i + 1]);
    }
    return fields;
  }

 private:
  RedisReply Execute(const std::vector<std::string>& command) {
    RedisReply reply = connection_.Execute(command, Deadline(options_.command_timeout));
    if (reply->type == REDIS_REPLY_ARRAY) return reply;
    ThrowIoError(ExitCode::kStoreUnreachable, "redis ", options_.host, ":", options_.port,
                 ": unexpected answer to ", command[0], "; is this a Redis server?");
  }

  static std::string TextOf(const redisReply& reply) {
    return reply.str == nullptr ? "" : std::string(reply.str, reply.len);
  }

  // SCAN may name a key twice.
  std::vector<std::string> Scan(const std::string& pattern) {
    std::set<std::string> keys;
    std::string cursor = "0";
    do {
      const RedisReply reply = Execute({"SCAN", cursor, "MATCH", pattern, "COUNT", "100"});
      if (reply->elements != 2 || reply->element[1]->type != REDIS_REPLY_ARRAY) break;
      cursor = TextOf(*reply->element[0]);
      const redisReply& found = *reply->element[1];
      for (size_t i = 0; i < found.elements; ++i) keys.insert(TextOf(*found.element[i]));
    } while (cursor != "0");
    return {keys.begin(), keys.end()};
  }

  const RedisOptions options_;
  RedisConnection connection_;
};

}  // namespace

std::unique_ptr<StoreBrowser> NewRedisBrowser(const RedisOptions& options) {
  return std::make_unique<RedisBrowser>(options);
}

}  // namespace caffe2
