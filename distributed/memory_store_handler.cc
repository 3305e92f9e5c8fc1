#include "distributed/memory_store_handler.h"

#include <mutex>

namespace caffe2 {

namespace {

using Clock = std::chrono::steady_clock;

struct Entry {
  std::string value;
  Clock::time_point expiry = Clock::time_point::max();
};

struct SharedMap {
  std::mutex mutex;
  std::map<std::string, Entry> entries;

  // Null if there is none, or no longer. The mutex is held.
  Entry* Find(const std::string& key) {
    auto it = entries.find(key);
    if (it == entries.end()) return nullptr;
    if (it->second.expiry > Clock::now()) return &it->second;
    entries.erase(it);
    return nullptr;
  }
};

class MemoryStoreHandler final : public StoreHandler {
 public:
  MemoryStoreHandler(std::shared_ptr<SharedMap> map, const std::string& prefix)
      : map_(std::move(map)), prefix_(prefix.empty() ? "" : prefix + "/") {}

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    CheckValueSize(key, value.size());
    std::lock_guard<std::mutex> lock(map_->mutex);
    if (map_->Find(prefix_ + key) != nullptr) return false;
    map_->entries[prefix_ + key] = {value};
    return true;
  }

  void Put(const std::string& key, const std::string& value, milliseconds lifetime) override {
    CheckValueSize(key, value.size());
    std::lock_guard<std::mutex> lock(map_->mutex);
    map_->entries[prefix_ + key] = {value, ExpiryOf(lifetime)};
  }

  std::optional<std::string> TryGet(const std::string& key) override {
    std::lock_guard<std::mutex> lock(map_->mutex);
    const Entry* entry = map_->Find(prefix_ + key);
    if (entry == nullptr) return std::nullopt;
    return entry->value;
  }

  int64_t Add(const std::string& key, int64_t delta) override {
    std::lock_guard<std::mutex> lock(map_->mutex);
    const Entry* entry = map_->Find(prefix_ + key);
    const int64_t sum = (entry ? std::stoll(entry->value) : 0) + delta;
    map_->entries[prefix_ + key].value = std::to_string(sum);
    return sum;
  }

  bool Check(const std::vector<std::string>& keys) override {
    std::lock_guard<std::mutex> lock(map_->mutex);
    for (const std::string& key : keys) {
      if (map_->Find(prefix_ + key) == nullptr) return false;
    }
    return true;
  }

  bool Remove(const std::string& key) override {
    std::lock_guard<std::mutex> lock(map_->mutex);
    const bool existed = map_->Find(prefix_ + key) != nullptr;
    map_->entries.erase(prefix_ + key);
    return existed;
  }

  void Expire(const std::string& key, milliseconds lifetime) override {
    std::lock_guard<std::mutex> lock(map_->mutex);
    if (Entry* entry = map_->Find(prefix_ + key)) entry->expiry = ExpiryOf(lifetime);
  }

  void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                 milliseconds lifetime) override {
    std::string text;
    for (const auto& [name, value] : fields) text += name + ": " + value + "\n";
    Put(key, text, lifetime);
  }

  std::string Description() const override { return "the memory store"; }

 private:
  static Clock::time_point ExpiryOf(milliseconds lifetime) {
    return lifetime.count() > 0 ? Clock::now() + lifetime : Clock::time_point::max();
  }

  std::shared_ptr<SharedMap> map_;
  std::string prefix_;
};

}  // namespace

StoreFactory MemoryStores() {
  return [map = std::make_shared<SharedMap>()](const std::string& prefix) {
    return std::make_unique<MemoryStoreHandler>(map, prefix);
  };
}

}  // namespace caffe2
