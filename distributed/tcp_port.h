// Questions about TCP ports, here and elsewhere.
#pragma once

#include <string>
#include <vector>

#include "distributed/store_handler.h"

namespace caffe2 {

// The addresses of a host, by name or address, each once. Throws IoError if there are none.
std::vector<std::string> ResolveHost(const std::string& host);

enum class PortState { kFree, kInUse, kNotThisHost };
// Whether this process could listen on the port of an address now. Throws IoError where it may not
// (ports below 1024).
PortState ProbePort(const std::string& address, int port);

// True if somebody accepts a connection on the port within `timeout`.
bool AcceptsConnections(const std::string& address, int port, milliseconds timeout);

}  // namespace caffe2
