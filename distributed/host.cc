#include "distributed/host.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "caffe2/core/usage_error.h"

namespace caffe2 {

namespace {

// Field 22 of /proc/<pid>/stat and the state before it; {0, 'X'} if there is no such process;
// nullopt if the file cannot be read, because this process has no file descriptor left.
std::optional<std::pair<int64_t, char>> StartTimeAndState(int64_t pid) {
  const std::string path = MakeString("/proc/", pid, "/stat");
  std::ifstream file(path);
  if (!file && access(path.c_str(), F_OK) == 0) return std::nullopt;
  std::string text;
  std::getline(file, text,
               '\0');  // a process that ends now makes the read fail; this does not throw
  const size_t name_end = text.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return std::pair<int64_t, char>{0, 'X'};
  std::istringstream fields(text.substr(name_end + 1));
  char state = 'X';
  fields >> state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  int64_t start_time = 0;
  fields >> start_time;
  return std::pair{start_time, state};
}

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string AddressText(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

}  // namespace

ProcessId ProcessId::Self() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::error_code unknown;  // on an error the name is empty
  return {host, FirstLine("/proc/sys/kernel/random/boot_id"), getpid(),
          StartTimeAndState(getpid()).value_or(std::pair<int64_t, char>{0, 'X'}).first,
          std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string()};
}

bool ProcessId::shares_machine() const {
  static const ProcessId self = Self();
  return boot_id == self.boot_id && !boot_id.empty();
}

// The host name does not identify a host: containers may share a name, and it may change while a
// process runs.
bool ProcessId::on_this_host() const {
  static const ProcessId self = Self();
  return shares_machine() && pid_namespace == self.pid_namespace &&
         (!pid_namespace.empty() || host == self.host);
}

bool ProcessId::IsAlive() const {
  const auto found = StartTimeAndState(pid);
  if (!found) return true;
  const auto [start, state] = *found;
  return start == start_time && state != 'Z' && state != 'X';
}

bool ProcessId::IsStopped() const {
  const auto found = StartTimeAndState(pid);
  if (!found) return false;
  const auto [start, state] = *found;
  return start == start_time && (state == 'T' || state == 't');
}

void IgnoreBrokenPipes() {
  struct sigaction action;
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    signal(SIGPIPE, SIG_IGN);
  }
}

std::string SocketAddress(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return AddressText(reinterpret_cast<sockaddr*>(&address));
}

std::string RoutedAddress() {
  // Connecting a datagram socket sends nothing; it only looks up the route.
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in anywhere{};
  anywhere.sin_family = AF_INET;
  anywhere.sin_port = htons(9);
  inet_pton(AF_INET, "192.0.2.1", &anywhere.sin_addr);  // reserved for documentation
  std::string address;
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&anywhere), sizeof anywhere) == 0) {
    address = SocketAddress(fd);
  }
  if (fd >= 0) close(fd);
  return address.empty() ? "127.0.0.1" : address;
}

bool IsLoopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1";
}

std::vector<Interface> ListInterfaces() {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      if ((entry->ifa_flags & IFF_UP) == 0) continue;
      found.push_back({entry->ifa_name, AddressText(entry->ifa_addr)});
    }
  }
  freeifaddrs(list);
  return found;
}

std::string InterfaceAddress(const std::string& name) {
  std::string known;
  for (const Interface& interface : ListInterfaces()) {
    if (interface.name == name || interface.address == name) return interface.address;
    known += " " + interface.name + "=" + interface.address;
  }
  ThrowUsage("there is no network interface ", name, " with an address; this host has",
             known.empty() ? " none" : ":" + known);
}

}  // namespace caffe2
