// Gloo's TCP transport, changed so that no message from a socket can end the process.
#pragma once

#include <gloo/transport/context.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/peer_sockets.h"

namespace caffe2 {

// The transport of one context, with one pair for each other rank, over `sockets` (by rank), which
// are connected, non-blocking and trusted. Nothing listens. Waits take at most `timeout`. All
// contexts of one `address`, an IP address of this host, share one device and its thread. If Gloo
// cannot place a message, it closes the pair of that message, and waits for that pair throw Gloo's
// exception. Throws IoError if this process cannot use the address.
//
// The device's thread calls on_closed(rank) when the connection to a peer has ended, but not
// because this process closed it. Connections are reported in the order in which they ended. It
// must neither throw nor block.
std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           std::vector<Socket> sockets,
                                                           std::chrono::milliseconds timeout,
                                                           std::function<void(int)> on_closed);

}  // namespace caffe2
