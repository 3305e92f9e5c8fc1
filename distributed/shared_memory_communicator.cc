#include "distributed/shared_memory_communicator.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <thread>

#include "distributed/accumulate.h"
#include "distributed/gloo_communicator.h"
#include "distributed/host_communicator.h"
#include "distributed/shared_memory.h"
#include "distributed/sum_order.h"

namespace caffe2 {

namespace {

// Up to this size every shard reads the data of all others: one wait instead of two for each chunk.
constexpr size_t kMaxOneStepBytes = size_t{16} << 10;
// The size of a buffer of a shard, and of the buffers of all shards. Larger data pass through in
// chunks. On two cores with 512 KiB of cache each, chunks that fit there took twice as long: the
// third-level cache hands data over sooner.
constexpr size_t kMaxBufferBytes = size_t{1} << 20;
constexpr size_t kMaxTotalBytes = size_t{64} << 20;
constexpr size_t kMinPieceBytes = size_t{4} << 10;
// Sums are made in blocks, which stay in the first-level cache. Data of several blocks pass through
// in at least so many chunks, so that the shards work at the same time.
constexpr size_t kBlockBytes = size_t{16} << 10;
constexpr int64_t kFewChunks = 4;
// From this size, writes to shared memory go around the cache.
constexpr size_t kMinStreamedBytes = size_t{8} << 20;
constexpr int kBuffers = 3;
constexpr size_t kLine = 64;
// How long a wait keeps its core before it sleeps: at the beginning of an operation, which peers
// may reach much later, and between chunks, when all shards are at work. Waking a sleeper can take
// longer than a chunk.
constexpr std::chrono::microseconds kSpinTime{30}, kSpinTimeOfChunks{300};
// How often a sleeping shard looks whether its peers live.
constexpr milliseconds kLookInterval{20};

// A comparison of operations and an operation may run at the same time, on different shards: each
// kind has its own steps and buffers.
enum Channel { kOperations, kComparisons, kChannels };
constexpr size_t kOneStepBytes[kChannels] = {kMaxOneStepBytes, 512};

static_assert(std::atomic<uint32_t>::is_always_lock_free, "processes share it");

// What one shard tells the others about one channel.
struct alignas(kLine) Steps {
  std::atomic<uint32_t> done;      // steps of this shard since the beginning; it wraps
  std::atomic<uint32_t> sleepers;  // shards that sleep until `done` changes
};

// The beginning of the shared memory.
struct alignas(kLine) Head {
  std::atomic<int32_t> suspect;  // 1 + the rank that the first failure blames; 0: none
};

// Where the parts lie: the head, the steps, then a buffer space for each shard.
class Layout {
 public:
  Layout() = default;
  explicit Layout(int size)
      : size_(size),
        piece_(std::max(
            std::min(kMaxBufferBytes, kMaxTotalBytes / (kBuffers * size)) / size / kLine * kLine,
            kMinPieceBytes)) {}

  size_t piece_bytes() const { return piece_; }
  size_t buffer_bytes() const { return piece_ * size_; }
  size_t total() const { return SpaceOf(size_); }
  size_t StepsOf(int rank, int channel) const {
    return sizeof(Head) + (rank * kChannels + channel) * sizeof(Steps);
  }
  // The buffer of a shard for use `count` of a channel.
  size_t OneStep(int rank, int channel, uint32_t count) const {
    const size_t before = channel == kOperations ? 0 : 2 * kOneStepBytes[kOperations];
    return SpaceOf(rank) + before + count % 2 * kOneStepBytes[channel];
  }
  // Piece `piece` of the buffer of a shard for chunk `chunk`.
  size_t Piece(int rank, int64_t chunk, int piece) const {
    return SpaceOf(rank) + kAllOneStepBytes + chunk % kBuffers * buffer_bytes() + piece * piece_;
  }

 private:
  static constexpr size_t kAllOneStepBytes =
      2 * (kOneStepBytes[kOperations] + kOneStepBytes[kComparisons]);
  size_t SpaceOf(int rank) const {
    return StepsOf(size_, 0) + rank * (kAllOneStepBytes + kBuffers * buffer_bytes());
  }

  int size_ = 0;
  size_t piece_ = 0;
};

// Copies to an address aligned to 16 bytes without reading it into the cache first.
void CopyAroundCache(char* to, const char* from, size_t bytes) {
  size_t done = 0;
#ifdef __SSE2__
  for (; done + 64 <= bytes; done += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from + done);
    auto* target = reinterpret_cast<__m128i*>(to + done);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // before the step that tells the others of the data
#endif
  std::memcpy(to + done, from + done, bytes - done);
}

// The words lie in memory that several processes map: the calls are not the private ones.
void FutexWait(std::atomic<uint32_t>* word, uint32_t value, milliseconds limit) {
  const timespec time = {limit.count() / 1000, limit.count() % 1000 * 1000000};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &time, nullptr, 0);
}
void FutexWakeAll(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// All shards run the same operations, and each operation has the same number of steps on every
// shard. A shard counts its steps in shared memory and waits for the steps of others.
//
// Data of at most kMaxOneStepBytes take one step, which all shards await. So each shard has two
// buffers for them: after the next such operation, every shard has finished this one. Larger data
// begin with a barrier, after which all buffers are free.
class SharedMemoryCommunicator final : public HostCommunicator {
 public:
  SharedMemoryCommunicator(const CommunicatorOptions& options, std::shared_ptr<SharedMemory> memory)
      : HostCommunicator(options), memory_(std::move(memory)), layout_(options.size) {
    Register();
  }
  ~SharedMemoryCommunicator() override {
    Unregister();
    memory_->Close();
  }

  std::shared_ptr<Communicator> Clone(const std::string& name) override;

 protected:
  void DoAllreduce(void* data, int64_t count, TypeMeta type) override;
  void DoBroadcast(void* data, size_t bytes, int root) override;
  void DoAllgather(const void* input, void* output, size_t bytes) override;
  void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) override;
  void DoBarrier() override { WaitForAll(FinishStep()); }

  void Close() override {
    memory_->Close();
    for (int i = 0; i < size(); ++i) {
      for (int channel = 0; channel < kChannels; ++channel) FutexWakeAll(&StepsOf(i, channel).done);
    }
  }
  void BeginTransfers(bool agreeing) override { channel_ = agreeing ? kComparisons : kOperations; }

 private:
  Steps& StepsOf(int rank, int channel) {
    return *reinterpret_cast<Steps*>(memory_->data() + layout_.StepsOf(rank, channel));
  }
  Head& head() { return *reinterpret_cast<Head*>(memory_->data()); }
  char* Piece(int rank, int64_t chunk, int piece) {
    return memory_->data() + layout_.Piece(rank, chunk, piece);
  }

  // Tells the others that this shard has finished its next step; returns the number of the step.
  uint32_t FinishStep();
  // Waits until shard `rank`, or every other shard, has finished its step of this number.
  void WaitFor(int rank, uint32_t step, std::chrono::microseconds spin);
  void WaitForAll(uint32_t step, std::chrono::microseconds spin = kSpinTime);
  bool Spin(const Steps& steps, uint32_t step, std::chrono::microseconds time) const;
  // Throws if shard `rank` has not finished this step and this shard must not wait for it any
  // longer.
  void CheckWait(int rank, uint32_t step);
  // Names the suspect to all shards and fails.
  [[noreturn]] void Blame(int suspect, bool late, const std::string& cause);

  // Copies up to kOneStepBytes to the others and waits for theirs. Gives the data of all shards.
  std::vector<const char*> ShareInOneStep(const void* data, size_t bytes);
  void AllreduceInOneStep(char* data, int64_t count, TypeMeta type, SumOrder order);
  // Shard i adds ranges[i]. With `spread`, all shards get all sums.
  void ReduceInChunks(char* data, const std::vector<ElementRange>& ranges, TypeMeta type,
                      SumOrder order, bool spread);

  const std::shared_ptr<SharedMemory> memory_;
  const Layout layout_;
  Channel channel_ = kOperations;
  uint32_t steps_[kChannels] = {};          // finished by this shard
  uint32_t one_step_uses_[kChannels] = {};  // of its buffers for data of one step
  std::vector<char> scratch_;
};

uint32_t SharedMemoryCommunicator::FinishStep() {
  Steps& steps = StepsOf(rank(), channel_);
  const uint32_t step = ++steps_[channel_];
  // Either this thread sees the sleeper, or the sleeper sees the step before it sleeps.
  steps.done.store(step, std::memory_order_seq_cst);
  if (steps.sleepers.load(std::memory_order_seq_cst) != 0) FutexWakeAll(&steps.done);
  return step;
}

bool Reached(uint32_t done, uint32_t step) { return static_cast<int32_t>(done - step) >= 0; }

bool SharedMemoryCommunicator::Spin(const Steps& steps, uint32_t step,
                                    std::chrono::microseconds time) const {
  // About 20 microseconds. Then a peer that shares this core may run.
  constexpr int kLooks = 8000;
  if (Reached(steps.done.load(std::memory_order_acquire), step)) return true;
  if (!memory_->has_core_for_each()) return false;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (Reached(steps.done.load(std::memory_order_acquire), step)) return true;
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

void SharedMemoryCommunicator::WaitFor(int rank, uint32_t step, std::chrono::microseconds spin) {
  Steps& steps = StepsOf(rank, channel_);
  if (Spin(steps, step, spin)) return;
  struct Sleeper {
    explicit Sleeper(Steps* steps) : steps(steps) { ++steps->sleepers; }
    ~Sleeper() { --steps->sleepers; }
    Steps* steps;
  } sleeper(&steps);
  for (;;) {
    const uint32_t done = steps.done.load(std::memory_order_seq_cst);
    if (Reached(done, step)) return;
    CheckWait(rank, step);
    FutexWait(&steps.done, done,
              std::clamp(deadline().remaining(), milliseconds(1), kLookInterval));
  }
}

void SharedMemoryCommunicator::WaitForAll(uint32_t step, std::chrono::microseconds spin) {
  for (int i = 1; i < size(); ++i) WaitFor((rank() + i) % size(), step, spin);
}

void SharedMemoryCommunicator::CheckWait(int rank, uint32_t step) {
  ThrowIfAborted();
  const int lost = memory_->FindLost();
  // A shard that has done its part may be gone already: then this step is finished, but perhaps
  // only since WaitFor() looked at it.
  if (Reached(StepsOf(rank, channel_).done.load(), step)) return;
  if (lost >= 0) {
    // The shard that closed its sockets may have done so because of another one.
    const int blamed = head().suspect.load() - 1;
    if (blamed >= 0 && blamed < size() && blamed != this->rank() && blamed != lost) {
      Blame(blamed, false, "reported by " + memory_->Describe(lost));
    }
    Blame(lost, false, "its connection was closed");
  }
  if (deadline().expired()) Blame(rank, true, "");
}

void SharedMemoryCommunicator::Blame(int suspect, bool late, const std::string& cause) {
  int32_t none = 0;
  head().suspect.compare_exchange_strong(none, suspect + 1);
  Fail(suspect, memory_->Describe(suspect), late, cause);
}

std::vector<const char*> SharedMemoryCommunicator::ShareInOneStep(const void* data, size_t bytes) {
  CAFFE_ENFORCE_LE(bytes, kOneStepBytes[channel_]);
  const uint32_t use = one_step_uses_[channel_]++;
  std::vector<const char*> all(size());
  for (int i = 0; i < size(); ++i) all[i] = memory_->data() + layout_.OneStep(i, channel_, use);
  std::memcpy(const_cast<char*>(all[rank()]), data, bytes);
  WaitForAll(FinishStep());
  return all;
}

void SharedMemoryCommunicator::AllreduceInOneStep(char* data, int64_t count, TypeMeta type,
                                                  SumOrder order) {
  const size_t bytes = static_cast<size_t>(count) * type.itemsize();
  std::vector<const char*> terms = ShareInOneStep(data, bytes);
  terms[rank()] = data;
  scratch_.resize(std::max(scratch_.size(), bytes * size()));
  const auto writable = [&](int i) {
    char* own = i == rank() ? data : scratch_.data() + i * bytes;
    // The other shards read the shared copy.
    if (terms[i] != own) std::memcpy(own, terms[i], bytes);
    terms[i] = own;
    return own;
  };
  const std::vector<Addition> additions = Additions(order, size(), rank());
  for (const Addition& addition : additions) {
    Accumulate(type, terms[addition.from], writable(addition.to), count);
  }
  const char* sum = terms[additions.back().to];
  if (sum != data) std::memcpy(data, sum, bytes);
}

void SharedMemoryCommunicator::ReduceInChunks(char* data, const std::vector<ElementRange>& ranges,
                                              TypeMeta type, SumOrder order, bool spread) {
  const auto item = static_cast<int64_t>(type.itemsize());
  const auto piece_items = static_cast<int64_t>(layout_.piece_bytes()) / item;
  const auto block_items = static_cast<int64_t>(kBlockBytes) / item;
  int64_t longest = 0, total = 0;
  for (const ElementRange& range : ranges) {
    longest = std::max(longest, range.size());
    total += range.size();
  }
  const int64_t chunks = std::max((longest + piece_items - 1) / piece_items,
                                  std::clamp<int64_t>(longest / block_items, 1, kFewChunks));
  const bool streamed = static_cast<size_t>(total * item) >= kMinStreamedBytes;
  const std::vector<Addition> additions = Additions(order, size(), rank());
  std::vector<char*> terms(size());

  DoBarrier();
  // Piece i of a shard's buffer holds its data for shard i, and its own piece the sum. Chunk k + 1
  // is given while chunk k is added and chunk k - 1 received: so a shard seldom waits.
  const auto write = [&](char* to, const char* from, int64_t items) {
    const auto bytes = static_cast<size_t>(items * item);
    if (streamed) {
      CopyAroundCache(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  };
  const auto give = [&](int64_t k) {
    for (int i = 0; i < size() && k < chunks; ++i) {
      const ElementRange range = ranges[i].Part(k, chunks);
      if (i != rank()) write(Piece(rank(), k, i), data + range.begin * item, range.size());
    }
    return FinishStep();
  };
  const auto add = [&](int64_t k) {
    const ElementRange range = ranges[rank()].Part(k, chunks);
    for (int64_t begin = 0; begin < range.size(); begin += block_items) {
      const int64_t items = std::min(block_items, range.size() - begin);
      char* own = data + (range.begin + begin) * item;
      for (int i = 0; i < size(); ++i) {
        terms[i] = i == rank() ? own : Piece(i, k, rank()) + begin * item;
      }
      for (const Addition& addition : additions) {
        Accumulate(type, terms[addition.from], terms[addition.to], items);
      }
      const char* sum = terms[additions.back().to];
      if (sum != own) std::memcpy(own, sum, static_cast<size_t>(items * item));
      if (spread) write(Piece(rank(), k, rank()) + begin * item, own, items);
    }
    return FinishStep();
  };
  const auto receive = [&](int64_t k) {
    for (int i = 0; i < size() && spread; ++i) {
      const ElementRange range = ranges[i].Part(k, chunks);
      if (i == rank()) continue;
      std::memcpy(data + range.begin * item, Piece(i, k, i),
                  static_cast<size_t>(range.size() * item));
    }
  };
  uint32_t given = give(0), added = 0;
  for (int64_t k = 0; k < chunks; ++k) {
    const uint32_t next_given = give(k + 1);
    WaitForAll(given, kSpinTimeOfChunks);
    const uint32_t now_added = add(k);
    if (k > 0) {
      WaitForAll(added, kSpinTimeOfChunks);
      receive(k - 1);
    }
    given = next_given;
    added = now_added;
  }
  WaitForAll(added, kSpinTimeOfChunks);
  receive(chunks - 1);
}

void SharedMemoryCommunicator::DoAllreduce(void* data, int64_t count, TypeMeta type) {
  auto* bytes = static_cast<char*>(data);
  const SumOrder order = AllreduceOrder(count, type, size());
  if (static_cast<size_t>(count) * type.itemsize() <= kMaxOneStepBytes) {
    AllreduceInOneStep(bytes, count, type, order);
    return;
  }
  std::vector<ElementRange> ranges(size());
  // The ring ends the sum of part i + 1 at rank i.
  for (int i = 0; i < size(); ++i) {
    ranges[i] = ElementRange{0, count}.Part((i + 1) % size(), size());
  }
  ReduceInChunks(bytes, ranges, type, order, true);
}

void SharedMemoryCommunicator::DoReduceScatter(void* data, const std::vector<int64_t>& counts,
                                               TypeMeta type) {
  auto* bytes = static_cast<char*>(data);
  std::vector<ElementRange> ranges;
  int64_t begin = 0;
  for (const int64_t count : counts) {
    ranges.push_back({begin, begin + count});
    begin += count;
  }
  ReduceInChunks(bytes, ranges, type, SumOrder::kRing, false);
  const ElementRange own = ranges[rank()];
  std::memmove(bytes, bytes + own.begin * type.itemsize(), own.size() * type.itemsize());
}

void SharedMemoryCommunicator::DoBroadcast(void* data, size_t bytes, int root) {
  auto* own = static_cast<char*>(data);
  if (bytes <= kOneStepBytes[channel_]) {
    const std::vector<const char*> all = ShareInOneStep(own, bytes);
    if (rank() != root) std::memcpy(own, all[root], bytes);
    return;
  }
  DoBarrier();
  uint32_t step = steps_[channel_];
  const size_t chunk_bytes = layout_.buffer_bytes();
  const auto chunks = static_cast<int64_t>((bytes + chunk_bytes - 1) / chunk_bytes);
  for (int64_t k = 0; k < chunks; ++k) {
    char* part = own + k * chunk_bytes;
    const size_t part_bytes = std::min(chunk_bytes, bytes - k * chunk_bytes);
    ++step;
    if (rank() == root) {
      // The others have read what the buffer holds.
      if (k >= kBuffers) WaitForAll(step - kBuffers, kSpinTimeOfChunks);
      std::memcpy(Piece(root, k, 0), part, part_bytes);
    } else {
      WaitFor(root, step, kSpinTimeOfChunks);
      std::memcpy(part, Piece(root, k, 0), part_bytes);
    }
    FinishStep();
  }
}

void SharedMemoryCommunicator::DoAllgather(const void* input, void* output, size_t bytes) {
  char* out = static_cast<char*>(output);
  char* own = out + rank() * bytes;
  if (own != input) std::memcpy(own, input, bytes);
  const auto take = [&](int i, const char* from, size_t begin, size_t part_bytes) {
    if (i != rank()) std::memcpy(out + i * bytes + begin, from, part_bytes);
  };
  if (bytes <= kOneStepBytes[channel_]) {
    const std::vector<const char*> all = ShareInOneStep(own, bytes);
    for (int i = 0; i < size(); ++i) take(i, all[i], 0, bytes);
    return;
  }
  DoBarrier();
  const size_t chunk_bytes = layout_.buffer_bytes();
  const auto chunks = static_cast<int64_t>((bytes + chunk_bytes - 1) / chunk_bytes);
  const auto size_of = [&](int64_t k) { return std::min(chunk_bytes, bytes - k * chunk_bytes); };
  const auto give = [&](int64_t k) {
    if (k < chunks) std::memcpy(Piece(rank(), k, 0), own + k * chunk_bytes, size_of(k));
    return FinishStep();
  };
  uint32_t given = give(0);
  for (int64_t k = 0; k < chunks; ++k) {
    // Whoever gave chunk k has taken chunk k - 2, whose buffer chunk k + 1 takes.
    WaitForAll(given, kSpinTimeOfChunks);
    given = give(k + 1);
    for (int i = 0; i < size(); ++i) take(i, Piece(i, k, 0), k * chunk_bytes, size_of(k));
  }
}

SharedMemory::Attached AttachWorld(Communicator* control, const CommunicatorOptions& options,
                                   const std::string& refusal, const WaitCheck& check) {
  // Others may be late until all have attached.
  const TimeoutScope scope(control, options.ConnectTimeout(), options.timeout);
  // It takes milliseconds once all are here, unless something is wrong.
  const milliseconds limit = std::min(options.ConnectTimeout() / 2, milliseconds(10000));
  return SharedMemory::Attach(control, options.name, Layout(options.size).total(), limit, refusal,
                              check);
}

std::shared_ptr<Communicator> SharedMemoryCommunicator::Clone(const std::string& name) {
  CommunicatorOptions options = this->options();
  options.name = name;
  const SharedMemory::Attached attached =
      AttachWorld(this, options, "", [this](const std::string&) { ThrowIfAborted(); });
  if (attached.memory == nullptr) {
    ThrowIoError(ExitCode::kSystem, "common world ", name,
                 " gets no shared memory: ", attached.obstacle,
                 "; use --distributed_transport tcp");
  }
  return std::make_shared<SharedMemoryCommunicator>(options, attached.memory);
}

}  // namespace

std::shared_ptr<Communicator> ConnectShards(StoreHandler* store,
                                            const CommunicatorOptions& options) {
  const bool automatic = options.transport == "auto",
             demanded = options.transport == "shared_memory";
  CommunicatorOptions over_tcp = options;
  if (automatic || demanded) over_tcp.transport = "tcp";
  std::shared_ptr<Communicator> control = ConnectGloo(store, over_tcp);
  if (options.size == 1) return control;
  const SharedMemory::Attached attached =
      AttachWorld(control.get(), options, automatic || demanded ? "" : "it asks for transport tcp",
                  [&](const std::string& awaited) { store->CheckWait(awaited); });
  if (attached.memory != nullptr) {
    if (options.rank == 0) {
      LOG(INFO) << "common world " << options.name << ": " << options.size
                << " shards exchange through shared memory";
    }
    return std::make_shared<SharedMemoryCommunicator>(options, attached.memory);
  }
  if (demanded) {
    ThrowIoError(ExitCode::kSystem, "common world ", options.name,
                 " cannot use shared memory: ", attached.obstacle,
                 "; use --distributed_transport auto or tcp");
  }
  if (automatic && attached.one_machine) {
    LOG(WARNING) << "common world " << options.name
                 << " uses TCP within this machine, not shared memory: " << attached.obstacle;
  }
  return control;
}

}  // namespace caffe2
