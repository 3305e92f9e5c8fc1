#include "distributed/store_url.h"

#include <algorithm>

#include "caffe2/core/usage_error.h"
#include "distributed/percent_code.h"
#include "distributed/run_record.h"

namespace caffe2 {

namespace {

constexpr char kForms[] =
    "it must be tcp://host:port, redis://[:password@]host[:port][/db] (rediss:// with TLS), "
    "file:///directory or env://";
constexpr int kRedisPort = 6379;
constexpr size_t kMaxDigits = 9;

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// True for a name or an address without characters that have a meaning in a URL or a command.
bool IsHost(const std::string& text) {
  return !text.empty() && text.size() < 256 && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
         });
}

std::string DecodedPart(const std::string& name, const std::string& url, const std::string& part) {
  const auto decoded = PercentDecode(part);
  if (!decoded) {
    ThrowUsage(name, " ", WithoutPassword(url),
               ": a % in user or password is not followed by two hexadecimal digits; write a % of "
               "the password itself as %25");
  }
  return *decoded;
}

StoreUrl ParseFile(const std::string& name, const std::string& text, const std::string& rest) {
  if (rest.size() < 2 || rest[0] != '/') {
    ThrowUsage(name, " ", WithoutPassword(text),
               ": the path must be absolute: file:///directory, with three slashes");
  }
  StoreUrl url;
  url.kind = StoreUrl::Kind::kFile;
  url.path = rest;
  return url;
}

StoreUrl ParseTcp(const std::string& name, const std::string& text, const std::string& rest) {
  const HostPort parsed = ParseHostPort(name + " " + WithoutPassword(text), rest);
  StoreUrl url;
  url.kind = StoreUrl::Kind::kTcp;
  url.host = parsed.host;
  url.port = parsed.port;
  return url;
}

StoreUrl ParseRedis(const std::string& name, const std::string& text, std::string rest) {
  StoreUrl url;
  url.kind = StoreUrl::Kind::kRedis;
  if (const size_t at = rest.rfind('@'); at != std::string::npos) {
    const std::string login = rest.substr(0, at);
    const size_t colon = login.find(':');
    url.user = DecodedPart(name, text, login.substr(0, colon));
    if (colon != std::string::npos) url.password = DecodedPart(name, text, login.substr(colon + 1));
    rest = rest.substr(at + 1);
  }
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    const std::string database = rest.substr(slash + 1);
    if (!database.empty() && !IsNumber(database)) {
      ThrowUsage(name, " ", WithoutPassword(text), ": \"", database,
                 "\" is not the number of a Redis database");
    }
    if (!database.empty()) url.database = std::stoi(database);
    rest = rest.substr(0, slash);
  }
  const HostPort parsed = ParseHostPort(name + " " + WithoutPassword(text), rest, kRedisPort);
  url.host = parsed.host;
  url.port = parsed.port;
  return url;
}

}  // namespace

std::string WithoutPassword(const std::string& text) {
  const size_t scheme = text.find("://"), at = text.rfind('@');
  if (at == std::string::npos) return OneLine(text);
  const size_t login = scheme == std::string::npos || scheme > at ? 0 : scheme + 3;
  return OneLine(text.substr(0, login) + "..." + text.substr(at));
}

std::string FormatHostPort(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

HostPort ParseHostPort(const std::string& name, const std::string& text, int default_port) {
  HostPort parsed;
  std::string port;
  const size_t bracket = text.rfind(']'), colon = text.rfind(':');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  parsed.host = text.substr(0, has_port ? colon : std::string::npos);
  if (has_port) port = text.substr(colon + 1);
  if (parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']') {
    parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  } else if (parsed.host.find(':') != std::string::npos) {
    ThrowUsage(name, ": write an IPv6 address in brackets, like [::1]:29500");
  }
  if (!IsHost(parsed.host)) {
    ThrowUsage(name, ": \"", OneLine(parsed.host), "\" is not the name or the address of a host");
  }
  if (!has_port && default_port > 0) {
    parsed.port = default_port;
    return parsed;
  }
  if (!has_port) ThrowUsage(name, ": the port is missing: write host:port");
  parsed.port = IsNumber(port) ? std::stoi(port) : 0;
  if (parsed.port < 1 || parsed.port > 65535) {
    ThrowUsage(name, ": the port is \"", OneLine(port), "\", must be from 1 to 65535");
  }
  return parsed;
}

std::string StoreUrl::ToString() const {
  switch (kind) {
    case Kind::kNone:
      return "";
    case Kind::kFile:
      return "file://" + path;
    case Kind::kRedis:
      return (tls ? "rediss://" : "redis://") + FormatHostPort(host, port) +
             (database == 0 ? "" : "/" + std::to_string(database));
    case Kind::kTcp:
      break;
  }
  const std::string last = num_ports > 1 ? "-" + std::to_string(port + num_ports - 1) : "";
  return "tcp://" + FormatHostPort(host, port) + last;
}

StoreUrl ParseStoreUrl(const std::string& text, const std::string& name) {
  const size_t end = text.find("://");
  const std::string scheme = text.substr(0, end == std::string::npos ? 0 : end);
  const std::string rest = end == std::string::npos ? "" : text.substr(end + 3);
  if (scheme == "tcp") return ParseTcp(name, text, rest);
  if (scheme == "redis" || scheme == "rediss") {
    StoreUrl url = ParseRedis(name, text, rest);
    url.tls = scheme == "rediss";
    return url;
  }
  if (scheme == "file") return ParseFile(name, text, rest);
  ThrowUsage(name, " is \"", WithoutPassword(text), "\"; ", kForms);
}

}  // namespace caffe2
