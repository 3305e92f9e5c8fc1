// Gloo's TCP transport, so that nothing which arrives on a socket ends the process.
#pragma once

#include <gloo/transport/context.h>

#include <memory>
#include <string>

namespace caffe2 {

// The transport of one context; its pairs listen on `address`, an IP address of this host. All
// contexts of one address share one device, with its one thread. A message that Gloo cannot place
// closes the pair it came on: whoever waits for that pair gets Gloo's exception. Throws IoError if
// the address cannot be listened on.
std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           int size);

}  // namespace caffe2
