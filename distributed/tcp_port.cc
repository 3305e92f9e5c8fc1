#include "distributed/tcp_port.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "caffe2/core/logging.h"
#include "distributed/store_url.h"

namespace caffe2 {

namespace {

struct FreeList {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeList>;

AddressList Lookup(const std::string& host, const char* port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), port, &hints, &list);
  if (error != 0) {
    throw IoError(MakeString("the host name ", host, " cannot be resolved: ", gai_strerror(error)));
  }
  return AddressList(list);
}

// A socket of the address's family; -1 if this host does not support the family.
int MakeSocket(const addrinfo& address) {
  return socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

}  // namespace

std::vector<std::string> ResolveHost(const std::string& host) {
  const AddressList list = Lookup(host, nullptr, 0);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::count(addresses.begin(), addresses.end(), text) == 0) addresses.emplace_back(text);
  }
  return addresses;
}

PortState ProbePort(const std::string& address, int port) {
  const AddressList entry =
      Lookup(address, std::to_string(port).c_str(), AI_NUMERICHOST | AI_NUMERICSERV);
  const int fd = MakeSocket(*entry);
  if (fd < 0) return PortState::kNotThisHost;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool bound = bind(fd, entry->ai_addr, entry->ai_addrlen) == 0 && listen(fd, 1) == 0;
  const int error = errno;
  close(fd);
  if (bound) return PortState::kFree;
  if (error == EADDRINUSE) return PortState::kInUse;
  if (error == EADDRNOTAVAIL) return PortState::kNotThisHost;
  throw IoError(
      MakeString("cannot listen on ", FormatHostPort(address, port), ": ", std::strerror(error)));
}

bool AcceptsConnections(const std::string& address, int port, milliseconds timeout) {
  const AddressList entry =
      Lookup(address, std::to_string(port).c_str(), AI_NUMERICHOST | AI_NUMERICSERV);
  const int fd = MakeSocket(*entry);
  if (fd < 0) return false;
  bool connected = connect(fd, entry->ai_addr, entry->ai_addrlen) == 0;
  if (!connected && errno == EINPROGRESS) {
    pollfd wait{fd, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    connected = poll(&wait, 1, static_cast<int>(timeout.count())) == 1 &&
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  close(fd);
  return connected;
}

}  // namespace caffe2
