// A key-value store that the shards of a run share: how they find each other before they can talk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

using std::chrono::milliseconds;

// A moment on the monotonic clock by which something must have happened.
class Deadline {
 public:
  explicit Deadline(milliseconds timeout) : end_(std::chrono::steady_clock::now() + timeout) {}
  // Never negative.
  milliseconds remaining() const;
  bool expired() const { return remaining() == milliseconds(0); }

 private:
  std::chrono::steady_clock::time_point end_;
};

// One connection to a store. A handler is used by one thread at a time (the memory store may be
// used by many); each thread that needs the store makes a handler of its own.
//
// Keys and values are byte strings; values are at most kMaxValueBytes long. All times are wall
// clock and hold to about 0.2 s. Every method throws IoError, with the store's own words, when the
// store cannot be reached or refuses, and TimeoutError when a deadline passes.
class StoreHandler {
 public:
  static constexpr milliseconds kDefaultTimeout{30000};
  // What one key may hold; longer values are refused when written and when read.
  static constexpr size_t kMaxValueBytes = size_t{64} << 20;

  virtual ~StoreHandler() = default;

  // Publishes a key that must not exist yet: true if this call made it. All at once: nobody ever
  // reads a part of the value.
  virtual bool SetIfAbsent(const std::string& key, const std::string& value) = 0;
  // SetIfAbsent that throws IoError if the key exists.
  void Set(const std::string& key, const std::string& value);
  // Sets or replaces. With `lifetime` > 0 the store forgets the key after that time, where it can.
  virtual void Put(const std::string& key, const std::string& value,
                   milliseconds lifetime = milliseconds(0)) = 0;
  // The value now, if there is one.
  virtual std::optional<std::string> TryGet(const std::string& key) = 0;
  // The value; waits for the key.
  std::string Get(const std::string& key, milliseconds timeout = kDefaultTimeout);
  // Adds to a counter (0 if it does not exist) and returns the sum.
  virtual int64_t Add(const std::string& key, int64_t delta) = 0;
  // True if all the keys exist.
  virtual bool Check(const std::vector<std::string>& keys) = 0;
  // Waits until all the keys exist. TimeoutError names those that do not.
  void Wait(const std::vector<std::string>& keys, milliseconds timeout = kDefaultTimeout);
  // True if the key existed.
  virtual bool Remove(const std::string& key) = 0;
  // Lets the store forget the key after `lifetime`; without effect on stores that keep no time and
  // on keys that do not exist.
  virtual void Expire(const std::string& key, milliseconds lifetime) = 0;
  // Sets named fields of a record that a person can read: a hash in Redis (`hgetall`), lines
  // "name: value" of one file otherwise.
  virtual void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                         milliseconds lifetime) = 0;
  // From now on a store that cannot be reached is tried again until `deadline` (for a second if
  // that has passed), which may be earlier or later than the store's own time limit; without a
  // deadline that limit holds again.
  virtual void SetDeadline(const std::optional<Deadline>& deadline) {}
  // Removes what a dead run left under keys that begin with `prefix`, in stores without expiry.
  virtual void RemoveLeftovers(const std::string& prefix) {}

  // The local address that other hosts reach this one by, as the store sees it; empty if the store
  // cannot tell.
  virtual std::string LocalAddress() { return {}; }
  // "redis 10.0.0.1:6379", for messages.
  virtual std::string Description() const = 0;
};

// Makes a new connection whose keys all begin with "<prefix>/".
using StoreFactory = std::function<std::unique_ptr<StoreHandler>(const std::string& prefix)>;

// "a, b, c" for messages; at most ten, then "and 5 more".
std::string JoinKeys(const std::vector<std::string>& keys);
// Throws EnforceNotMet if the value is longer than StoreHandler::kMaxValueBytes.
void CheckValueSize(const std::string& key, size_t bytes);

CAFFE2_TYPE_NAME(std::unique_ptr<StoreHandler>, "std::unique_ptr<StoreHandler>");

}  // namespace caffe2
