// caffe2/cuda/nccl.h among the threads of one process. The last member that arrives at an operation
// carries it out for all. As with NCCL, a member that waits for one that never arrives waits for
// ever, unless `wait` throws. If streams are lazy, a member's stream stops at an operation until
// all members have arrived. A thread that waits for such a stream also does the work of the other
// members' devices, because their hosts may be waiting for something else.
#include "caffe2/cuda/nccl.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/runtime.h"
#include "distributed/accumulate.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/lazy_queue.h"

namespace caffe2::cuda {
namespace {

struct Part {
  const void* input = nullptr;
  void* output = nullptr;
  bool here = false;  // its member has arrived
};
// Combines the parts of all members.
using Combine = std::function<void(const std::vector<Part>&)>;

struct Shared {
  struct Operation {
    std::vector<Part> parts;
    int arrived = 0;
  };
  std::mutex mutex;
  int joined = 0;
  std::map<int, int> devices;  // by member
  std::map<int64_t, Operation> open;
  int64_t done = 0;  // number of finished operations
};

// A member of a group. Lives as long as work of its stream refers to it.
struct Member {
  int rank = 0, size = 1, device = 0;
  Stream stream = nullptr;
  std::shared_ptr<Shared> shared;
  int64_t arrived_at = 0;  // number of operations at which it has arrived
  std::atomic<bool> aborted{false};

  // Arrives at the next operation.
  void Arrive(const Part& part, const Combine& combine) {
    std::lock_guard<std::mutex> lock(shared->mutex);
    Shared::Operation& operation = shared->open[arrived_at++];
    operation.parts.resize(size);
    operation.parts[rank] = part;
    operation.parts[rank].here = true;
    if (++operation.arrived < size) return;
    combine(operation.parts);
    shared->open.erase(shared->done++);
  }
  bool IsDone() {
    std::lock_guard<std::mutex> lock(shared->mutex);
    return shared->done >= arrived_at;
  }
  // The same. If it is not done, lets the devices of the members that have not arrived do a little
  // work.
  bool GetsDone() {
    if (aborted) return true;
    std::map<int, int> devices;
    {
      std::lock_guard<std::mutex> lock(shared->mutex);
      if (shared->done >= arrived_at) return true;
      devices = shared->devices;
      const std::vector<Part>& parts = shared->open[shared->done].parts;
      for (int i = 0; i < static_cast<int>(parts.size()); ++i) {
        if (parts[i].here) devices.erase(i);
      }
    }
    for (const auto& [other, its_device] : devices) {
      for (const int id : {kCommunicationStream, kComputeStream}) {
        emulation::AdvanceStream(GetStream(its_device, id));
      }
    }
    return IsDone();
  }
};

// Puts an operation of a member into its stream. The stream goes on when all members have arrived.
void Start(const std::shared_ptr<Member>& member, const Part& part, const Combine& combine) {
  emulation::Perform(member->stream, [member, part, combine] {
    if (!member->aborted) member->Arrive(part, combine);
  });
  // A recorded operation waits where it is joined.
  if (emulation::RunsAhead() && !IsRecorded(GetStream(member->device, kComputeStream))) {
    emulation::PerformWhen(member->stream, [member] { return member->GetsDone(); });
  }
}

std::shared_ptr<Shared> SharedOf(const NcclId& id) {
  static std::mutex mutex;
  static auto* groups = new std::map<NcclId, std::weak_ptr<Shared>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Shared>& known = (*groups)[id];
  std::shared_ptr<Shared> shared = known.lock();
  if (shared == nullptr) known = shared = std::make_shared<Shared>();
  return shared;
}

// The operations.

Combine Sum(int64_t count, TypeMeta type) {
  return [=](const std::vector<Part>& parts) {
    const auto* first = static_cast<const char*>(parts[0].input);
    // A separate array, because outputs may be inputs.
    std::vector<char> sum(first, first + count * type.itemsize());
    for (size_t i = 1; i < parts.size(); ++i) {
      Accumulate(type, parts[i].input, sum.data(), count);
    }
    for (const Part& part : parts) {
      if (part.output != nullptr) std::memcpy(part.output, sum.data(), sum.size());
    }
  };
}

Combine Spread(size_t bytes, int root) {
  return [=](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      if (part.output != parts[root].input) std::memcpy(part.output, parts[root].input, bytes);
    }
  };
}

Combine Gather(size_t bytes) {
  return [=](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      for (size_t i = 0; i < parts.size(); ++i) {
        std::memmove(static_cast<char*>(part.output) + i * bytes, parts[i].input, bytes);
      }
    }
  };
}

}  // namespace

NcclId MakeNcclId() {
  static std::atomic<int64_t> count{0};
  const int64_t number = ++count;
  NcclId id{};
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

struct NcclGroup::State {
  static constexpr int kAhead = 4;  // pieces of work

  explicit State(int device) : end(device) {}

  std::shared_ptr<Member> member = std::make_shared<Member>();
  std::function<void()> wait;
  Event end;  // after the operation that was started last

  void CheckErrors() const { CAFFE_ENFORCE(!member->aborted, "the NCCL group was aborted"); }
  void Start(const Part& part, const Combine& combine) {
    CheckErrors();
    cuda::Start(member, part, combine);
    end.Record(member->stream);
    // Runs ahead of the compute stream as far as possible, so that a missing wait shows.
    for (int i = 0; i < kAhead; ++i) emulation::AdvanceStream(member->stream);
  }
  bool Done() const {
    CheckErrors();
    // A stream that is not lazy goes past operations at which other members have not arrived yet.
    return end.Done() && (emulation::RunsAhead() || member->IsDone());
  }
};

NcclGroup::NcclGroup(const NcclId& id, int rank, int size, int device, Stream stream,
                     std::function<void()> wait)
    : state_(std::make_unique<State>(device)) {
  state_->wait = std::move(wait);
  Member& member = *state_->member;
  member.rank = rank;
  member.size = size;
  member.device = device;
  member.stream = stream;
  member.shared = SharedOf(id);
  const auto all_are_here = [&member, size] {
    std::lock_guard<std::mutex> lock(member.shared->mutex);
    return member.shared->joined >= size;
  };
  {
    std::lock_guard<std::mutex> lock(member.shared->mutex);
    member.shared->devices[rank] = device;
    ++member.shared->joined;
  }
  while (!all_are_here()) state_->wait();
}

NcclGroup::~NcclGroup() {
  if (!emulation::RunsAhead()) return;
  try {
    while (!state_->member->aborted && !Done()) state_->wait();
  } catch (const std::exception& error) {
    LOG(WARNING) << error.what();
    Abort();
  }
}

void NcclGroup::Allreduce(void* data, int64_t count, TypeMeta type) {
  state_->Start({data, data}, Sum(count, type));
}
void NcclGroup::Broadcast(void* data, size_t bytes, int root) {
  state_->Start({data, data}, Spread(bytes, root));
}
void NcclGroup::Allgather(const void* input, void* output, size_t bytes) {
  state_->Start({input, output}, Gather(bytes));
}
void NcclGroup::ReduceParts(void* data, const std::vector<int64_t>& counts, TypeMeta type) {
  state_->Start({data, data}, [=](const std::vector<Part>& parts) {
    size_t offset = 0;
    for (size_t root = 0; root < parts.size(); ++root) {
      char* sum = static_cast<char*>(parts[root].output) + offset;
      for (size_t i = 0; i < parts.size(); ++i) {
        if (i == root) continue;
        Accumulate(type, static_cast<const char*>(parts[i].input) + offset, sum, counts[root]);
      }
      offset += counts[root] * type.itemsize();
    }
  });
}

bool NcclGroup::Done() { return state_->Done(); }
void NcclGroup::CheckErrors() { state_->CheckErrors(); }
void NcclGroup::Join(Stream waiting) {
  if (emulation::RunsAhead()) {
    emulation::PerformWhen(waiting, [member = state_->member] { return member->GetsDone(); });
  } else {
    emulation::Perform(waiting, [this] {
      while (!Done()) state_->wait();
    });
  }
}
void NcclGroup::Abort() { state_->member->aborted = true; }

struct LocalNcclGroup::State {
  std::vector<std::shared_ptr<Member>> members;  // by device

  explicit State(const std::vector<int>& devices) {
    const auto shared = std::make_shared<Shared>();
    for (int rank = 0; rank < static_cast<int>(devices.size()); ++rank) {
      shared->devices[rank] = devices[rank];
      const auto member = members.emplace_back(std::make_shared<Member>());
      member->rank = rank;
      member->size = static_cast<int>(devices.size());
      member->device = devices[rank];
      member->stream = GetStream(devices[rank], kComputeStream);
      member->shared = shared;
    }
  }

  // One operation at a time in the process, because all devices must see the same order.
  void Run(const std::function<Part(size_t)>& part, const Combine& combine) const {
    static std::mutex order;
    std::lock_guard<std::mutex> lock(order);
    for (size_t i = 0; i < members.size(); ++i) Start(members[i], part(i), combine);
  }
};

LocalNcclGroup::LocalNcclGroup(const std::vector<int>& devices)
    : state_(std::make_shared<State>(devices)) {}
LocalNcclGroup* LocalNcclGroup::Of(const std::vector<int>& devices) {
  return FindLocalGroup(
      devices, [&devices] { return std::unique_ptr<LocalNcclGroup>(new LocalNcclGroup(devices)); });
}

void LocalNcclGroup::Allreduce(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, int64_t count, TypeMeta type) {
  state_->Run([&](size_t i) { return Part{inputs[i], outputs[i]}; }, Sum(count, type));
}
void LocalNcclGroup::Reduce(const std::vector<const void*>& inputs, void* output, int64_t count,
                            TypeMeta type, int root) {
  state_->Run(
      [&](size_t i) {
        return Part{inputs[i], static_cast<int>(i) == root ? output : nullptr};
      },
      Sum(count, type));
}
void LocalNcclGroup::Broadcast(const void* input, const std::vector<void*>& outputs, size_t bytes,
                               int root) {
  state_->Run(
      [&](size_t i) {
        return Part{static_cast<int>(i) == root ? input : outputs[i], outputs[i]};
      },
      Spread(bytes, root));
}
void LocalNcclGroup::Allgather(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, size_t bytes) {
  state_->Run([&](size_t i) { return Part{inputs[i], outputs[i]}; }, Gather(bytes));
}
void LocalNcclGroup::ReduceScatter(const std::vector<const void*>& inputs,
                                   const std::vector<void*>& outputs, int64_t count,
                                   TypeMeta type) {
  const auto members = static_cast<int64_t>(inputs.size());
  state_->Run(
      [&](size_t i) {
        return Part{inputs[i], outputs[i]};
      },
      [=](const std::vector<Part>& parts) {
        std::vector<char> sum(members * count * type.itemsize());
        std::memcpy(sum.data(), parts[0].input, sum.size());
        for (size_t i = 1; i < parts.size(); ++i) {
          Accumulate(type, parts[i].input, sum.data(), members * count);
        }
        const size_t bytes = count * type.itemsize();
        for (size_t i = 0; i < parts.size(); ++i) {
          std::memcpy(parts[i].output, sum.data() + i * bytes, bytes);
        }
      });
}

}  // namespace caffe2::cuda
