// A transport for Gloo, made of Gloo's public interface alone (gloo/transport/context.h). Gloo's
// own TCP transport connects with whoever comes first, and ends the process at a message that it
// cannot place.
#pragma once

#include <gloo/transport/context.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "distributed/peer_sockets.h"

namespace caffe2 {

// Carries the messages of Gloo's unbound buffers over one socket for each peer. No thread works in
// the background: a thread that waits for a buffer moves the bytes of all buffers, and a send moves
// what the socket takes at once.
//
// The messages from one peer arrive in the order in which it sends them. Each needs a receive with
// the same slot and number of bytes. A peer that sends another number of bytes, or another message
// than the one awaited, is a lost one: its connection ends.
//
// One thread at a time may use this and the buffers; Close() and the buffers' abortWait functions
// may be called by any thread. Buffers must not outlive this. They throw gloo::IoException if the
// connection to their peer has ended or the timeout (setTimeout) has passed, and
// gloo::InvalidOperationException for receives from any of several ranks. There are no pairs, which
// Gloo's own algorithms ask for.
class GlooTransport final : public gloo::transport::Context {
 public:
  // `sockets` has one for each rank, connected, non-blocking and trusted; the one of `rank` is not
  // open. on_closed(peer) is called when a connection has ended, but not by Close(), as
  // ConnectionWatch::Add says; before a wait throws because of it. Throws IoError if the process
  // may open no more files.
  GlooTransport(int rank, std::vector<Socket> sockets, const std::function<void(int)>& on_closed);
  ~GlooTransport() override;

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;  // throws
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* ptr,
                                                                      size_t size) override;
  // Waits call it about ten times a second from now on (null: not any more). They throw what it
  // throws.
  void SetWhileWaiting(std::function<void()> while_waiting) {
    while_waiting_ = std::move(while_waiting);
  }
  // Ends all connections. Waits in progress and later ones throw, here and on the other shards.
  void Close();

 private:
  class Buffer;
  class Connection;
  struct Operations;

  // Until an operation has completed. False if it was aborted.
  bool Wait(Operations* operations, int* rank, std::chrono::milliseconds timeout);
  void ThrowIfEnded(const Operations& operations);
  bool MoveBytes();
  void AwaitBytes(std::chrono::milliseconds limit);
  void Wake();

  std::vector<std::unique_ptr<Connection>> connections_;  // by rank; null: this rank
  const Socket wake_;                                     // an event that ends AwaitBytes
  std::function<void()> while_waiting_;
  std::mutex close_mutex_;
  std::atomic<bool> closed_{false};
};

}  // namespace caffe2
