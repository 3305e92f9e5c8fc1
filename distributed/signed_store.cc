#include "distributed/signed_store.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdlib>
#include <utility>

#include "caffe2/core/usage_error.h"
#include "distributed/private_file.h"

namespace caffe2 {

namespace {

constexpr char kScheme[] = "hmac-sha256 ";
constexpr size_t kSchemeBytes = sizeof kScheme - 1;
constexpr char kVariable[] = "CAFFE2_SECRET_FILE";
// The first character of what is signed.
constexpr char kValue = 'v', kCounter = 'c';

std::string HmacSha256(const std::string& secret, const std::string& text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  CAFFE_ENFORCE(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes,
                     &size) != nullptr,
                "HMAC-SHA256 is not available in this OpenSSL");
  static const char kHex[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += {kHex[bytes[i] >> 4], kHex[bytes[i] & 15]};
  return hex;
}

class SignedStoreHandler final : public StoreHandler {
 public:
  SignedStoreHandler(std::unique_ptr<StoreHandler> base, const std::string& prefix,
                     std::string secret)
      : base_(std::move(base)),
        prefix_(prefix.empty() ? "" : prefix + "/"),
        secret_(std::move(secret)) {}

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    return base_->SetIfAbsent(key, Signed(key, kValue + value));
  }
  void Put(const std::string& key, const std::string& value, milliseconds lifetime) override {
    base_->Put(key, Signed(key, kValue + value), lifetime);
  }
  std::optional<std::string> TryGet(const std::string& key) override {
    const auto content = Content(key);
    if (!content) return std::nullopt;
    if ((*content)[0] == kCounter) return std::to_string(LastCount(key).second);
    return content->substr(1);
  }
  // Each sum is a new key, because nobody can sign what INCRBY will make of a value.
  int64_t Add(const std::string& key, int64_t delta) override {
    const std::string head(1, kCounter);
    if (!base_->SetIfAbsent(key, Signed(key, head)) && Content(key) != head) {
      ThrowIoError(ExitCode::kIo, Description(), ": key ", prefix_, key, " is not a counter");
    }
    while (true) {
      const auto [index, sum] = LastCount(key);
      if (SetIfAbsent(CountKey(key, index + 1), std::to_string(sum + delta))) return sum + delta;
    }
  }
  bool Check(const std::vector<std::string>& keys) override { return base_->Check(keys); }
  bool Remove(const std::string& key) override {
    for (const std::string& count : CountsOf(key)) base_->Remove(count);
    return base_->Remove(key);
  }
  void Expire(const std::string& key, milliseconds lifetime) override {
    for (const std::string& count : CountsOf(key)) base_->Expire(count, lifetime);
    base_->Expire(key, lifetime);
  }
  void SetFields(const std::string& key, const std::map<std::string, std::string>& fields,
                 milliseconds lifetime) override {
    base_->SetFields(key, fields, lifetime);
  }
  void SetDeadline(const std::optional<Deadline>& deadline) override {
    base_->SetDeadline(deadline);
  }
  void RemoveLeftovers(const std::string& prefix) override { base_->RemoveLeftovers(prefix); }
  std::string LocalAddress() override { return base_->LocalAddress(); }
  std::string Description() const override { return base_->Description(); }

 private:
  static std::string CountKey(const std::string& key, int64_t index) {
    return MakeString(key, "+", index);
  }

  std::string Signature(const std::string& key, const std::string& content) const {
    const std::string full = prefix_ + key;
    return HmacSha256(secret_, MakeString(full.size(), ":", full, content));
  }
  std::string Signed(const std::string& key, const std::string& content) const {
    return kScheme + Signature(key, content) + " " + content;
  }

  // The signed content of a key; nullopt if the key does not exist.
  std::optional<std::string> Content(const std::string& key) {
    const auto text = base_->TryGet(key);
    if (!text) return std::nullopt;
    const bool marked = text->rfind(kScheme, 0) == 0 && text->size() >= kSignatureBytes;
    if (marked) {
      std::string content = text->substr(kSignatureBytes - 1);
      const std::string right = Signature(key, content);
      if (CRYPTO_memcmp(text->data() + kSchemeBytes, right.data(), right.size()) == 0) {
        return content;
      }
    }
    ThrowIoError(ExitCode::kNotPermitted, Description(), ": the value of key ", prefix_, key,
                 marked ? " has a wrong signature" : " is not signed",
                 ": it is forged, or a shard has another --secret_file (", kVariable, ") or none");
  }

  // The number of the last key of a counter (0 if there is none) and the sum in it.
  std::pair<int64_t, int64_t> LastCount(const std::string& key) {
    std::pair<int64_t, int64_t> last{0, 0};
    while (const auto content = Content(CountKey(key, last.first + 1))) {
      last = {last.first + 1, std::strtoll(content->c_str() + 1, nullptr, 10)};
    }
    return last;
  }

  // The keys of a counter; none if the key is no counter.
  std::vector<std::string> CountsOf(const std::string& key) {
    std::vector<std::string> counts;
    while (base_->Check({CountKey(key, static_cast<int64_t>(counts.size()) + 1)})) {
      counts.push_back(CountKey(key, static_cast<int64_t>(counts.size()) + 1));
    }
    return counts;
  }

  const std::unique_ptr<StoreHandler> base_;
  const std::string prefix_, secret_;
};

}  // namespace

StoreFactory SignedStores(StoreFactory stores, const std::string& secret) {
  if (secret.empty()) return stores;
  return [stores = std::move(stores), secret](const std::string& prefix) {
    return std::make_unique<SignedStoreHandler>(stores(prefix), prefix, secret);
  };
}

std::string FindStoreSecret(const std::string& path) {
  const char* variable = path.empty() ? std::getenv(kVariable) : nullptr;
  const std::string file = variable == nullptr ? path : variable;
  if (file.empty()) return "";
  const std::string secret = ReadPrivateFile(file, "the secret file");
  CheckUsage(secret.size() >= kMinSecretBytes, "the secret file ", file, " begins with a line of ",
             secret.size(), " bytes; it needs ", kMinSecretBytes,
             ": make it with openssl rand -hex 32");
  return secret;
}

}  // namespace caffe2
