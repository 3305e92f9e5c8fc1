#include "distributed/gloo_mesh.h"

#include <arpa/inet.h>
#include <gloo/common/error.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <sstream>

#include "distributed/collective.h"
#include "distributed/file_descriptors.h"
#include "distributed/gloo_transport.h"
#include "distributed/host.h"
#include "distributed/run_record.h"
#include "distributed/store_url.h"

namespace caffe2 {

namespace {

constexpr char kNoPassword[] = "-";  // in the place of the shard itself

// Only processes that can read the store know the passwords.
uint64_t NewPassword() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

bool IsAddress(const std::string& text) {
  in6_addr parsed;
  return inet_pton(AF_INET, text.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

constexpr uint64_t kReadySlot = ~uint64_t{0};

// Waits of the transport call a function while this exists.
class WhileWaiting {
 public:
  WhileWaiting(std::shared_ptr<GlooTransport> transport, std::function<void()> call)
      : transport_(std::move(transport)) {
    transport_->SetWhileWaiting(std::move(call));
  }
  ~WhileWaiting() { transport_->SetWhileWaiting(nullptr); }
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;

 private:
  const std::shared_ptr<GlooTransport> transport_;
};

class Mesh final : public GlooMesh, public gloo::Context {
 public:
  Mesh(int rank, int size, const std::string& address)
      : gloo::Context(rank, size), address_(address), peers_(size), endpoints_(size) {
    for (PeerEndpoint& endpoint : endpoints_) endpoint.own_password = NewPassword();
  }
  ~Mesh() override { Close(); }

  gloo::Context& context() override { return *this; }
  const GlooPeer& peer(int i) const override { return peers_.at(i); }
  int first_closed() const override { return first_closed_; }

  void Close() override {
    if (transport_) transport_->Close();
  }

  // What the other shards must know of this one: "host=a pid=17 boot=... 10.0.0.1|40123" and a
  // password for each rank.
  std::string Text(int port) const {
    const ProcessId self = ProcessId::Self();
    std::string text = MakeString("host=", self.host, " pid=", self.pid, " boot=", self.boot_id,
                                  " ", address_, "|", port);
    for (int i = 0; i < size; ++i) {
      text += " " + (i == rank ? kNoPassword : std::to_string(endpoints_[i].own_password));
    }
    return text;
  }

  void ConnectAll(const PeerListener& listener, const std::vector<std::string>& texts,
                  const Deadline& deadline, milliseconds timeout, const WaitCheck& check) {
    CAFFE_ENFORCE_EQ(texts.size(), static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) {
      if (i != rank) ParsePeer(i, texts[i]);
    }
    const auto describe = [this](int peer) { return Describe(peer); };
    Use(ConnectPeers(listener, rank, endpoints_, deadline, describe, check), timeout);
    AwaitReady(deadline, check);
  }

  // Takes a connected socket for each other rank.
  void Use(std::vector<Socket> sockets, milliseconds timeout) {
    transport_ = std::make_shared<GlooTransport>(rank, std::move(sockets), [this](int peer) {
      int none = -1;
      first_closed_.compare_exchange_strong(none, peer);
    });
    transport_->setTimeout(timeout);
    transportContext_ = transport_;
    setTimeout(timeout);
  }

 private:
  // The text comes from the store and may be anything.
  void ParsePeer(int i, const std::string& text) {
    std::istringstream stream(text);
    std::string host, pid, boot, place, password;
    stream >> host >> pid >> boot >> place;
    for (int j = 0; j <= rank; ++j) stream >> password;
    PeerEndpoint& endpoint = endpoints_[i];
    const size_t bar = place.find('|');
    endpoint.address = place.substr(0, bar);
    endpoint.port = bar == std::string::npos ? 0 : std::atoi(place.c_str() + bar + 1);
    endpoint.password_to_send = std::strtoull(password.c_str(), nullptr, 10);
    if (!stream || host.rfind("host=", 0) != 0 || pid.rfind("pid=", 0) != 0 ||
        !IsAddress(endpoint.address) || endpoint.port < 1 || endpoint.port > 65535) {
      throw IoError(MakeString("the store holds a malformed address of rank ", i, ": \"",
                               OneLine(text), "\""));
    }
    peers_[i] = {host.substr(5), std::strtoll(pid.c_str() + 4, nullptr, 10),
                 FormatHostPort(endpoint.address, endpoint.port)};
    CAFFE_ENFORCE(!IsLoopback(endpoint.address) || boot == "boot=" + ProcessId::Self().boot_id,
                  "rank ", i, " on host ", peers_[i].host, " listens on the loopback address ",
                  endpoint.address,
                  ", which this host cannot reach; give that shard the name of its network "
                  "interface");
  }

  template <typename Body>
  void Guarded(int i, const Deadline& deadline, const Body& body) {
    try {
      body();
    } catch (const PeerLost&) {  // from the check of whoever waits
      throw;
    } catch (const std::exception& e) {
      if (deadline.expired()) {
        throw PeerTimeout(MakeString("connecting to ", Describe(i), ": no answer in time"), i);
      }
      throw PeerLost(MakeString("connecting to ", Describe(i), ": ", e.what()), i);
    }
  }

  // Each shard tells its peers that it has all its connections.
  void AwaitReady(const Deadline& deadline, const WaitCheck& check) {
    std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sent(size), received(size);
    std::vector<char> out(size), in(size);
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      Guarded(i, deadline, [&] {
        received[i] = createUnboundBuffer(&in[i], 1);
        received[i]->recv(i, kReadySlot);
        sent[i] = createUnboundBuffer(&out[i], 1);
        sent[i]->send(i, kReadySlot);
      });
    }
    int awaited = rank;
    const WhileWaiting while_waiting(transport_, [&] {
      if (check) check(Describe(awaited));
    });
    for (int i = 0; i < size; ++i) {
      if (i == rank) continue;
      awaited = i;
      Guarded(i, deadline, [&] {
        received[i]->waitRecv(std::max(deadline.remaining(), milliseconds(1)));
        sent[i]->waitSend(std::max(deadline.remaining(), milliseconds(1)));
      });
    }
  }

  std::atomic<int> first_closed_{-1};
  const std::string address_;
  std::vector<GlooPeer> peers_;
  std::vector<PeerEndpoint> endpoints_;
  std::shared_ptr<GlooTransport> transport_;  // also Gloo's transportContext_
};

}  // namespace

std::string GlooMesh::Describe(int rank) const {
  const GlooPeer& p = peer(rank);
  return MakeString("rank ", rank, " (host ", p.host, ", pid ", p.pid, ", ", p.address, ")");
}

std::unique_ptr<GlooMesh> GlooMesh::Connect(int rank, int size, const std::string& address,
                                            const PortRange& ports, const Exchange& exchange,
                                            milliseconds timeout, const WaitCheck& check) {
  IgnoreBrokenPipes();
  ReserveFilesOfWorld(size);
  const Deadline deadline(timeout);
  auto mesh = std::make_unique<Mesh>(rank, size, address);
  if (size == 1) {
    exchange(mesh->Text(0), deadline);
    mesh->Use(std::vector<Socket>(1), timeout);
    return mesh;
  }
  const PeerListener listener(address, ports);
  const std::vector<std::string> texts = exchange(mesh->Text(listener.port()), deadline);
  mesh->ConnectAll(listener, texts, deadline, timeout, check);
  return mesh;
}

}  // namespace caffe2
