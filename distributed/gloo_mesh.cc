#include "distributed/gloo_mesh.h"

#include <arpa/inet.h>
#include <gloo/common/error.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/address.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "distributed/collective.h"
#include "distributed/file_descriptors.h"
#include "distributed/gloo_transport.h"
#include "distributed/host.h"

namespace caffe2 {

namespace {

// The socket at which a shard waits for one peer, and the password that the peer must send. Only
// processes that can read the store know the password.
struct Endpoint {
  sockaddr_storage socket{};
  ssize_t sequence = -1;
  uint64_t password = 0;
};

uint64_t NewPassword() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// Formats an endpoint as "10.0.0.1|40123|-1|1234567890". ParseEndpoint checks the text, so that
// Gloo never gets bytes from the store.
std::string EndpointText(const gloo::transport::Address& address, uint64_t password) {
  const gloo::transport::tcp::Address tcp(address.bytes());
  char text[INET6_ADDRSTRLEN] = "";
  const sockaddr_storage& socket = tcp.getSockaddr();
  uint16_t port = 0;
  if (socket.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    port = ntohs(v6.sin6_port);
  }
  return MakeString(text, "|", port, "|", tcp.getSeq(), "|", password);
}

Endpoint ParseEndpoint(const std::string& text, GlooPeer* peer) {
  std::istringstream stream(text);
  std::string address, port_text, sequence_text, password_text;
  std::getline(stream, address, '|');
  std::getline(stream, port_text, '|');
  std::getline(stream, sequence_text, '|');
  std::getline(stream, password_text);
  Endpoint endpoint;
  const long port = std::strtol(port_text.c_str(), nullptr, 10);
  endpoint.sequence = std::strtol(sequence_text.c_str(), nullptr, 10);
  endpoint.password = std::strtoull(password_text.c_str(), nullptr, 10);
  auto& v4 = reinterpret_cast<sockaddr_in&>(endpoint.socket);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(endpoint.socket);
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
  } else if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
  }
  if (endpoint.socket.ss_family == 0 || port <= 0 || port > 65535) {
    throw IoError("the store holds a malformed address of a shard: \"" + text + "\"");
  }
  peer->address = MakeString(address, ":", port);
  return endpoint;
}

// The first message on a new connection, by which both ends recognise a shard.
struct Greeting {
  char magic[8] = {'d', 'o', 'p', 'p', 'i', 'o', '0', '2'};
  uint64_t password = 0;  // the receiver published it for the sender in this attempt
  int32_t from = 0, to = 0;
};

constexpr uint64_t kGreetingSlot = ~uint64_t{0};
constexpr uint64_t kGreetedSlot = kGreetingSlot - 1;

class Mesh final : public GlooMesh, public gloo::Context {
 public:
  Mesh(int rank, int size) : gloo::Context(rank, size), peers_(size), passwords_(size) {}
  ~Mesh() override { Close(); }

  gloo::Context& context() override { return *this; }
  const GlooPeer& peer(int i) const override { return peers_.at(i); }

  void Close() override {
    if (!transportContext_) return;
    for (int i = 0; i < size; ++i) {
      // Several threads may close a pair; Gloo allows it at any time.
      if (i != rank && getPair(i)) getPair(i)->close();
    }
  }

  // Starts to listen; returns this shard's text for the other shards.
  std::string Listen(const std::string& address, milliseconds timeout) {
    const ProcessId self = ProcessId::Self();
    // Gloo waits five times this long for a connection.
    transportContext_ =
        CreateTcpContext(address, rank, size, std::max(timeout / 5, milliseconds(1)));
    std::string text = MakeString("host=", self.host, " pid=", self.pid, " boot=", self.boot_id);
    for (int i = 0; i < size; ++i) {
      text += " ";
      passwords_[i] = NewPassword();
      if (i != rank) {
        text += EndpointText(getPair(i)->address(), passwords_[i]);
      }
      if (i == rank) text += "-";
    }
    return text;
  }

  void ConnectAll(const std::vector<std::string>& texts, const Deadline& deadline) {
    CAFFE_ENFORCE_EQ(texts.size(), static_cast<size_t>(size));
    std::vector<Endpoint> endpoints(size);
    for (int i = 0; i < size; ++i) {
      if (i != rank) endpoints[i] = ParsePeer(i, texts[i]);
    }
    CloseAtDeadline guard(this, deadline);
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      Guarded(i, deadline, "connecting to ", [&] {
        const gloo::transport::tcp::Address address(endpoints[i].socket, endpoints[i].sequence);
        getPair(i)->connect(address.bytes());
      });
    }
    Greet(endpoints, deadline);
  }

  void SetTimeout(milliseconds timeout) {
    setTimeout(timeout);
    transportContext_->setTimeout(timeout);
  }

 private:
  // Gloo's connect waits have no deadline; closing the connections ends them.
  class CloseAtDeadline {
   public:
    CloseAtDeadline(Mesh* mesh, const Deadline& deadline)
        : thread_([this, mesh, left = deadline.remaining()] {
            std::unique_lock<std::mutex> lock(mutex_);
            if (!done_changed_.wait_for(lock, left, [this] { return done_; })) mesh->Close();
          }) {}
    ~CloseAtDeadline() {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        done_ = true;
      }
      done_changed_.notify_one();
      thread_.join();
    }

   private:
    std::mutex mutex_;
    std::condition_variable done_changed_;
    bool done_ = false;
    std::thread thread_;
  };

  Endpoint ParsePeer(int i, const std::string& text) {
    std::istringstream stream(text);
    std::string host, pid, boot, endpoint;
    stream >> host >> pid >> boot;
    for (int j = 0; j <= rank; ++j) stream >> endpoint;
    if (!stream || host.rfind("host=", 0) != 0 || pid.rfind("pid=", 0) != 0) {
      throw IoError(
          MakeString("the store holds a malformed address of rank ", i, ": \"", text, "\""));
    }
    peers_[i].host = host.substr(5);
    peers_[i].pid = std::strtoll(pid.c_str() + 4, nullptr, 10);
    const Endpoint parsed = ParseEndpoint(endpoint, &peers_[i]);
    const std::string address = peers_[i].address.substr(0, peers_[i].address.rfind(':'));
    CAFFE_ENFORCE(!IsLoopback(address) || boot == "boot=" + ProcessId::Self().boot_id, "rank ", i,
                  " on host ", peers_[i].host, " listens on the loopback address ", address,
                  ", which this host cannot reach; give that shard the name of its network "
                  "interface");
    return parsed;
  }

  template <typename Body>
  void Guarded(int i, const Deadline& deadline, const char* doing, const Body& body) {
    try {
      body();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& e) {
      if (deadline.expired()) {
        throw PeerTimeout(MakeString(doing, Describe(i), ": no answer in time"), i);
      }
      throw PeerLost(MakeString(doing, Describe(i), ": ", e.what()), i);
    }
  }

  // Exchanges and checks greetings with all peers; then each shard tells its peers that all its
  // checks passed.
  void Greet(const std::vector<Endpoint>& endpoints, const Deadline& deadline) {
    std::vector<Greeting> out(size), in(size);
    for (int i = 0; i < size; ++i) {
      out[i].password = endpoints[i].password;
      out[i].from = rank;
      out[i].to = i;
    }
    ExchangeWithAll(out.data(), in.data(), sizeof(Greeting), kGreetingSlot, deadline);
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      const bool right = std::memcmp(in[i].magic, out[i].magic, sizeof in[i].magic) == 0 &&
                         in[i].password == passwords_[i] && in[i].from == i && in[i].to == rank;
      if (!right) throw PeerLost(MakeString("a stranger answers in place of ", Describe(i)), i);
    }
    std::vector<char> greeted_out(size), greeted_in(size);
    ExchangeWithAll(greeted_out.data(), greeted_in.data(), 1, kGreetedSlot, deadline);
  }

  void ExchangeWithAll(void* out, void* in, size_t bytes, uint64_t slot, const Deadline& deadline) {
    std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sent(size), received(size);
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      Guarded(i, deadline, "greeting ", [&] {
        received[i] = createUnboundBuffer(static_cast<char*>(in) + i * bytes, bytes);
        received[i]->recv(i, slot);
        sent[i] = createUnboundBuffer(static_cast<char*>(out) + i * bytes, bytes);
        sent[i]->send(i, slot);
      });
    }
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      Guarded(i, deadline, "greeting ", [&] {
        received[i]->waitRecv(std::max(deadline.remaining(), milliseconds(1)));
        sent[i]->waitSend(std::max(deadline.remaining(), milliseconds(1)));
      });
    }
  }

  std::vector<GlooPeer> peers_;
  std::vector<uint64_t> passwords_;  // one for each peer, which it must send
};

}  // namespace

std::string GlooMesh::Describe(int rank) const {
  const GlooPeer& p = peer(rank);
  return MakeString("rank ", rank, " (host ", p.host, ", pid ", p.pid, ", ", p.address, ")");
}

std::unique_ptr<GlooMesh> GlooMesh::Connect(int rank, int size, const std::string& address,
                                            const Exchange& exchange, milliseconds timeout) {
  IgnoreBrokenPipes();
  // A listening socket and a connection for each peer, and Gloo's own.
  ReserveFileDescriptors(2 * size + 16, "a common world");
  const Deadline deadline(timeout);
  // Once all shards listen, connecting is quick unless something is wrong.
  const milliseconds attempt_limit = std::min(timeout / 3, milliseconds(2000 + 100 * size));
  for (int attempt = 0;; ++attempt) {
    auto mesh = std::make_unique<Mesh>(rank, size);
    const std::vector<std::string> texts =
        exchange(attempt, mesh->Listen(address, deadline.remaining()), deadline);
    try {
      mesh->ConnectAll(texts, Deadline(std::min(deadline.remaining(), attempt_limit)));
      mesh->SetTimeout(timeout);
      return mesh;
    } catch (const IoError& e) {
      if (deadline.remaining() < attempt_limit) throw;
      LOG(WARNING) << "connecting the shards failed, trying again: " << e.what();
    }
  }
}

}  // namespace caffe2
