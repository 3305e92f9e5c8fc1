#include "distributed/shared_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "caffe2/utils/owned_fd.h"
#include "distributed/file_descriptors.h"
#include "distributed/host.h"

namespace caffe2 {

namespace {

template <typename... Args>
[[noreturn]] void ThrowErrno(const Args&... args) {
  const int error = errno;
  throw IoError(MakeString(args..., ": ", std::strerror(error)));
}

std::string Namespace(const char* kind) {
  std::error_code unknown;
  return std::filesystem::read_symlink(MakeString("/proc/self/ns/", kind), unknown).string();
}

// Text in a record of fixed size; a longer text is cut off.
template <size_t kSize>
struct Text {
  char bytes[kSize] = {};
  Text& operator=(const std::string& text) {
    std::memset(bytes, 0, kSize);
    std::memcpy(bytes, text.data(), std::min(text.size(), kSize));
    return *this;
  }
  std::string str() const { return std::string(bytes, strnlen(bytes, kSize)); }
  bool empty() const { return bytes[0] == '\0'; }
};

struct Password {
  unsigned char bytes[16] = {};
};

Password NewPassword() {
  Password password;
  if (getrandom(password.bytes, sizeof password.bytes, 0) != sizeof password.bytes) {
    ThrowErrno("cannot get random bytes");
  }
  return password;
}

// The first message on a connection.
struct Greeting {
  Password password;  // the receiver's
  int32_t from = 0;
};

// An abstract Unix address: it exists in a network namespace only as long as its socket.
struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;
  explicit UnixAddress(const std::string& name) {
    address.sun_family = AF_UNIX;
    const size_t bytes = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), bytes);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

OwnedFd NewSocket() {
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) ThrowErrno("cannot make a Unix socket");
  return fd;
}

// The memory itself: nobody can change its size, so that no access can fail later.
OwnedFd NewSegment(size_t bytes) {
  OwnedFd fd(memfd_create("doppio", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) ThrowErrno("memfd_create");
  // Reserves the pages now; without them, a later write would end the process.
  const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) {
    errno = error;
    ThrowErrno("cannot allocate ", bytes, " bytes of shared memory");
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    ThrowErrno("cannot seal shared memory");
  }
  return fd;
}

constexpr size_t kControlBytes = CMSG_SPACE(sizeof(int));

// A message of one byte, with room for one file descriptor.
struct DescriptorMessage {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char control[kControlBytes] = {};
  msghdr header{};
  DescriptorMessage() {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

void SendDescriptor(int socket, int fd) {
  DescriptorMessage message;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  if (sendmsg(socket, &message.header, MSG_NOSIGNAL) != 1) ThrowErrno("cannot pass shared memory");
}

OwnedFd ReceiveDescriptor(int socket) {
  DescriptorMessage message;
  const ssize_t received = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (received != 1 || control == nullptr || control->cmsg_type != SCM_RIGHTS) {
    throw IoError("rank 0 gave up");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return OwnedFd(fd);
}

}  // namespace

// Waits for other shards, until a deadline or an exception from a check.
class SharedMemory::BoundedWait {
 public:
  BoundedWait(const Deadline& deadline, const WaitCheck& check)
      : deadline_(deadline), check_(check) {}

  // Waits until one of the sockets can be read. Throws TimeoutError at the deadline.
  void Poll(std::vector<pollfd>* polled, const std::string& missing) const {
    constexpr milliseconds kLookUp{100};
    for (;;) {
      const milliseconds limit = std::min(deadline_.remaining(), kLookUp);
      const int ready = poll(polled->data(), polled->size(), static_cast<int>(limit.count()));
      if (ready > 0) return;
      if (ready < 0 && errno != EINTR) ThrowErrno("poll");
      if (deadline_.expired()) throw TimeoutError(missing + " in time");
      if (check_) check_(kAwaited);
    }
  }

  OwnedFd ConnectTo(const std::string& name) const {
    const UnixAddress address(name);
    for (;;) {
      OwnedFd fd = NewSocket();
      if (connect(fd.get(), address.get(), address.length) == 0) return fd;
      // EAGAIN: the peer has not yet accepted the connections of others.
      if ((errno != EAGAIN && errno != EINTR) || deadline_.expired()) ThrowErrno("cannot connect");
      if (check_) check_(kAwaited);
      poll(nullptr, 0, 1);
    }
  }

 private:
  static constexpr char kAwaited[] = "the other shards of shared memory";
  const Deadline& deadline_;
  const WaitCheck& check_;
};

// What each shard tells the others before they connect.
struct SharedMemory::Place {
  Text<64> boot_id, host, socket;
  Text<96> namespaces;  // of sockets and of users
  Text<192> refusal;
  int64_t pid = 0;
  uint32_t user = 0;
  Password password;
  cpu_set_t cores;

  static Place Own(const std::string& refusal) {
    const ProcessId self = ProcessId::Self();
    Place place;
    place.boot_id = self.boot_id;
    place.namespaces = Namespace("net") + " " + Namespace("user");
    place.host = self.host;
    place.refusal = refusal;
    place.pid = self.pid;
    place.user = geteuid();
    CPU_ZERO(&place.cores);
    sched_getaffinity(0, sizeof place.cores, &place.cores);
    return place;
  }

  // Makes the socket at which the other shards reach this one.
  OwnedFd Listen(int shards) {
    password = NewPassword();
    std::string name = "doppio-";
    for (const unsigned char byte : NewPassword().bytes) {
      constexpr char kDigits[] = "0123456789abcdef";
      name += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    socket = name;
    OwnedFd listener = NewSocket();
    const UnixAddress address(name);
    if (bind(listener.get(), address.get(), address.length) != 0 ||
        listen(listener.get(), shards) != 0) {
      ThrowErrno("cannot listen at a Unix socket");
    }
    return listener;
  }
};

namespace {

// The answer of one shard after it tried.
struct Outcome {
  Text<192> obstacle;  // empty if all went well
};

template <typename T>
std::vector<T> GatherRecords(Communicator* control, const std::string& name, const T& own) {
  std::vector<T> all(control->size());
  control->Allgather(name, &own, all.data(), sizeof own, TypeMeta::Make<uint8_t>());
  control->Await();
  return all;
}

}  // namespace

SharedMemory::SharedMemory(int rank, const std::vector<Place>& places, size_t bytes)
    : rank_(rank), bytes_(bytes), sockets_(places.size(), -1) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const Place& place : places) {
    peers_.push_back({place.host.str(), place.pid});
    CPU_OR(&cores, &cores, &place.cores);
  }
  has_core_for_each_ = static_cast<size_t>(CPU_COUNT(&cores)) >= places.size();
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  for (const int fd : sockets_) {
    if (fd >= 0) close(fd);
  }
}

std::string SharedMemory::Describe(int rank) const {
  const Peer& peer = peers_.at(rank);
  return MakeString("rank ", rank, " (host ", peer.host, ", pid ", peer.pid, ", shared memory)");
}

int SharedMemory::FindLost() const {
  std::vector<pollfd> polled;
  // A negative descriptor, as of this rank, is ignored.
  for (const int fd : sockets_) polled.push_back({fd, POLLIN, 0});
  // Nobody sends anything after the set-up, so the end of the connection is all there is to read.
  if (poll(polled.data(), polled.size(), 0) <= 0) return -1;
  for (size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents != 0) return static_cast<int>(i);
  }
  return -1;
}

void SharedMemory::Close() {
  for (const int fd : sockets_) {
    if (fd >= 0) shutdown(fd, SHUT_RDWR);
  }
}

bool SharedMemory::Adopt(int fd, const Place& own) {
  ucred peer{};
  socklen_t length = sizeof peer;
  Greeting greeting;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != own.user ||
      recv(fd, &greeting, sizeof greeting, 0) != sizeof greeting ||
      std::memcmp(&greeting.password, &own.password, sizeof own.password) != 0) {
    return false;
  }
  const int from = greeting.from;
  if (from <= rank_ || from >= static_cast<int>(sockets_.size()) || sockets_[from] >= 0) {
    return false;
  }
  sockets_[from] = fd;
  return true;
}

void SharedMemory::AcceptPeers(const Place& own, int listener, const BoundedWait& wait) {
  std::vector<OwnedFd> waiting;  // accepted, but without a greeting
  const auto missing = [&] { return std::count(sockets_.begin() + rank_ + 1, sockets_.end(), -1); };
  while (missing() > 0) {
    std::vector<pollfd> polled = {{listener, POLLIN, 0}};
    for (const OwnedFd& fd : waiting) polled.push_back({fd.get(), POLLIN, 0});
    wait.Poll(&polled, MakeString(missing(), " shards did not connect"));
    std::vector<OwnedFd> silent;
    for (size_t i = 1; i < polled.size(); ++i) {
      OwnedFd& fd = waiting[i - 1];
      if (polled[i].revents == 0) {
        silent.push_back(std::move(fd));
      } else if (Adopt(fd.get(), own)) {
        fd.release();
      }
    }
    waiting = std::move(silent);
    if (polled[0].revents == 0) continue;
    OwnedFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() >= 0) waiting.push_back(std::move(fd));
  }
}

void SharedMemory::ConnectSockets(const std::vector<Place>& places, int listener,
                                  const BoundedWait& wait) {
  for (int i = 0; i < rank_; ++i) {
    OwnedFd fd = wait.ConnectTo(places[i].socket.str());
    Greeting greeting;
    greeting.password = places[i].password;
    greeting.from = rank_;
    if (send(fd.get(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
      ThrowErrno("cannot greet rank ", i);
    }
    sockets_[i] = fd.release();
  }
  AcceptPeers(places[rank_], listener, wait);
}

int SharedMemory::ShareSegment(const BoundedWait& wait) {
  if (rank_ > 0) {
    std::vector<pollfd> polled = {{sockets_[0], POLLIN, 0}};
    wait.Poll(&polled, "rank 0 did not pass shared memory");
    return ReceiveDescriptor(sockets_[0]).release();
  }
  OwnedFd segment = NewSegment(bytes_);
  for (const int fd : sockets_) {
    if (fd >= 0) SendDescriptor(fd, segment.get());
  }
  return segment.release();
}

void SharedMemory::Map(int segment) {
  const OwnedFd owned(segment);
  struct stat status {};
  if (fstat(segment, &status) != 0 || static_cast<size_t>(status.st_size) != bytes_) {
    throw IoError("rank 0 passed memory of another size");
  }
  void* mapped =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, segment, 0);
  if (mapped == MAP_FAILED) ThrowErrno("cannot map ", bytes_, " bytes of shared memory");
  data_ = static_cast<char*>(mapped);
}

SharedMemory::Attached SharedMemory::Attach(Communicator* control, const std::string& name,
                                            size_t bytes, milliseconds timeout,
                                            const std::string& refusal, const WaitCheck& check) {
  const int rank = control->rank(), size = control->size();
  Outcome own_outcome;
  Place own = Place::Own(refusal);
  OwnedFd listener;
  try {
    if (refusal.empty()) {
      ReserveFileDescriptors(2 * size + 4, "shared memory of a common world");
      listener = own.Listen(size);
    }
  } catch (const IoError& error) {
    own.refusal = error.what();
  }
  const std::vector<Place> places =
      GatherRecords(control, MakeString("shared memory of ", name), own);
  Attached attached;
  attached.one_machine = true;
  for (int i = 0; i < size; ++i) {
    const Place& place = places[i];
    const bool known = !place.boot_id.empty();
    if (!known || place.boot_id.str() != places[0].boot_id.str()) {
      attached.one_machine = false;
      attached.obstacle = MakeString(
          "rank ", i,
          known ? " is on another machine than rank 0" : " cannot read the boot id of its machine");
      return attached;
    }
    if (!place.refusal.empty()) {
      attached.obstacle = MakeString("rank ", i, ": ", place.refusal.str());
    } else if (place.namespaces.str() != places[0].namespaces.str()) {
      attached.obstacle = MakeString("rank ", i, " is in another container than rank 0");
    } else if (place.user != places[0].user) {
      attached.obstacle = MakeString("rank ", i, " belongs to another user than rank 0");
    }
  }
  if (!attached.obstacle.empty()) return attached;

  // Not before all shards are here: one that is late has the time limit of `control`.
  const Deadline deadline(timeout);
  const BoundedWait wait(deadline, check);
  std::shared_ptr<SharedMemory> memory(new SharedMemory(rank, places, bytes));
  try {
    memory->ConnectSockets(places, listener.get(), wait);
    memory->Map(memory->ShareSegment(wait));
  } catch (const PeerLost&) {  // from the check
    throw;
  } catch (const IoError& error) {
    memory->Close();  // so that no shard waits for this one
    own_outcome.obstacle = error.what();
  }
  const std::vector<Outcome> outcomes =
      GatherRecords(control, MakeString("shared memory of ", name, ", outcome"), own_outcome);
  for (int i = size - 1; i >= 0; --i) {
    if (outcomes[i].obstacle.empty()) continue;
    attached.obstacle = MakeString("rank ", i, ": ", outcomes[i].obstacle.str());
  }
  if (attached.obstacle.empty()) attached.memory = std::move(memory);
  return attached;
}

}  // namespace caffe2
