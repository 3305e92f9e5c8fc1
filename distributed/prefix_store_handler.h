// A view of another store in which every key has a prefix.
#pragma once

#include <utility>

#include "distributed/store_handler.h"

namespace caffe2 {

// Puts "<prefix>/" before every key (nothing if the prefix is empty) and calls the base store.
class PrefixStoreHandler : public StoreHandler {
 public:
  PrefixStoreHandler(std::unique_ptr<StoreHandler> base, std::string prefix)
      : PrefixStoreHandler(base.get(), std::move(prefix)) {
    owned_ = std::move(base);
  }
  // `base` must outlive this.
  PrefixStoreHandler(StoreHandler* base, std::string prefix)
      : base_(base), prefix_(prefix.empty() ? "" : std::move(prefix) + "/") {}

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    return base_->SetIfAbsent(prefix_ + key, value);
  }
  void Put(const std::string& key, const std::string& value, milliseconds lifetime) override {
    base_->Put(prefix_ + key, value, lifetime);
  }
  std::optional<std::string> TryGet(const std::string& key) override {
    return base_->TryGet(prefix_ + key);
  }
  int64_t Add(const std::string& key, int64_t delta) override {
    return base_->Add(prefix_ + key, delta);
  }
  bool Check(const std::vector<std::string>& keys) override {
    std::vector<std::string> full;
    for (const std::string& key : keys) full.push_back(prefix_ + key);
    return base_->Check(full);
  }
  bool Remove(const std::string& key) override { return base_->Remove(prefix_ + key); }
  void Expire(const std::string& key, milliseconds lifetime) override {
    base_->Expire(prefix_ + key, lifetime);
  }
  void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                 milliseconds lifetime) override {
    base_->SetFields(prefix_ + key, fields, lifetime);
  }
  void SetDeadline(const std::optional<Deadline>& deadline) override {
    base_->SetDeadline(deadline);
  }
  void RemoveLeftovers(const std::string& prefix) override {
    base_->RemoveLeftovers(prefix_ + prefix);
  }
  std::string LocalAddress() override { return base_->LocalAddress(); }
  std::string Description() const override { return base_->Description(); }

 private:
  std::unique_ptr<StoreHandler> owned_;
  StoreHandler* base_;
  std::string prefix_;
};

}  // namespace caffe2
