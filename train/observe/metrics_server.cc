#include "train/observe/metrics_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "caffe2/core/exit_code.h"
#include "distributed/tcp_port.h"

namespace caffe2 {
namespace {

constexpr unsigned kMaxConnections = 16, kIdleSeconds = 10;
constexpr char kPath[] = "/metrics";

MHD_Result Respond(MHD_Connection* connection, unsigned status, const std::string& text) {
  MHD_Response* response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                          "text/plain; version=0.0.4; charset=utf-8");
  const MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

// MHD calls it once for the head of a request, and again when the body is complete.
MHD_Result Answer(void* text, MHD_Connection* connection, const char* path, const char* method,
                  const char* /*version*/, const char* /*body*/, size_t* body_size, void** state) {
  static char seen;
  if (*state == nullptr) {
    *state = &seen;
    return MHD_YES;
  }
  if (*body_size != 0) {
    *body_size = 0;  // dropped
    return MHD_YES;
  }
  const bool reads = std::strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
                     std::strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
  if (!reads) return Respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
  if (std::strcmp(path, kPath) != 0) {
    return Respond(connection, MHD_HTTP_NOT_FOUND, MakeString("see ", kPath, "\n"));
  }
  return Respond(connection, MHD_HTTP_OK,
                 (*static_cast<const std::function<std::string()>*>(text))());
}

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

SocketAddress ParseAddress(const std::string& address, int port) {
  SocketAddress parsed{};
  const uint16_t network_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &parsed.v4.sin_addr) == 1) {
    parsed.v4.sin_family = AF_INET;
    parsed.v4.sin_port = network_port;
    return parsed;
  }
  parsed = {};
  CAFFE_ENFORCE(inet_pton(AF_INET6, address.c_str(), &parsed.v6.sin6_addr) == 1, "\"", address,
                "\" is not an IP address");
  parsed.v6.sin6_family = AF_INET6;
  parsed.v6.sin6_port = network_port;
  return parsed;
}

void CheckPort(const std::string& address, int port) {
  if (port == 0) return;
  const PortState state = ProbePort(address, port);
  if (state == PortState::kInUse) {
    ThrowIoError(ExitCode::kSystem, "cannot serve metrics at ", address, ":", port,
                 ": another program uses this port");
  }
  if (state == PortState::kNotThisHost) {
    ThrowIoError(ExitCode::kSystem, "cannot serve metrics at ", address, ":", port,
                 ": this host does not have this address");
  }
}

}  // namespace

struct MetricsServer::Daemon {
  explicit Daemon(MHD_Daemon* started) : daemon(started) {}
  ~Daemon() { MHD_stop_daemon(daemon); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  MHD_Daemon* const daemon;
};

MetricsServer::MetricsServer(const std::string& address, int port,
                             std::function<std::string()> text)
    : text_(std::move(text)) {
  const std::string ip = ResolveHost(address).at(0);
  CheckPort(ip, port);
  const SocketAddress bound = ParseAddress(ip, port);
  unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD;
  if (bound.any.sa_family == AF_INET6) flags |= MHD_USE_IPv6;
  errno = 0;
  MHD_Daemon* daemon =
      MHD_start_daemon(flags, static_cast<uint16_t>(port), nullptr, nullptr, Answer,
                       const_cast<std::function<std::string()>*>(&text_), MHD_OPTION_SOCK_ADDR,
                       &bound.any, MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
                       MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_END);
  if (daemon == nullptr) {
    ThrowIoError(ExitCode::kSystem, "cannot serve metrics at ", address, ":", port, ": ",
                 std::strerror(errno));
  }
  daemon_ = std::make_unique<Daemon>(daemon);
}

MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const {
  return MHD_get_daemon_info(daemon_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace caffe2
