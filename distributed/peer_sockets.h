// Sockets between the shards of a common world, each checked by both ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "distributed/store_handler.h"

namespace caffe2 {

// The ports at which a shard may listen, `last` included; 0 to 0: the system chooses.
struct PortRange {
  int first = 0, last = 0;
};
// Parses "4000-4010" or "" (the system chooses). Throws UsageError, which begins with `name`.
PortRange ParsePortRange(const std::string& name, const std::string& text);

// Owns a file descriptor.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.Release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int Release();

 private:
  int fd_;
};

// A socket at which a shard waits for its peers.
class PeerListener {
 public:
  // Listens on the first free port of the range. Throws IoError with address and range if there is
  // none.
  PeerListener(const std::string& address, const PortRange& ports);
  int fd() const { return socket_.fd(); }
  int port() const { return port_; }

 private:
  Socket socket_;
  int port_ = 0;
};

// What a shard must know of a peer.
struct PeerEndpoint {
  std::string address;  // an IP address
  int port = 0;
  uint64_t password_to_send = 0;  // published by the peer for this shard, which must send it
  uint64_t own_password = 0;      // published by this shard for the peer
};

// Connects with all peers: higher ranks call lower ones. `endpoints` has one entry for each rank.
// Both ends of a connection send a greeting with ranks and password. Returns non-blocking sockets
// by rank; the one of `rank` is not open.
//
// Whoever sends anything else, or nothing for three seconds, is a stranger. Strangers are dropped
// and counted, and do not delay the peers; of more than 64 that say nothing, the oldest is dropped.
//
// A refused or broken call is repeated until the deadline. If a peer is still missing then, throws
// PeerTimeout with the first such rank and describe(rank). While it waits, it calls `check` with
// describe(rank).
std::vector<Socket> ConnectPeers(const PeerListener& listener, int rank,
                                 const std::vector<PeerEndpoint>& endpoints,
                                 const Deadline& deadline,
                                 const std::function<std::string(int rank)>& describe,
                                 const WaitCheck& check = {});

// How many strangers this process has dropped. Thread-safe.
int64_t StrangersDropped();

}  // namespace caffe2
