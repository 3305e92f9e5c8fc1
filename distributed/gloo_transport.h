// Gloo's TCP transport, changed so that no message from a socket can end the process.
#pragma once

#include <gloo/transport/context.h>

#include <chrono>
#include <memory>
#include <string>

namespace caffe2 {

// The transport of one context, with one pair for each other rank. The pairs listen on `address`,
// an IP address of this host. Waits take at most `timeout`, waits for a connection five times as
// long. All contexts of one address share one device and its thread. If Gloo cannot place a
// message, it closes the pair of that message, and waits for that pair throw Gloo's exception.
// Throws IoError if this process cannot listen on the address.
std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           int size,
                                                           std::chrono::milliseconds timeout);

}  // namespace caffe2
