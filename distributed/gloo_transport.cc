#include "distributed/gloo_transport.h"

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "distributed/store_handler.h"

namespace caffe2 {
namespace {

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
      throw IoError(MakeString("cannot listen on address ", address, ": ", e.what()));
    }
  }
  return device;
}

// If a peer breaks Gloo's protocol, Gloo throws on the device's thread, which has no handler. This
// class catches the exception.
class GuardedPair final : public tcp::Pair {
 public:
  using tcp::Pair::Pair;

  // The device's thread calls it. An exception has already released the pair's lock.
  void handleEvents(int events) override {
    try {
      tcp::Pair::handleEvents(events);
    } catch (const std::exception& e) {
      signalExceptionExternal(e.what());
    }
  }
};

}  // namespace

std::shared_ptr<gloo::transport::Context> CreateTcpContext(const std::string& address, int rank,
                                                           int size,
                                                           std::chrono::milliseconds timeout) {
  const auto device = SharedDevice(address);
  auto context = std::make_shared<tcp::Context>(device, rank, size);
  context->setTimeout(timeout);
  for (int i = 0; i < size; ++i) {
    if (i == rank) continue;
    context->getPair(i) = std::make_unique<GuardedPair>(context.get(), device.get(), i, timeout);
  }
  return context;
}

}  // namespace caffe2
