// A transport for Gloo that uses only Gloo's public interface (gloo/transport/context.h). Gloo's
// own TCP transport accepts whoever connects first, and ends the process if it gets a message that
// it does not expect.
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
// than the awaited one, counts as lost: its connection ends.
//
// One thread at a time may use this and the buffers; Close() and the buffers' abortWait functions
// may be called by any thread. Buffers must not outlive this. They throw gloo::IoException if the
// connection to their peer has ended or the timeout (setTimeout) has passed, and
// gloo::InvalidOperationException for receives from any of several ranks. There are no pairs, which
// Gloo's own algorithms ask for.
class GlooTransport final : public gloo::transport::Context {
 public:
  // `sockets` has one for each rank, connected, non-blocking and trusted; the one of `rank` is not
  // open. on_closed(peer) is called when a connection has ended other than by Close(), as described
  // at ConnectionWatch::Add, and before a wait throws because of it. Throws IoError if the process
  // may open no more files.
  GlooTransport(int rank, std::vector<Socket> sockets, const std::function<void(int)>& on_closed);
  ~GlooTransport() override;

  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override;  // throws
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* ptr,
                                                                      size_t size) override;
  // From now on waits call the function about ten times a second (null: no longer). They throw what
  // it throws.
  void SetWhileWaiting(std::function<void()> while_waiting) {
    while_waiting_ = std::move(while_waiting);
  }
  // Ends all connections. Waits in progress and later ones throw, here and on the other shards.
  void Close();

 private:
  class Buffer;
  class Connection;
  struct Operations;

  // Waits until an operation has completed. False if it was aborted.
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
