// A key-value store that the shards of a run share. They use it to find each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/type_meta.h"

namespace caffe2 {

using std::chrono::milliseconds;

// A point in time on the monotonic clock.
class Deadline {
 public:
  explicit Deadline(milliseconds timeout) : end_(std::chrono::steady_clock::now() + timeout) {}
  // Never negative.
  milliseconds remaining() const;
  bool expired() const { return remaining() == milliseconds(0); }

 private:
  std::chrono::steady_clock::time_point end_;
};

// The store cannot be reached now; a later try may succeed.
class StoreUnreachable : public WithExitCode<IoError> {
 public:
  explicit StoreUnreachable(const std::string& text)
      : WithExitCode(ExitCode::kStoreUnreachable, text) {}
};

// Called about ten times a second by code that waits for other shards; `awaited` describes them. An
// exception from it ends the wait.
using WaitCheck = std::function<void(const std::string& awaited)>;

// One connection to a store. One thread at a time may use a handler (the memory store is
// thread-safe); each thread makes its own.
//
// Keys and values are byte strings. All times are wall clock and accurate to about 0.2 s. Every
// method throws StoreUnreachable if the store cannot be reached, IoError with the store's own
// message if it refuses the command, and EnforceNotMet for a value longer than kMaxValueBytes.
class StoreHandler {
 public:
  static constexpr milliseconds kDefaultTimeout{30000};
  // The maximum length of a value, when it is written and when it is read.
  static constexpr size_t kMaxValueBytes = size_t{64} << 10;

  virtual ~StoreHandler() = default;

  // Sets the key if it does not exist. Returns true if this call set it. Atomic: only one of
  // several callers sets the key, and nobody reads a part of the value.
  virtual bool SetIfAbsent(const std::string& key, const std::string& value) = 0;
  // Like SetIfAbsent, but throws IoError if the key exists.
  void Set(const std::string& key, const std::string& value);
  // Sets or replaces the value. With `lifetime` > 0 the key expires after that time, if the store
  // supports it.
  virtual void Put(const std::string& key, const std::string& value,
                   milliseconds lifetime = milliseconds(0)) = 0;
  // The value, or nullopt if the key does not exist.
  virtual std::optional<std::string> TryGet(const std::string& key) = 0;
  // Waits for the key and returns its value. Throws TimeoutError after `timeout`.
  std::string Get(const std::string& key, milliseconds timeout = kDefaultTimeout);
  // Adds to a counter (0 if it does not exist) and returns the sum.
  virtual int64_t Add(const std::string& key, int64_t delta) = 0;
  // True if all the keys exist.
  virtual bool Check(const std::vector<std::string>& keys) = 0;
  // Waits until all the keys exist. Throws TimeoutError, with the missing keys, after `timeout`.
  void Wait(const std::vector<std::string>& keys, milliseconds timeout = kDefaultTimeout);
  // Returns true if the key existed.
  virtual bool Remove(const std::string& key) = 0;
  // Makes the key expire after `lifetime`. No effect on stores without expiry and on keys that do
  // not exist.
  virtual void Expire(const std::string& key, milliseconds lifetime) = 0;
  // Sets named fields of a readable record: a hash in Redis (`hgetall`), lines "name: value" in
  // other stores.
  virtual void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                         milliseconds lifetime) = 0;
  // Replaces the store's own time limit: the handler tries to reach the store, and to read a whole
  // value, until `deadline` (for one second if that has passed). nullopt restores the store's own
  // limit.
  virtual void SetDeadline(const std::optional<Deadline>& deadline) {}
  // Code that waits for other shards, which use this store, calls it a few times a second, as
  // Wait() does. The store of a run throws PeerLost once the wait is in vain: the run has failed,
  // or this shard was asked to stop a while ago. `awaited` says for whom the caller waits.
  virtual void CheckWait(const std::string& awaited) {}
  // In stores without expiry, removes the keys of a dead run that begin with `prefix`.
  virtual void RemoveLeftovers(const std::string& prefix) {}

  // The local address of the connection to the store, at which other hosts can reach this one;
  // empty if the store does not know it.
  virtual std::string LocalAddress() { return {}; }
  // "redis 10.0.0.1:6379", for messages.
  virtual std::string Description() const = 0;
};

// Makes a new connection. All its keys begin with "<prefix>/".
using StoreFactory = std::function<std::unique_ptr<StoreHandler>(const std::string& prefix)>;

// Makes a connection. While the store does not answer (StoreUnreachable), logs a warning every 10 s
// and tries again until the deadline, so that a store may start after its shards. Calls
// `while_waiting`, if there is one, between two tries; an exception from it ends the wait.
std::unique_ptr<StoreHandler> OpenStore(const StoreFactory& stores, const std::string& prefix,
                                        const Deadline& deadline,
                                        const std::function<void()>& while_waiting);

// "a, b, c", for messages. Of fifteen keys it shows ten "and 5 more".
std::string JoinKeys(const std::vector<std::string>& keys);
// Throws EnforceNotMet if the value is longer than StoreHandler::kMaxValueBytes.
void CheckValueSize(const std::string& key, size_t bytes);

CAFFE2_TYPE_NAME(std::unique_ptr<StoreHandler>, "std::unique_ptr<StoreHandler>");

}  // namespace caffe2
