#include "distributed/store_handler.h"

#include <algorithm>
#include <thread>

namespace caffe2 {

namespace {
// Polling begins fast, because shards usually start together, and slows down to spare the store.
constexpr milliseconds kFirstCheck{1}, kSlowestCheck{50};
constexpr milliseconds kReopenEvery{100}, kWarnEvery{10000};
}  // namespace

milliseconds Deadline::remaining() const {
  const auto left = std::chrono::ceil<milliseconds>(end_ - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(0));
}

std::string JoinKeys(const std::vector<std::string>& keys) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < keys.size() && i < kShown; ++i) text += (i ? ", " : "") + keys[i];
  if (keys.size() > kShown) text += MakeString(" and ", keys.size() - kShown, " more");
  return text;
}

std::unique_ptr<StoreHandler> OpenStore(const StoreFactory& stores, const std::string& prefix,
                                        const Deadline& deadline,
                                        const std::function<void()>& while_waiting) {
  Deadline next_warning(milliseconds(0));
  while (true) {
    try {
      return stores(prefix);
    } catch (const StoreUnreachable& error) {
      if (deadline.expired()) throw;
      if (next_warning.expired()) {
        LOG(WARNING) << error.what() << "; trying again for " << deadline.remaining().count() / 1000
                     << " s";
        next_warning = Deadline(kWarnEvery);
      }
    }
    if (while_waiting) while_waiting();
    std::this_thread::sleep_for(std::min(kReopenEvery, deadline.remaining()));
  }
}

void CheckValueSize(const std::string& key, size_t bytes) {
  CAFFE_ENFORCE(bytes <= StoreHandler::kMaxValueBytes, "the value of store key ", key, " has ",
                bytes, " bytes, more than ", StoreHandler::kMaxValueBytes);
}

void StoreHandler::Set(const std::string& key, const std::string& value) {
  if (SetIfAbsent(key, value)) return;
  throw IoError(MakeString("key ", key, " was already set in ", Description(),
                           " (is the run_id of another run reused?)"));
}

std::string StoreHandler::Get(const std::string& key, milliseconds timeout) {
  Deadline deadline(timeout);
  while (true) {
    // Tried again after the wait: the key may be removed in between.
    if (auto value = TryGet(key)) return *std::move(value);
    Wait({key}, deadline.remaining());
  }
}

void StoreHandler::Wait(const std::vector<std::string>& keys, milliseconds timeout) {
  Deadline deadline(timeout);
  std::vector<std::string> missing = keys;
  for (milliseconds pause = kFirstCheck;; pause = std::min(pause * 2, kSlowestCheck)) {
    std::erase_if(missing, [this](const std::string& key) { return Check({key}); });
    if (missing.empty()) return;
    const milliseconds left = deadline.remaining();
    if (left == milliseconds(0)) break;
    CheckWait(JoinKeys(missing) + " in the store");
    std::this_thread::sleep_for(std::min(pause, left));
  }
  throw TimeoutError(MakeString("waited ", timeout.count(), " ms for ", missing.size(), " of ",
                                keys.size(), " keys in ", Description(), ": ", JoinKeys(missing)));
}

}  // namespace caffe2
