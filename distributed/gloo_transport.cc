#include "distributed/gloo_transport.h"

#include <gloo/common/error.h>
#include <gloo/config.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "caffe2/utils/library_versions.h"
#include "distributed/connection_watch.h"
#include "distributed/store_handler.h"

namespace caffe2 {
namespace {

const RegisterLibraryVersion version("Gloo", MakeString(GLOO_VERSION_MAJOR, ".", GLOO_VERSION_MINOR,
                                                        ".", GLOO_VERSION_PATCH));

// What comes before the bytes of a message, in the byte order of the shards, which is the same.
struct Header {
  uint64_t slot = 0, bytes = 0;
};

constexpr std::chrono::milliseconds kBetweenCalls{100};  // of while_waiting

bool IsTemporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

// The sends, or the receives, of one buffer.
struct GlooTransport::Operations {
  std::vector<int> pending, completed;  // their peers; completed: no wait has returned yet
  std::atomic<bool> aborted{false};

  void Complete(int peer) {
    pending.erase(std::find(pending.begin(), pending.end(), peer));
    completed.push_back(peer);
  }
};

// The socket to one peer, and the messages that are under way on it.
class GlooTransport::Connection {
 public:
  Connection(int peer, Socket socket, const std::function<void(int)>& on_closed)
      : peer_(peer), socket_(std::move(socket)) {
    ConnectionWatch::OfProcess().Add(socket_.fd(), [peer, on_closed] { on_closed(peer); });
  }
  ~Connection() { Close(); }

  // Any thread may call it.
  void Close() {
    ConnectionWatch::OfProcess().Remove(socket_.fd());
    shutdown(socket_.fd(), SHUT_RDWR);
  }

  void Send(Operations* operations, uint64_t slot, const char* data, size_t bytes) {
    operations->pending.push_back(peer_);
    sends_.push_back({{slot, bytes}, const_cast<char*>(data), operations});
    Write();
  }
  void Receive(Operations* operations, uint64_t slot, char* data, size_t bytes) {
    operations->pending.push_back(peer_);
    receives_.push_back({{slot, bytes}, data, operations});
  }
  // The buffer of these operations is about to go.
  void Forget(const Operations* operations);

  bool MoveBytes() {
    const bool wrote = Write();
    return Read() || wrote;
  }
  // What poll() is to wait for; 0: nothing is under way.
  int16_t events() const {
    if (!end_.empty()) return 0;
    return static_cast<int16_t>((sends_.empty() ? 0 : POLLOUT) | (WantsToRead() ? POLLIN : 0));
  }
  int fd() const { return socket_.fd(); }
  // Why it has ended; "": it has not.
  const std::string& end() const { return end_; }
  // A wait for a receive from this peer cannot succeed if another message comes first.
  void CheckOrder(const Operations& operations);

 private:
  struct Message {
    Header header;
    char* data = nullptr;
    Operations* operations = nullptr;
  };

  bool WantsToRead() const {
    return arriving_.operations != nullptr || (!receives_.empty() && !is_early_);
  }
  bool Write();
  bool Read();
  // Reads into `to` what is missing of its `size` bytes. Returns the number read, 0 if there is
  // nothing now.
  size_t ReadSome(void* to, size_t size);
  // Chooses the receive of the message whose header has arrived.
  void FindReceive();
  void End(const std::string& why);

  const int peer_;
  const Socket socket_;
  std::deque<Message> sends_;
  size_t sent_ = 0;  // bytes of the first one, with its header
  std::vector<Message> receives_;
  Header header_;                 // of the message that arrives
  size_t received_ = 0;           // bytes of it, with its header
  bool is_early_ = false;         // it has no receive yet
  Message arriving_ = Message();  // its receive; without operations if it has none
  std::string end_;
};

void GlooTransport::Connection::End(const std::string& why) {
  if (!end_.empty()) return;
  end_ = MakeString("the connection to rank ", peer_, " has ended: ", why);
  // Connections that ended before come first. If the peer is at fault, its own one ends now.
  ConnectionWatch::OfProcess().Update();
  shutdown(socket_.fd(), SHUT_RDWR);
  ConnectionWatch::OfProcess().Update();
}

bool GlooTransport::Connection::Write() {
  bool moved = false;
  while (!sends_.empty() && end_.empty()) {
    Message& message = sends_.front();
    const size_t header = std::min(sent_, sizeof(Header)), body = sent_ - header;
    std::array<iovec, 2> parts = {
        {{reinterpret_cast<char*>(&message.header) + header, sizeof(Header) - header},
         {message.data + body, message.header.bytes - body}}};
    msghdr text{};
    text.msg_iov = parts.data();
    text.msg_iovlen = parts.size();
    const ssize_t n = sendmsg(socket_.fd(), &text, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) {
      if (!IsTemporary(errno)) End(std::strerror(errno));
      return moved;
    }
    moved = true;
    sent_ += static_cast<size_t>(n);
    if (sent_ < sizeof(Header) + message.header.bytes) continue;
    message.operations->Complete(peer_);
    sends_.pop_front();
    sent_ = 0;
  }
  return moved;
}

size_t GlooTransport::Connection::ReadSome(void* to, size_t size) {
  const ssize_t n = recv(socket_.fd(), to, size, MSG_DONTWAIT);
  if (n == 0) End("closed by the peer");
  if (n < 0 && !IsTemporary(errno)) End(std::strerror(errno));
  return n > 0 ? static_cast<size_t>(n) : 0;
}

void GlooTransport::Connection::FindReceive() {
  const auto found = std::find_if(receives_.begin(), receives_.end(), [&](const Message& each) {
    return each.header.slot == header_.slot;
  });
  is_early_ = found == receives_.end();
  if (is_early_) return;
  if (found->header.bytes != header_.bytes) {
    return End(MakeString("it sent a message of ", header_.bytes, " bytes where ",
                          found->header.bytes, " are expected"));
  }
  arriving_ = *found;
  receives_.erase(found);
}

bool GlooTransport::Connection::Read() {
  bool moved = false;
  while (end_.empty() && (arriving_.operations != nullptr || !receives_.empty())) {
    if (received_ < sizeof(Header)) {
      const size_t n =
          ReadSome(reinterpret_cast<char*>(&header_) + received_, sizeof(Header) - received_);
      if (n == 0) return moved;
      moved = true;
      received_ += n;
      if (received_ < sizeof(Header)) continue;
    }
    if (arriving_.operations == nullptr) FindReceive();
    if (arriving_.operations == nullptr) return moved;
    size_t missing = sizeof(Header) + header_.bytes - received_;
    if (missing > 0) {
      const size_t n = ReadSome(arriving_.data + header_.bytes - missing, missing);
      if (n == 0) return moved;
      moved = true;
      received_ += n;
      missing -= n;
    }
    if (missing > 0) continue;
    std::exchange(arriving_, Message()).operations->Complete(peer_);
    received_ = 0;
  }
  return moved;
}

void GlooTransport::Connection::CheckOrder(const Operations& operations) {
  if (is_early_) FindReceive();  // it may have been posted since
  if (!is_early_) return;
  const auto awaited = std::find_if(receives_.begin(), receives_.end(), [&](const Message& each) {
    return each.operations == &operations;
  });
  if (awaited == receives_.end()) return;
  End(MakeString("it sent message ", header_.slot, " where message ", awaited->header.slot,
                 " is expected"));
}

void GlooTransport::Connection::Forget(const Operations* operations) {
  const auto is_of = [&](const Message& each) { return each.operations == operations; };
  const bool begun = (sent_ > 0 && is_of(sends_.front())) || is_of(arriving_);
  if (begun) End("a message was given up");
  sends_.erase(std::remove_if(sends_.begin(), sends_.end(), is_of), sends_.end());
  receives_.erase(std::remove_if(receives_.begin(), receives_.end(), is_of), receives_.end());
  if (is_of(arriving_)) arriving_ = Message();
}

class GlooTransport::Buffer final : public gloo::transport::UnboundBuffer {
 public:
  Buffer(GlooTransport* transport, void* ptr, size_t size)
      : UnboundBuffer(ptr, size), transport_(transport) {}
  ~Buffer() override {
    for (const Operations* operations : {&sends_, &receives_}) {
      for (const int peer : operations->pending) {
        transport_->connections_[peer]->Forget(operations);
      }
    }
  }

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    return transport_->Wait(&receives_, rank, timeout);
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    return transport_->Wait(&sends_, rank, timeout);
  }
  void abortWaitRecv() override { Abort(&receives_); }
  void abortWaitSend() override { Abort(&sends_); }

  void send(int to, uint64_t slot, size_t offset, size_t bytes) override {
    const char* data = Place(offset, &bytes);
    ConnectionTo(to).Send(&sends_, slot, data, bytes);
  }
  void recv(int from, uint64_t slot, size_t offset, size_t bytes) override {
    char* data = Place(offset, &bytes);
    ConnectionTo(from).Receive(&receives_, slot, data, bytes);
  }
  void recv(std::vector<int> from, uint64_t slot, size_t offset, size_t bytes) override {
    if (from.size() != 1) {
      throw gloo::InvalidOperationException(
          MakeString("a receive must name one rank, not ", from.size()));
    }
    recv(from[0], slot, offset, bytes);
  }

 private:
  Connection& ConnectionTo(int peer) const {
    const bool is_peer = peer >= 0 && peer < transport_->size && peer != transport_->rank;
    if (!is_peer) {
      throw gloo::InvalidOperationException(
          MakeString("rank ", transport_->rank, " of ", transport_->size, " has no peer ", peer));
    }
    return *transport_->connections_[peer];
  }

  // The place of a part of the buffer; kUnspecifiedByteCount becomes all bytes from the offset on.
  char* Place(size_t offset, size_t* bytes) const {
    if (*bytes == kUnspecifiedByteCount && offset <= size) *bytes = size - offset;
    if (offset > size || *bytes > size - offset) {
      throw gloo::InvalidOperationException(MakeString(
          *bytes, " bytes from byte ", offset, " on are not in a buffer of ", size, " bytes"));
    }
    return static_cast<char*>(ptr) + offset;
  }

  void Abort(Operations* operations) {
    operations->aborted = true;
    transport_->Wake();
  }

  GlooTransport* const transport_;
  Operations sends_, receives_;
};

GlooTransport::GlooTransport(int rank, std::vector<Socket> sockets,
                             const std::function<void(int)>& on_closed)
    : gloo::transport::Context(rank, static_cast<int>(sockets.size())),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.is_open()) throw IoError(std::string("cannot make an event: ") + std::strerror(errno));
  for (int i = 0; i < size; ++i) {
    connections_.push_back(i == rank
                               ? nullptr
                               : std::make_unique<Connection>(
                                     i, std::move(sockets[static_cast<size_t>(i)]), on_closed));
  }
}

GlooTransport::~GlooTransport() = default;

std::unique_ptr<gloo::transport::Pair>& GlooTransport::createPair(int peer) {
  throw gloo::InvalidOperationException(
      MakeString("this transport has no pairs, asked for one with rank ", peer));
}

std::unique_ptr<gloo::transport::UnboundBuffer> GlooTransport::createUnboundBuffer(void* ptr,
                                                                                   size_t bytes) {
  return std::make_unique<Buffer>(this, ptr, bytes);
}

void GlooTransport::Close() {
  std::lock_guard<std::mutex> lock(close_mutex_);
  if (closed_.exchange(true)) return;
  for (const auto& connection : connections_) {
    if (connection) connection->Close();
  }
  Wake();
}

void GlooTransport::Wake() {
  const uint64_t one = 1;
  // It fails only if the counter is full: then the event is there already.
  [[maybe_unused]] const ssize_t written = write(wake_.fd(), &one, sizeof one);
}

bool GlooTransport::Wait(Operations* operations, int* rank, std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout == gloo::transport::kUnsetTimeout ? getTimeout() : timeout);
  for (;;) {
    if (!operations->completed.empty()) {
      if (rank != nullptr) *rank = operations->completed.front();
      operations->completed.erase(operations->completed.begin());
      return true;
    }
    if (operations->aborted.exchange(false)) return false;
    if (MoveBytes()) continue;
    ThrowIfEnded(*operations);
    if (deadline.expired()) throw gloo::IoException("no answer in time");
    if (while_waiting_) while_waiting_();
    AwaitBytes(while_waiting_ ? std::min(deadline.remaining(), kBetweenCalls)
                              : deadline.remaining());
  }
}

void GlooTransport::ThrowIfEnded(const Operations& operations) {
  if (closed_) throw gloo::IoException("the connections were closed here");
  for (const int peer : operations.pending) {
    Connection& connection = *connections_[peer];
    connection.CheckOrder(operations);
    if (!connection.end().empty()) throw gloo::IoException(connection.end());
  }
}

bool GlooTransport::MoveBytes() {
  bool moved = false;
  for (const auto& connection : connections_) {
    if (connection && connection->MoveBytes()) moved = true;
  }
  return moved;
}

void GlooTransport::AwaitBytes(std::chrono::milliseconds limit) {
  std::vector<pollfd> awaited = {{wake_.fd(), POLLIN, 0}};
  for (const auto& connection : connections_) {
    if (connection && connection->events() != 0) {
      awaited.push_back({connection->fd(), connection->events(), 0});
    }
  }
  // A wait that an end has made vain is noticed by the caller.
  constexpr std::chrono::milliseconds kLongest(60000);
  poll(awaited.data(), awaited.size(), static_cast<int>(std::min(limit, kLongest).count()));
  uint64_t count;
  if (awaited[0].revents != 0) {
    [[maybe_unused]] const ssize_t taken = read(wake_.fd(), &count, sizeof count);
  }
}

}  // namespace caffe2
