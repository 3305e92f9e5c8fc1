// The identity of processes, and the network addresses of this host.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// Identifies a process uniquely: no later process with the same pid, and no process on another
// host, has an equal ProcessId.
struct ProcessId {
  std::string host;
  std::string boot_id;  // the kernel's: equal for all processes since one boot of one machine
  int64_t pid = 0;
  int64_t start_time = 0;  // in clock ticks since boot
  // The namespace of the pid, "pid:[4026531836]". Each container has its own.
  std::string pid_namespace = {};

  static ProcessId Self();
  // True if the process runs on the same machine as this one.
  bool shares_machine() const;
  // True if the process also has the pid namespace of this one, which IsAlive() needs.
  bool on_this_host() const;
  // True if the process runs or is stopped. Also true if this process has no file descriptor left,
  // because it then cannot tell. Only for processes on this host.
  bool IsAlive() const;
  // True if it is known to be stopped, by SIGSTOP or a debugger. Only for processes on this host.
  bool IsStopped() const;
};

// Ignores SIGPIPE, unless the program has set a handler. By default the kernel ends a process that
// writes to a closed connection; stores and communicators throw an error instead.
void IgnoreBrokenPipes();

// The local address of a connected or bound socket, without the port; empty if there is none.
std::string SocketAddress(int fd);
// The local address that this host uses to reach other hosts; "127.0.0.1" without a network.
std::string RoutedAddress();
bool IsLoopback(const std::string& address);

struct Interface {
  std::string name;
  std::string address;
};
// Interfaces that are up and have an address, IPv4 first.
std::vector<Interface> ListInterfaces();
// The address of the interface with this name or address. Throws UsageError, which lists the
// interfaces of this host, if there is none.
std::string InterfaceAddress(const std::string& name);

}  // namespace caffe2
