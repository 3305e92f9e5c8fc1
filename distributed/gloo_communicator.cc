#include "distributed/gloo_communicator.h"

#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>

#include "distributed/accumulate.h"
#include "distributed/gloo_mesh.h"
#include "distributed/host.h"
#include "distributed/host_communicator.h"
#include "distributed/sum_order.h"

namespace caffe2 {

namespace {

// A ring sends segments of at most kSegmentBytes, kUnderWay at a time, so that a received segment
// is still in the cache when it is added.
constexpr size_t kSegmentBytes = size_t{512} << 10;
constexpr int64_t kUnderWay = 2;

constexpr uint64_t kSlotsPerOperation = uint64_t{1} << 20;
constexpr uint64_t kAgreeingSlots = uint64_t{1} << 62;

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

using Range = ElementRange;

int64_t Longest(const std::vector<Range>& parts) {
  int64_t longest = 0;
  for (const Range& part : parts) longest = std::max(longest, part.size());
  return longest;
}

// The number of segments into which a ring splits each part.
int64_t Segments(const std::vector<Range>& parts, size_t item) {
  const auto bytes = static_cast<size_t>(Longest(parts)) * item;
  return std::max<int64_t>(1, static_cast<int64_t>((bytes + kSegmentBytes - 1) / kSegmentBytes));
}

class GlooCommunicator final : public HostCommunicator {
 public:
  GlooCommunicator(const CommunicatorOptions& options, std::string address,
                   std::unique_ptr<GlooMesh> mesh)
      : HostCommunicator(options), address_(std::move(address)), mesh_(std::move(mesh)) {
    Register();
  }
  ~GlooCommunicator() override { Unregister(); }

  std::shared_ptr<Communicator> Clone(const std::string& name) override;

 protected:
  void DoAllreduce(void* data, int64_t count, TypeMeta type) override;
  void DoBroadcast(void* data, size_t bytes, int root) override;
  void DoAllgather(const void* input, void* output, size_t bytes) override;
  void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) override;
  void DoBarrier() override;

  void Close() override { mesh_->Close(); }
  void BeginTransfers(bool agreeing) override {
    // Each operation and each comparison has its own slots, so that messages are not confused.
    if (!agreeing) ++operations_;
    slot_ = (agreeing ? kAgreeingSlots : 0) + operations_ * kSlotsPerOperation;
  }

 private:
  // A message being sent or received.
  struct Transfer {
    Buffer buffer;
    int peer = 0;
  };

  Transfer Receive(int peer, void* data, size_t bytes, uint64_t slot);
  Transfer Send(int peer, const void* data, size_t bytes, uint64_t slot);
  void WaitReceived(Transfer* transfer);
  void WaitSent(Transfer* transfer);
  // Runs a call of Gloo and turns its exceptions into PeerLost or PeerTimeout.
  template <typename Body>
  void Guarded(int peer, const Body& body);
  // Sends and receives at the same time.
  void Exchange(int peer, const void* out, void* in, size_t bytes);

  // Allreduce in log2(group) exchanges of whole buffers; the distance to the partner doubles each
  // time. `group` is a power of two.
  void RecursiveDoubling(char* data, int64_t count, TypeMeta type, int group);
  // Reduce-scatter by halves, then allgather by doubling. `group` is a power of two.
  void HalvingDoubling(char* data, int64_t count, TypeMeta type, int group);
  // Sends parts around the ring in segments, beginning with part `first`. Message i is received at
  // place(i, range); arrived(i, range) runs before the range is sent on.
  template <typename Place, typename Arrived>
  void AroundTheRing(char* data, const std::vector<Range>& parts, int first, size_t item,
                     const Place& place, const Arrived& arrived);
  // Ring reduce-scatter: afterwards shard r holds the sum of part r + 1.
  void RingReduce(char* data, const std::vector<Range>& parts, TypeMeta type);
  // Ring allgather of these parts.
  void RingSpread(char* data, const std::vector<Range>& parts, size_t item);
  // Calls body(group) on ranks below `group`, the largest power of two that is at most size(). Each
  // extra rank first adds its data to a rank in the group, and afterwards receives the result.
  template <typename Body>
  void WithinPowerOfTwo(char* data, int64_t count, TypeMeta type, const Body& body);

  milliseconds TimeLeft() const { return std::max(deadline().remaining(), milliseconds(1)); }
  char* Scratch(size_t bytes) {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return scratch_.data();
  }
  uint64_t NextSlot() { return ++slot_; }

  const std::string address_;
  std::unique_ptr<GlooMesh> mesh_;
  uint64_t operations_ = 0;
  uint64_t slot_ = 0;  // the last one used
  std::vector<char> scratch_;
};

template <typename Body>
void GlooCommunicator::Guarded(int peer, const Body& body) {
  std::string message;
  try {
    body();
    return;
  } catch (const std::exception& e) {
    message = e.what();
  }
  ThrowIfAborted();
  // Perhaps this peer only closed its connections because it noticed another one's end earlier.
  const int first = mesh_->first_closed();
  const int suspect = first < 0 || deadline().expired() ? peer : first;
  Fail(suspect, mesh_->Describe(suspect), deadline().expired(), message);
}

GlooCommunicator::Transfer GlooCommunicator::Receive(int peer, void* data, size_t bytes,
                                                     uint64_t slot) {
  Transfer transfer;
  transfer.peer = peer;
  Guarded(peer, [&] {
    transfer.buffer = mesh_->context().createUnboundBuffer(data, bytes);
    transfer.buffer->recv(peer, slot);
  });
  return transfer;
}

GlooCommunicator::Transfer GlooCommunicator::Send(int peer, const void* data, size_t bytes,
                                                  uint64_t slot) {
  Transfer transfer;
  transfer.peer = peer;
  Guarded(peer, [&] {
    transfer.buffer = mesh_->context().createUnboundBuffer(const_cast<void*>(data), bytes);
    transfer.buffer->send(peer, slot);
  });
  return transfer;
}

void GlooCommunicator::WaitReceived(Transfer* transfer) {
  Guarded(transfer->peer, [&] { transfer->buffer->waitRecv(TimeLeft()); });
}

void GlooCommunicator::WaitSent(Transfer* transfer) {
  Guarded(transfer->peer, [&] { transfer->buffer->waitSend(TimeLeft()); });
}

void GlooCommunicator::Exchange(int peer, const void* out, void* in, size_t bytes) {
  const uint64_t slot = NextSlot();
  Transfer received = Receive(peer, in, bytes, slot);
  Transfer sent = Send(peer, out, bytes, slot);
  WaitReceived(&received);
  WaitSent(&sent);
}

void GlooCommunicator::RecursiveDoubling(char* data, int64_t count, TypeMeta type, int group) {
  const size_t bytes = static_cast<size_t>(count) * type.itemsize();
  char* other = Scratch(bytes);
  for (int distance = 1; distance < group; distance *= 2) {
    Exchange(rank() ^ distance, data, other, bytes);
    Accumulate(type, other, data, count);
  }
}

void GlooCommunicator::HalvingDoubling(char* data, int64_t count, TypeMeta type, int group) {
  const size_t item = type.itemsize();
  char* other = Scratch(static_cast<size_t>((count + 1) / 2) * item);
  const uint64_t first_slot = slot_ + 1;
  slot_ += 2 * 32;
  Range own{0, count};
  std::vector<Range> given;
  int step = 0;
  for (int distance = group / 2; distance > 0; distance /= 2, ++step) {
    const int peer = rank() ^ distance;
    const bool upper = (rank() & distance) != 0;
    const Range kept = own.Part(upper ? 1 : 0, 2), sent = own.Part(upper ? 0 : 1, 2);
    Transfer in = Receive(peer, other, kept.size() * item, first_slot + step);
    Transfer out = Send(peer, data + sent.begin * item, sent.size() * item, first_slot + step);
    WaitReceived(&in);
    Accumulate(type, other, data + kept.begin * item, kept.size());
    WaitSent(&out);
    given.push_back(sent);
    own = kept;
  }
  for (int distance = 1; distance < group; distance *= 2, ++step) {
    const Range wanted = given.back();
    given.pop_back();
    const int peer = rank() ^ distance;
    Transfer in =
        Receive(peer, data + wanted.begin * item, wanted.size() * item, first_slot + step);
    Transfer out = Send(peer, data + own.begin * item, own.size() * item, first_slot + step);
    WaitReceived(&in);
    WaitSent(&out);
    own = {std::min(own.begin, wanted.begin), std::max(own.end, wanted.end)};
  }
}

template <typename Body>
void GlooCommunicator::WithinPowerOfTwo(char* data, int64_t count, TypeMeta type,
                                        const Body& body) {
  int group = 1;
  while (group * 2 <= size()) group *= 2;
  const size_t bytes = static_cast<size_t>(count) * type.itemsize();
  const uint64_t slot = NextSlot();
  NextSlot();
  if (rank() >= group) {
    Transfer sent = Send(rank() - group, data, bytes, slot);
    Transfer received = Receive(rank() - group, data, bytes, slot + 1);
    WaitSent(&sent);
    WaitReceived(&received);
    return;
  }
  const bool has_extra_rank = rank() + group < size();
  if (has_extra_rank) {
    char* other = Scratch(bytes);
    Transfer received = Receive(rank() + group, other, bytes, slot);
    WaitReceived(&received);
    Accumulate(type, other, data, count);
  }
  body(group);
  if (has_extra_rank) {
    Transfer sent = Send(rank() + group, data, bytes, slot + 1);
    WaitSent(&sent);
  }
}

template <typename Place, typename Arrived>
void GlooCommunicator::AroundTheRing(char* data, const std::vector<Range>& parts, int first,
                                     size_t item, const Place& place, const Arrived& arrived) {
  const int n = size(), next = (rank() + 1) % n, previous = (rank() + n - 1) % n;
  const int64_t segments = Segments(parts, item), messages = (n - 1) * segments;
  const uint64_t first_slot = slot_ + 1;
  slot_ += static_cast<uint64_t>(messages);
  // The range of message i that is sent (back = 0) or received (back = 1).
  auto range_of = [&](int64_t i, int back) {
    return parts[(first + 2 * n - back - i / segments) % n].Part(i % segments, segments);
  };
  std::vector<Transfer> incoming, outgoing;
  auto receive = [&](int64_t i) {
    const Range range = range_of(i, 1);
    incoming.push_back(Receive(previous, place(i, range), range.size() * item, first_slot + i));
  };
  auto send = [&](int64_t i) {
    const Range range = range_of(i, 0);
    outgoing.push_back(Send(next, data + range.begin * item, range.size() * item, first_slot + i));
  };
  for (int64_t i = 0; i < std::min(kUnderWay, messages); ++i) receive(i);
  for (int64_t i = 0; i < messages; ++i) {
    for (int64_t j = outgoing.size(); j < std::min(i + kUnderWay, messages) && j - segments < i;
         ++j) {
      send(j);
    }
    WaitReceived(&incoming[i]);
    arrived(i, range_of(i, 1));
    if (i + kUnderWay < messages) receive(i + kUnderWay);
  }
  for (Transfer& transfer : outgoing) WaitSent(&transfer);
}

void GlooCommunicator::RingReduce(char* data, const std::vector<Range>& parts, TypeMeta type) {
  const auto item = static_cast<int64_t>(type.itemsize());
  const int64_t place_bytes = (Longest(parts) / Segments(parts, item) + 1) * item;
  char* scratch = Scratch(kUnderWay * place_bytes);
  const auto place_of = [=](int64_t i) { return scratch + i % kUnderWay * place_bytes; };
  AroundTheRing(
      data, parts, rank(), item, [&](int64_t i, Range) { return place_of(i); },
      [&](int64_t i, Range range) {
        Accumulate(type, place_of(i), data + range.begin * item, range.size());
      });
}

void GlooCommunicator::RingSpread(char* data, const std::vector<Range>& parts, size_t item) {
  AroundTheRing(
      data, parts, rank() + 1, item,
      [&](int64_t, Range range) { return data + range.begin * item; }, [](int64_t, Range) {});
}

void GlooCommunicator::DoAllreduce(void* data, int64_t count, TypeMeta type) {
  auto* bytes = static_cast<char*>(data);
  const SumOrder order = AllreduceOrder(count, type, size());
  if (order == SumOrder::kDoubling) {
    WithinPowerOfTwo(bytes, count, type,
                     [&](int group) { RecursiveDoubling(bytes, count, type, group); });
  } else if (order == SumOrder::kHalving) {
    HalvingDoubling(bytes, count, type, size());
  } else {
    std::vector<Range> parts;
    for (int i = 0; i < size(); ++i) parts.push_back(Range{0, count}.Part(i, size()));
    RingReduce(bytes, parts, type);
    RingSpread(bytes, parts, type.itemsize());
  }
}

void GlooCommunicator::DoReduceScatter(void* data, const std::vector<int64_t>& counts,
                                       TypeMeta type) {
  // RingReduce leaves part r + 1 on shard r, so part i + 1 is the one that shard i wants.
  auto* bytes = static_cast<char*>(data);
  std::vector<Range> parts(size());
  int64_t begin = 0;
  for (int i = 0; i < size(); ++i) {
    parts[(i + 1) % size()] = {begin, begin + counts[i]};
    begin += counts[i];
  }
  RingReduce(bytes, parts, type);
  const Range own = parts[(rank() + 1) % size()];
  std::memmove(bytes, bytes + own.begin * type.itemsize(), own.size() * type.itemsize());
}

void GlooCommunicator::DoBroadcast(void* data, size_t bytes, int root) {
  // A binomial tree: in each round, the shards that have the data send it to others.
  const uint64_t slot = NextSlot();
  const int position = (rank() - root + size()) % size();
  int distance = 1;
  while (distance < size() && (position & distance) == 0) distance *= 2;
  if (position != 0) {
    Transfer received = Receive((position - distance + root) % size(), data, bytes, slot);
    WaitReceived(&received);
  }
  std::vector<Transfer> sent;
  for (distance /= 2; distance > 0; distance /= 2) {
    if (position + distance < size()) {
      sent.push_back(Send((position + distance + root) % size(), data, bytes, slot));
    }
  }
  for (Transfer& transfer : sent) WaitSent(&transfer);
}

void GlooCommunicator::DoAllgather(const void* input, void* output, size_t bytes) {
  const uint64_t slot = NextSlot();
  char* out = static_cast<char*>(output);
  if (out + rank() * bytes != input) std::memcpy(out + rank() * bytes, input, bytes);
  std::vector<Transfer> received, sent;
  for (int i = 1; i < size(); ++i) {
    const int peer = (rank() + size() - i) % size();
    received.push_back(Receive(peer, out + peer * bytes, bytes, slot));
  }
  for (int i = 1; i < size(); ++i) {
    sent.push_back(Send((rank() + i) % size(), out + rank() * bytes, bytes, slot));
  }
  for (Transfer& transfer : received) WaitReceived(&transfer);
  for (Transfer& transfer : sent) WaitSent(&transfer);
}

void GlooCommunicator::DoBarrier() {
  // Dissemination barrier: after k rounds a shard has heard of 2^k others.
  char out = 0, in = 0;
  for (int distance = 1; distance < size(); distance *= 2) {
    const uint64_t slot = NextSlot();
    Transfer received = Receive((rank() + size() - distance) % size(), &in, 1, slot);
    Transfer sent = Send((rank() + distance) % size(), &out, 1, slot);
    WaitReceived(&received);
    WaitSent(&sent);
  }
}

std::shared_ptr<Communicator> GlooCommunicator::Clone(const std::string& name) {
  CommunicatorOptions options = this->options();
  options.name = name;
  // The shards exchange the new addresses over the existing connections.
  const TimeoutScope scope(this, options.ConnectTimeout(), options.timeout);
  auto exchange = [&](const std::string& text, const Deadline&) {
    const int64_t longest = 512 + 80 * static_cast<int64_t>(size());
    CAFFE_ENFORCE_LE(static_cast<int64_t>(text.size()), longest);
    std::string padded = text;
    padded.resize(longest, ' ');
    std::string all(longest * size(), ' ');
    Allgather("addresses of " + name, padded.data(), all.data(), longest,
              TypeMeta::Make<uint8_t>());
    std::vector<std::string> texts;
    for (int i = 0; i < size(); ++i) texts.push_back(all.substr(i * longest, longest));
    return texts;
  };
  auto mesh =
      GlooMesh::Connect(rank(), size(), address_, options.ports, exchange, options.ConnectTimeout(),
                        [this](const std::string&) { ThrowIfAborted(); });
  return std::make_shared<GlooCommunicator>(options, address_, std::move(mesh));
}

}  // namespace

std::shared_ptr<Communicator> ConnectGloo(StoreHandler* store, const CommunicatorOptions& options) {
  CAFFE_ENFORCE(options.transport == std::string("tcp"), "unknown transport \"", options.transport,
                "\"; use --distributed_transport auto, tcp or shared_memory");
  CAFFE_ENFORCE(options.timeout.count() > 0, "the timeout of common world ", options.name,
                " must be positive, found ", options.timeout.count(), " ms");
  CAFFE_ENFORCE(options.size > 0 && options.rank >= 0 && options.rank < options.size,
                "common world ", options.name, ": rank ", options.rank,
                " is not in [0, size = ", options.size, ")");
  std::string address;
  if (!options.interface.empty()) address = InterfaceAddress(options.interface);
  if (address.empty() && options.size == 1) address = "127.0.0.1";
  if (address.empty()) address = store->LocalAddress();
  if (address.empty()) address = RoutedAddress();
  auto exchange = [&](const std::string& text, const Deadline& deadline) {
    const std::string base = options.name + "/";
    std::vector<std::string> texts(options.size, text), keys;
    if (options.size == 1) return texts;
    store->SetDeadline(deadline);
    store->Set(base + std::to_string(options.rank), text);
    for (int i = 0; i < options.size; ++i) keys.push_back(base + std::to_string(i));
    try {
      store->Wait(keys, deadline.remaining());
    } catch (const TimeoutError& e) {
      int missing = 0;
      while (missing < options.size && store->Check({keys[missing]})) ++missing;
      if (missing < options.size) throw PeerTimeout(e.what(), missing);
    }
    for (int i = 0; i < options.size; ++i) texts[i] = store->Get(keys[i], deadline.remaining());
    return texts;
  };
  auto mesh = GlooMesh::Connect(options.rank, options.size, address, options.ports, exchange,
                                options.ConnectTimeout(),
                                [&](const auto& awaited) { store->CheckWait(awaited); });
  return std::make_shared<GlooCommunicator>(options, address, std::move(mesh));
}

}  // namespace caffe2
