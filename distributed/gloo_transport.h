// Gloo's TCP transport, so that nothing which arrives on a socket ends the process.
#pragma once

#include <gloo/transport/context.h>

#include <chrono>
#include <memory>
#include <string>

namespace caffe2 {

// The transport of one context, with a pair for each other rank; they listen on `address`, an IP
// address of this host, and their waits take `timeout` (five times as long for a connection). All
// contexts of one address share one device, with its one thread. A message that Gloo cannot place
// closes the pair it came on: whoever waits for that pair gets Gloo's exception. Throws IoError if
// the address cannot be listened on.
std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           int size,
                                                           std::chrono::milliseconds timeout);

}  // namespace caffe2
