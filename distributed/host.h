// This machine and its processes, as the shards of a run see them.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// A process that can be told apart from a later one with the same pid, and from one elsewhere.
struct ProcessId {
  std::string host;
  std::string boot_id;  // of the kernel: equal exactly for processes of one running machine
  int64_t pid = 0;
  int64_t start_time = 0;  // in clock ticks since boot
  // The namespace of the pid, "pid:[4026531836]": a container has one of its own.
  std::string pid_namespace;

  static ProcessId Self();
  // The same machine.
  bool shares_machine() const;
  // The same machine and pid namespace, so that IsAlive() can tell.
  bool on_this_host() const;
  // For processes on this host: it still runs (a stopped one does).
  bool IsAlive() const;
};

// The kernel's default for writing to a closed connection is to end the process; stores and
// communicators report it as an error instead. Leaves a handler that the program has set.
void IgnoreBrokenPipes();

// The local address of a connected or bound socket, without the port; empty if there is none.
std::string SocketAddress(int fd);
// The local address from which this host would reach other hosts; "127.0.0.1" without a network.
std::string RoutedAddress();
bool IsLoopback(const std::string& address);

struct Interface {
  std::string name;
  std::string address;
};
// Interfaces that are up and have an address, IPv4 first.
std::vector<Interface> ListInterfaces();
// The address of an interface given by name (or by one of its addresses). Throws EnforceNotMet
// that lists the interfaces there are.
std::string InterfaceAddress(const std::string& name);

}  // namespace caffe2
