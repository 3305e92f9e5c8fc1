// Memory that the shards of one machine share, and the sockets that show which of them live.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/collective.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// A mapping of the same bytes in every shard of a group, and a Unix socket to each other shard.
// Nothing of it has a name in a file system: the kernel frees it when the last shard is gone.
class SharedMemory {
 public:
  struct Peer {
    std::string host;
    int64_t pid = 0;
  };
  // The outcome of Attach, the same on all shards.
  struct Attached {
    std::shared_ptr<SharedMemory> memory;  // null if the shards cannot share memory
    bool one_machine = false;
    std::string obstacle;  // why they cannot, with the rank
  };

  // Maps `bytes` bytes, initially 0, into all shards of `control`. All shards must call it with the
  // same `name` and size. Once all have called it, it takes at most `timeout`; the time limit of
  // `control` says how late a shard may be. A shard that does not take part passes the reason as
  // `refusal`; then no shard gets memory. Throws what `control` throws, and PeerLost from `check`.
  static Attached Attach(Communicator* control, const std::string& name, size_t bytes,
                         milliseconds timeout, const std::string& refusal,
                         const WaitCheck& check = {});
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  char* data() { return data_; }
  // True if all shards may run at the same time, each on a core of its own.
  bool has_core_for_each() const { return has_core_for_each_; }
  // "rank 2 (host a, pid 17, shared memory)"
  std::string Describe(int rank) const;
  // The rank of a shard that closed its sockets or whose process ended; -1 if there is none.
  // Thread-safe.
  int FindLost() const;
  // Closes the sockets for the other shards: their FindLost() finds this one. Thread-safe.
  void Close();

 private:
  struct Place;
  class BoundedWait;
  SharedMemory(int rank, const std::vector<Place>& places, size_t bytes);
  void ConnectSockets(const std::vector<Place>& places, int listener, const BoundedWait& wait);
  void AcceptPeers(const Place& own, int listener, const BoundedWait& wait);
  bool Adopt(int fd, const Place& own);
  int ShareSegment(const BoundedWait& wait);
  void Map(int segment);

  const int rank_;
  const size_t bytes_;
  bool has_core_for_each_ = false;
  std::vector<Peer> peers_;
  std::vector<int> sockets_;  // by rank; -1 for this one
  char* data_ = nullptr;
};

}  // namespace caffe2
