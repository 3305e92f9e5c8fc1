// A Gloo context that connects all shards with each other. It replaces Gloo's rendezvous: addresses
// are readable, one wall-clock deadline covers everything, and both ends check who the other is.
#pragma once

#include <gloo/context.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/peer_sockets.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct GlooPeer {
  std::string host;
  int64_t pid = 0;
  std::string address;  // "10.0.0.1:40123"
};

// Owns the connections of one context. Not thread-safe, except for Close().
class GlooMesh {
 public:
  // Gives this shard's text to all shards and returns the texts of all shards, by rank.
  using Exchange =
      std::function<std::vector<std::string>(const std::string& text, const Deadline&)>;

  // Connects with all other shards (ConnectPeers). While it connects, it listens on `address`, on
  // one of `ports`, and calls `check` with Describe() of a missing peer. Throws PeerLost or
  // PeerTimeout with the peer, and IoError if all ports are in use.
  static std::unique_ptr<GlooMesh> Connect(int rank, int size, const std::string& address,
                                           const PortRange& ports, const Exchange& exchange,
                                           milliseconds timeout, const WaitCheck& check);

  virtual ~GlooMesh() = default;
  virtual gloo::Context& context() = 0;
  virtual const GlooPeer& peer(int rank) const = 0;
  // "rank 2 (host a, pid 17, 10.0.0.1:40123)"
  std::string Describe(int rank) const;
  // The peer whose connection was the first to end, other than by Close(); -1: none. The
  // connections of a shard that dies end before other shards close theirs because of its death.
  virtual int first_closed() const = 0;
  // Ends all connections: operations in progress fail. Any thread may call it.
  virtual void Close() = 0;
};

}  // namespace caffe2
