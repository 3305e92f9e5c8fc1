// A Gloo context whose shards are all connected with each other, by our own rendezvous: readable
// addresses, one wall-clock deadline, a check of who is at the other end.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/store_handler.h"

namespace caffe2 {

struct GlooPeer {
  std::string host;
  int64_t pid = 0;
  std::string address;  // "10.0.0.1:40123"
};

// Owns the connections of one context. Not synchronised, but Close() may be called at any time.
class GlooMesh {
 public:
  // Given this shard's text, returns those of all shards, by rank; `attempt` counts from 0.
  using Exchange =
      std::function<std::vector<std::string>(int attempt, const std::string&, const Deadline&)>;

  // Connects with all other shards. A stranger that reaches one of the listening ports first fails
  // the attempt on all shards, and they try again as long as the deadline allows. Throws PeerLost
  // or PeerTimeout, naming the peer.
  static std::unique_ptr<GlooMesh> Connect(int rank, int size, const std::string& address,
                                           const Exchange& exchange, milliseconds timeout);

  virtual ~GlooMesh() = default;
  virtual gloo::Context& context() = 0;
  virtual const GlooPeer& peer(int rank) const = 0;
  // "rank 2 (host a, pid 17, 10.0.0.1:40123)"
  std::string Describe(int rank) const;
  // Ends all connections: operations in progress fail.
  virtual void Close() = 0;
};

}  // namespace caffe2
