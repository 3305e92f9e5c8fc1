#include "distributed/peer_sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <memory>
#include <utility>

#include "caffe2/core/usage_error.h"
#include "distributed/collective.h"
#include "distributed/host.h"
#include "distributed/run_record.h"
#include "distributed/store_url.h"

namespace caffe2 {

namespace {

constexpr int kBacklog = 512;
constexpr size_t kMaxSilent = 64;
constexpr milliseconds kGreetingTime{3000};
constexpr milliseconds kCallAgainAfter{50}, kLookUp{100};

std::atomic<int64_t> strangers_dropped{0};

struct FreeList {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using AddressEntry = std::unique_ptr<addrinfo, FreeList>;

AddressEntry AddressOf(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) {
    throw IoError("\"" + OneLine(address) + "\" is not an IP address");
  }
  return AddressEntry(list);
}

Socket NewSocket(const addrinfo& address) {
  Socket made(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.is_open()) {
    ThrowIoError(ExitCode::kSystem, "cannot make a socket: ", std::strerror(errno));
  }
  return made;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string PeerName(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = "unknown", port[NI_MAXSERV] = "";
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  }
  return MakeString(host, " port ", port);
}

// The first bytes in both directions of a new connection.
struct Greeting {
  char magic[8] = {'d', 'o', 'p', 'p', 'i', 'o', '0', '4'};
  uint64_t password = 0;  // the receiver published it for the sender
  int32_t from = 0, to = 0;

  bool IsRight(uint64_t expected, int32_t sender, int32_t receiver) const {
    return std::memcmp(magic, Greeting().magic, sizeof magic) == 0 && password == expected &&
           from == sender && to == receiver;
  }
};

// A connection whose other end has not yet been recognised.
class NewConnection {
 public:
  NewConnection(Socket socket, milliseconds limit) : socket_(std::move(socket)), deadline_(limit) {}

  int fd() const { return socket_.fd(); }
  bool is_open() const { return socket_.is_open(); }
  bool is_late() const { return deadline_.expired(); }
  Socket Take() { return std::move(socket_); }
  const Greeting& received() const { return received_; }

  // Sends all of it: a new connection has room for so few bytes. Returns false if it is broken.
  bool Send(const Greeting& greeting) const {
    return send(fd(), &greeting, sizeof greeting, MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof greeting);
  }

  enum class State { kWaiting, kGreeted, kBroken };
  // Reads what is there of a greeting, and no byte after it.
  State Receive() {
    auto* bytes = reinterpret_cast<char*>(&received_);
    const ssize_t n = recv(fd(), bytes + size_, sizeof received_ - size_, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return State::kWaiting;
    if (n <= 0) return State::kBroken;
    size_ += static_cast<size_t>(n);
    return size_ == sizeof received_ ? State::kGreeted : State::kWaiting;
  }

 private:
  Socket socket_;
  Deadline deadline_;
  Greeting received_;
  size_t size_ = 0;
};

// Calls one peer, again and again.
class Call {
 public:
  Call(int rank, int peer, const PeerEndpoint& endpoint)
      : peer_(peer), endpoint_(endpoint), address_(AddressOf(endpoint.address, endpoint.port)) {
    greeting_.password = endpoint.password_to_send;
    greeting_.from = rank;
    greeting_.to = peer;
  }

  bool is_done() const { return done_.is_open(); }
  Socket Take() { return std::move(done_); }
  const std::string& problem() const { return problem_; }

  // Calls if it is time to. Returns the event of poll() to wait for, 0 for none.
  short Prepare() {
    if (done_.is_open()) return 0;
    if (!connection_ && again_.expired()) Dial();
    if (!connection_) return 0;
    return greeted_ ? POLLIN : POLLOUT;
  }
  int fd() const { return connection_->fd(); }

  void HandleEvent() {
    if (!greeted_) {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return Fail(std::strerror(error));
      if (!connection_->Send(greeting_)) return Fail(std::strerror(errno));
      greeted_ = true;
      return;
    }
    const auto state = connection_->Receive();
    if (state == NewConnection::State::kWaiting) return;
    if (state == NewConnection::State::kBroken) return Fail("it closed the connection");
    if (!connection_->received().IsRight(endpoint_.own_password, peer_, greeting_.from)) {
      return Fail("a stranger answers in its place");
    }
    done_ = connection_->Take();
    connection_.reset();
  }

 private:
  void Dial() {
    connection_ = std::make_unique<NewConnection>(NewSocket(*address_), kGreetingTime);
    greeted_ = false;
    if (connect(fd(), address_->ai_addr, address_->ai_addrlen) != 0 && errno != EINPROGRESS) {
      Fail(std::strerror(errno));
    }
  }
  void Fail(const std::string& problem) {
    problem_ = problem;
    connection_.reset();
    again_ = Deadline(kCallAgainAfter);
  }

  const int peer_;
  const PeerEndpoint endpoint_;
  const AddressEntry address_;
  Greeting greeting_;
  std::unique_ptr<NewConnection> connection_;
  bool greeted_ = false;  // the greeting was sent
  Deadline again_{milliseconds(0)};
  std::string problem_;
  Socket done_;
};

class Connector {
 public:
  Connector(const PeerListener& listener, int rank, const std::vector<PeerEndpoint>& endpoints)
      : listener_(listener), rank_(rank), endpoints_(endpoints), sockets_(endpoints.size()) {
    for (int peer = 0; peer < rank; ++peer) {
      calls_.push_back(std::make_unique<Call>(rank, peer, endpoints[static_cast<size_t>(peer)]));
    }
  }

  ~Connector() {
    for (const NewConnection& guest : guests_) Drop(guest);
    if (dropped_ == 0) return;
    LOG(WARNING) << "dropped " << dropped_ << " connections of strangers at port "
                 << listener_.port() << ", the last from " << last_stranger_;
  }

  std::vector<Socket> Run(const Deadline& deadline,
                          const std::function<std::string(int rank)>& describe,
                          const WaitCheck& check) {
    while (true) {
      const int missing = Missing();
      if (missing < 0) break;
      if (deadline.expired()) {
        std::string why = "no answer in time";
        if (missing < rank_ && !calls_[static_cast<size_t>(missing)]->problem().empty()) {
          why += MakeString(" (", calls_[static_cast<size_t>(missing)]->problem(), ")");
        }
        throw PeerTimeout(MakeString("connecting to ", describe(missing), ": ", why), missing);
      }
      if (check) check(describe(missing));
      Step(std::min(deadline.remaining(), kLookUp));
    }
    for (size_t peer = 0; peer < calls_.size(); ++peer) sockets_[peer] = calls_[peer]->Take();
    return std::move(sockets_);
  }

 private:
  int Missing() const {
    for (int peer = 0; peer < static_cast<int>(endpoints_.size()); ++peer) {
      const auto i = static_cast<size_t>(peer);
      if (peer < rank_ && !calls_[i]->is_done()) return peer;
      if (peer > rank_ && !sockets_[i].is_open()) return peer;
    }
    return -1;
  }

  // Waits for events, at most for so long, and handles them.
  void Step(milliseconds limit) {
    std::vector<pollfd> events = {{listener_.fd(), POLLIN, 0}};
    for (const NewConnection& guest : guests_) events.push_back({guest.fd(), POLLIN, 0});
    std::vector<Call*> calls;
    for (const auto& call : calls_) {
      const short wanted = call->Prepare();
      if (wanted == 0) continue;
      calls.push_back(call.get());
      events.push_back({call->fd(), wanted, 0});
    }
    poll(events.data(), events.size(), static_cast<int>(limit.count()));
    auto event = events.begin() + 1;
    for (auto guest = guests_.begin(); guest != guests_.end(); ++event) {
      const bool gone = (event->revents != 0 && !StaysAfterReading(&*guest)) || guest->is_late();
      if (gone) Drop(*guest);
      guest = gone || !guest->is_open() ? guests_.erase(guest) : std::next(guest);
    }
    for (Call* call : calls) {
      if ((event++)->revents != 0) call->HandleEvent();
    }
    if (events[0].revents != 0) Accept();
  }

  void Accept() {
    while (true) {
      Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) return;
      if (guests_.size() == kMaxSilent) {
        Drop(guests_.front());
        guests_.pop_front();
      }
      guests_.emplace_back(std::move(socket), kGreetingTime);
    }
  }

  // Takes the socket of a guest that turns out to be a peer. Returns false for a stranger.
  bool StaysAfterReading(NewConnection* guest) {
    const auto state = guest->Receive();
    if (state != NewConnection::State::kGreeted) return state == NewConnection::State::kWaiting;
    const int peer = guest->received().from;
    if (peer <= rank_ || peer >= static_cast<int>(endpoints_.size())) return false;
    const PeerEndpoint& endpoint = endpoints_[static_cast<size_t>(peer)];
    if (!guest->received().IsRight(endpoint.own_password, peer, rank_)) return false;
    Greeting answer;
    answer.password = endpoint.password_to_send;
    answer.from = rank_;
    answer.to = peer;
    if (!guest->Send(answer)) return false;
    // A peer that calls again has given up its call before.
    sockets_[static_cast<size_t>(peer)] = guest->Take();
    return true;
  }

  void Drop(const NewConnection& guest) {
    if (!guest.is_open()) return;
    ++dropped_;
    ++strangers_dropped;
    last_stranger_ = PeerName(guest.fd());
  }

  const PeerListener& listener_;
  const int rank_;
  const std::vector<PeerEndpoint>& endpoints_;
  std::vector<Socket> sockets_;               // of the peers that called
  std::vector<std::unique_ptr<Call>> calls_;  // to the peers with lower ranks
  std::list<NewConnection> guests_;           // not yet recognised, the oldest first
  int64_t dropped_ = 0;
  std::string last_stranger_;
};

}  // namespace

PortRange ParsePortRange(const std::string& name, const std::string& text) {
  if (text.empty()) return {};
  const size_t dash = text.find('-');
  const auto number = [](const std::string& digits) {
    const bool good = !digits.empty() && digits.size() <= 5 &&
                      digits.find_first_not_of("0123456789") == std::string::npos;
    return good ? std::stoi(digits) : 0;
  };
  PortRange range;
  range.first = number(text.substr(0, dash));
  range.last = dash == std::string::npos ? range.first : number(text.substr(dash + 1));
  if (range.first < 1 || range.last > 65535 || range.last < range.first) {
    ThrowUsage(name, " is \"", OneLine(text),
               "\", must be two ports from 1 to 65535, the smaller first, like 4000-4010");
  }
  return range;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = other.Release();
  return *this;
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

int Socket::Release() { return std::exchange(fd_, -1); }

PeerListener::PeerListener(const std::string& address, const PortRange& ports) {
  for (int port = ports.first; port <= ports.last; ++port) {
    const AddressEntry entry = AddressOf(address, port);
    socket_ = NewSocket(*entry);
    const int on = 1;
    setsockopt(socket_.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket_.fd(), entry->ai_addr, entry->ai_addrlen) == 0 &&
        listen(socket_.fd(), kBacklog) == 0) {
      port_ = PortOf(socket_.fd());
      return;
    }
    if (errno != EADDRINUSE) {
      ThrowIoError(errno == EACCES ? ExitCode::kNotPermitted : ExitCode::kSystem,
                   "cannot listen on ", FormatHostPort(address, port), ": ", std::strerror(errno));
    }
  }
  ThrowIoError(ExitCode::kSystem, "cannot listen on ", address, ": all ports of --port_range ",
               ports.first, "-", ports.last, " are in use");
}

std::vector<Socket> ConnectPeers(const PeerListener& listener, int rank,
                                 const std::vector<PeerEndpoint>& endpoints,
                                 const Deadline& deadline,
                                 const std::function<std::string(int rank)>& describe,
                                 const WaitCheck& check) {
  std::vector<Socket> sockets = Connector(listener, rank, endpoints).Run(deadline, describe, check);
  for (const Socket& socket : sockets) {
    const int on = 1;
    if (socket.is_open()) setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return sockets;
}

int64_t StrangersDropped() { return strangers_dropped; }

}  // namespace caffe2
