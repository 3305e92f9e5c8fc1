// What servers and strangers send to our sockets: answers of a Redis server, and greetings of a
// peer.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "distributed/gloo_communicator.h"
#include "distributed/host.h"
#include "distributed/memory_store_handler.h"
#include "distributed/redis_store_handler.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Sends the same bytes to everybody who connects, then closes the connection.
class Server {
 public:
  explicit Server(std::string_view answer) : answer_(answer) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    socklen_t length = sizeof address;
    CHECK_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
    CHECK_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
    CHECK_EQ(listen(listener_, 8), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int fd; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) Answer(fd);
    });
  }
  ~Server() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  int port() const { return port_; }
  void Answer(int fd) const {
    (void)!send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    // Closing with unread bytes would take the answer back.
    const timeval limit{0, 20000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    for (char buffer[4096]; recv(fd, buffer, sizeof buffer, 0) > 0;) {
    }
  }

 private:
  const std::string answer_;
  int listener_, port_;
  std::thread thread_;
};

// Connects to the address "127.0.0.1|port" in the text of a shard and sends the bytes.
void CallShard(const std::string& text, const Server& server) {
  const size_t begin = text.rfind("127.0.0.1|");
  if (begin == std::string::npos) return;
  const sockaddr_in address = Loopback(std::atoi(text.c_str() + begin + 10));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    server.Answer(fd);
  }
  close(fd);
}

}  // namespace

FUZZ_TARGET(Redis, "redis", 50) {
  const Server server(bytes);
  RedisOptions options;
  options.port = server.port();
  options.connect_timeout = options.command_timeout = milliseconds(15);
  const auto store = NewRedisStore(options, "run");
  store->TryGet("key");
  store->Add("counter", 1);
  store->SetIfAbsent("key", "value");
  store->Check({"key", "other"});
  store->Remove("key");
}

// The first line is what the peer publishes in the store, where '@' stands for the address of a
// server that sends the other bytes, and "boot=x" for the boot of this machine. Our shard calls
// that address, and the bytes are also sent to its own socket.
FUZZ_TARGET(Greeting, "greeting", 10) {
  IgnoreBrokenPipes();
  const size_t end = std::min(bytes.find('\n'), bytes.size());
  const Server server(bytes.substr(std::min(end + 1, bytes.size())));
  std::string published(bytes.substr(0, end));
  const size_t place = published.find('@');
  if (place != std::string::npos) {
    published.replace(place, 1, MakeString("127.0.0.1|", server.port()));
  }
  const size_t boot = published.find("boot=x");
  if (boot != std::string::npos) {
    published.replace(boot, 6, "boot=" + ProcessId::Self().boot_id);
  }
  const StoreFactory stores = MemoryStores();
  const auto store = stores("run"), peer = stores("run");
  peer->Set("world/0", published);
  std::atomic<bool> over{false};
  std::thread caller([&] {
    std::optional<std::string> address;
    while (!over && !(address = peer->TryGet("world/1"))) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (address) CallShard(*address, server);
  });
  CommunicatorOptions options;
  options.rank = 1;
  options.size = 2;
  options.name = "world";
  options.interface = "127.0.0.1";
  options.timeout = milliseconds(60);
  try {
    ConnectGloo(store.get(), options);
  } catch (const Error&) {  // a stranger is no shard
  }
  over = true;
  caller.join();
}

}  // namespace caffe2::testing
