// Looks up host addresses and probes TCP ports.
#pragma once

#include <string>
#include <vector>

#include "distributed/store_handler.h"

namespace caffe2 {

// The addresses of a host given by name or address, without duplicates. Throws IoError if the host
// cannot be resolved.
std::vector<std::string> ResolveHost(const std::string& host);

enum class PortState { kFree, kInUse, kNotThisHost };
// Finds out whether this process could listen on the port of an address now. Throws IoError if it
// has no permission (ports below 1024).
PortState ProbePort(const std::string& address, int port);

// True if a process accepts a connection on the port within `timeout`.
bool AcceptsConnections(const std::string& address, int port, milliseconds timeout);

}  // namespace caffe2
