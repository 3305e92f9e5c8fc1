#include <algorithm>
#include <cctype>

#include "caffe2/core/usage_error.h"
#include "distributed/launch_dialects.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr size_t kMaxNumberDigits = 9;
constexpr size_t kMaxShownBytes = 100;
constexpr size_t kMaxRunIdBytes = 200;
constexpr int kMaxPort = 65535;
constexpr int kFirstStorePort = 10240, kStorePortRanges = 1024;

bool IsDigits(const std::string& text) {
  return !text.empty() && text.size() <= kMaxNumberDigits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

bool LaunchVariables::HasAny(const std::vector<std::string>& names) const {
  return std::any_of(names.begin(), names.end(), [this](const auto& name) { return Has(name); });
}

std::string LaunchVariables::Missing(const std::vector<std::string>& names) const {
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!Has(name)) missing.push_back(name);
  }
  std::string text;
  for (size_t i = 0; i < missing.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == missing.size() ? " and " : ", ") + missing[i];
  }
  if (missing.empty()) return "";
  return text + (missing.size() == 1 ? " is not set" : " are not set");
}

std::string LaunchVariables::Shown(const std::string& name) const {
  const std::string line = OneLine(environment_.at(name));
  return name + "=\"" + line.substr(0, kMaxShownBytes) +
         (line.size() > kMaxShownBytes ? "...\"" : "\"");
}

std::optional<std::string> LaunchVariables::Text(const std::string& name) const {
  const auto found = environment_.find(name);
  if (found == environment_.end()) return std::nullopt;
  if (found->second.empty()) ThrowUsage(name, " is set but empty; set it to a value, or unset it");
  return found->second;
}

std::optional<int> LaunchVariables::Number(const std::string& name) const {
  const auto text = Text(name);
  if (!text) return std::nullopt;
  if (!IsDigits(*text) || std::stoi(*text) > kMaxShards) {
    ThrowUsage(Shown(name), " must be a number from 0 to ", kMaxShards);
  }
  return std::stoi(*text);
}

std::optional<int> LaunchVariables::FirstNumber(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (const auto number = Number(name)) return number;
  }
  return std::nullopt;
}

void LaunchVariables::ReadRank(const std::string& rank, const std::string& size,
                               Launch* launch) const {
  launch->size = Number(size).value();
  if (launch->size < 1) ThrowUsage(Shown(size), " must be at least 1");
  launch->rank = Number(rank).value();
  if (launch->rank >= launch->size) ThrowUsage(Shown(rank), " must be smaller than ", Shown(size));
}

void LaunchVariables::ReadLocalRank(const std::string& rank, const std::string& size,
                                    Launch* launch) const {
  launch->local_rank = Number(rank).value_or(0);
  launch->local_size = Number(size).value_or(0);
  if (!Has(size)) return;
  if (launch->local_rank >= launch->local_size) {
    ThrowUsage((Has(rank) ? Shown(rank) : rank + "=0"), " must be smaller than ", Shown(size));
  }
  if (launch->local_size > launch->size) {
    ThrowUsage(Shown(size), " is more than the ", launch->size, " processes of the whole launch");
  }
}

void LaunchVariables::ReadMaster(const std::string& host, int port, Launch* launch) const {
  const auto address = Text("MASTER_ADDR");
  const std::string master = address.value_or(host);
  if (master.empty()) {
    launch->store_hint = "MASTER_ADDR and MASTER_PORT";
    return;
  }
  launch->store = StoreAt(ReadHostPort(address ? "MASTER_ADDR and MASTER_PORT" : "MASTER_PORT",
                                       master, Text("MASTER_PORT").value_or(std::to_string(port))));
}

HostPort ReadHostPort(const std::string& name, const std::string& host, const std::string& port) {
  const bool ipv6 = host.find(':') != std::string::npos && host[0] != '[';
  return ParseHostPort(name, (ipv6 ? "[" + host + "]" : host) + ":" + port);
}

StoreUrl StoreAt(const HostPort& endpoint) {
  StoreUrl store;
  store.kind = StoreUrl::Kind::kTcp;
  store.host = endpoint.host;
  store.port = endpoint.port;
  store.num_ports = std::min(kStorePorts, kMaxPort + 1 - endpoint.port);
  return store;
}

StoreUrl StoreOnNextPort(const StoreUrl& store) {
  return StoreAt({store.host, std::min(store.port + 1, kMaxPort)});
}

std::string RunIdOf(const std::string& text) {
  std::string id = text.substr(0, kMaxRunIdBytes);
  for (char& c : id) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_';
    if (!plain) c = '-';
  }
  return id;
}

int StorePortOf(uint64_t number) {
  return kFirstStorePort + kStorePorts * static_cast<int>(number % kStorePortRanges);
}

}  // namespace caffe2
