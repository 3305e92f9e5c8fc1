#include "distributed/gloo_transport.h"

#include <gloo/config.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/loop.h>
#include <gloo/transport/tcp/pair.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "caffe2/utils/library_versions.h"
#include "distributed/store_handler.h"

namespace caffe2 {
namespace {

const RegisterLibraryVersion version("Gloo", MakeString(GLOO_VERSION_MAJOR, ".", GLOO_VERSION_MINOR,
                                                        ".", GLOO_VERSION_PATCH));

namespace tcp = gloo::transport::tcp;

// One device (with one thread) for each address and process; a forked child needs its own.
std::shared_ptr<tcp::Device> SharedDevice(const std::string& address) {
  static auto* mutex = new std::mutex;
  static auto* devices = new std::map<std::pair<pid_t, std::string>, std::shared_ptr<tcp::Device>>;
  std::lock_guard<std::mutex> lock(*mutex);
  auto& device = (*devices)[{getpid(), address}];
  if (!device) {
    try {
      device =
          std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(tcp::attr(address.c_str())));
    } catch (const std::exception& e) {
      throw IoError(MakeString("cannot use address ", address, ": ", e.what()));
    }
  }
  return device;
}

// Versions of Gloo differ in the second argument.
template <typename Device, typename Handler>
void Unregister(Device* device, int fd, Handler* handler) {
  if constexpr (requires { device->unregisterDescriptor(fd, handler); }) {
    device->unregisterDescriptor(fd, handler);
  } else {
    device->unregisterDescriptor(fd);
  }
}

// A pair over a socket that is connected already. If a peer breaks Gloo's protocol, Gloo throws on
// the device's thread, which has no handler. This class catches the exception. A template, so that
// only that handleEvents is compiled which overrides Pair's.
template <typename Pair>
class GuardedPair final : public Pair {
 public:
  // Gloo's pairs listen for their peer from the beginning, where anybody may connect.
  GuardedPair(tcp::Context* context, tcp::Device* device, int rank,
              std::chrono::milliseconds timeout, Socket socket, std::function<void(int)> on_closed)
      : Pair(context, device, rank, timeout), peer_rank_(rank), on_closed_(std::move(on_closed)) {
    const std::lock_guard<std::mutex> lock(this->m_);
    int& fd = this->fd_;
    if (fd >= 0) {
      Unregister(device, fd, this);
      ::close(fd);
    }
    fd = socket.Release();
    this->self_ = tcp::Address::fromSockName(fd);
    this->peer_ = tcp::Address::fromPeerName(fd);
    this->changeState(Pair::CONNECTED);
    device->registerDescriptor(fd, EPOLLIN, this);
  }

  // The device's thread calls one of these. Versions of Gloo differ in the arguments.
  void handleEvents(int events) {
    Guarded([&] { Pair::handleEvents(events); });
  }
  void handleEvents(tcp::Loop& loop, int events) {
    Guarded([&] { Pair::handleEvents(loop, events); });
  }

 protected:
  // Other threads close the pair for this process's own reasons.
  void changeState(typename Pair::state next) noexcept override {
    Pair::changeState(next);
    if (next == Pair::CLOSED && in_events_) on_closed_(peer_rank_);
  }

 private:
  // An exception has already released the pair's lock.
  template <typename Body>
  void Guarded(const Body& body) {
    in_events_ = true;
    try {
      body();
    } catch (const std::exception& e) {
      this->signalExceptionExternal(e.what());
    }
    in_events_ = false;
  }

  inline static thread_local bool in_events_ = false;

  const int peer_rank_;
  const std::function<void(int)> on_closed_;
};

}  // namespace

std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           std::vector<Socket> sockets,
                                                           std::chrono::milliseconds timeout,
                                                           std::function<void(int)> on_closed) {
  const auto device = SharedDevice(address);
  const auto size = static_cast<int>(sockets.size());
  auto context = std::make_shared<tcp::Context>(device, rank, size);
  context->setTimeout(timeout);
  for (int i = 0; i < size; ++i) {
    if (i == rank) continue;
    context->getPair(i) = std::make_unique<GuardedPair<tcp::Pair>>(
        context.get(), device.get(), i, timeout, std::move(sockets[static_cast<size_t>(i)]),
        on_closed);
  }
  return context;
}

}  // namespace caffe2
