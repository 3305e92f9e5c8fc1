#include "distributed/gloo_transport.h"

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "distributed/store_handler.h"

namespace caffe2 {
namespace {

namespace tcp = gloo::transport::tcp;

// One device, with its one thread, for each address; a forked child needs its own.
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
      throw IoError(MakeString("cannot listen on address ", address, ": ", e.what()));
    }
  }
  return device;
}

// Gloo throws on the device's thread, where nobody catches, when a peer breaks its protocol.
template <typename Pair>
class GuardedPair final : public Pair {
 public:
  using Pair::Pair;

 protected:
  // Called by the device's thread with the pair locked. Not marked override: where a Gloo has no
  // such function to override, its pairs stay as they are.
  void handleReadWrite(int events) {
    try {
      Pair::handleReadWrite(events);
    } catch (...) {
      if (this->ex_ == nullptr) this->signalException(std::current_exception());
    }
  }
};

class GuardedContext final : public tcp::Context {
 public:
  using tcp::Context::Context;

  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
    pairs_[peer] =
        std::make_unique<GuardedPair<tcp::Pair>>(this, device_.get(), peer, getTimeout());
    return pairs_[peer];
  }
};

}  // namespace

std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           int size) {
  return std::make_shared<GuardedContext>(SharedDevice(address), rank, size);
}

}  // namespace caffe2
