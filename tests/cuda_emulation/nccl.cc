// caffe2/cuda/nccl.h among the threads of one process: an operation is carried out by the member
// that comes last, and the others find it done. As with NCCL, who waits for a member that never
// comes waits for ever, unless `wait` throws.
#include "caffe2/cuda/nccl.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "caffe2/core/logging.h"
#include "distributed/accumulate.h"
#include "tests/cuda_emulation/device.h"

namespace caffe2::cuda {
namespace {

struct Part {
  const void* input = nullptr;
  void* output = nullptr;
};
// What to do with the parts of all members.
using Work = std::function<void(const std::vector<Part>&)>;

struct Shared {
  struct Operation {
    std::vector<Part> parts;
    int arrived = 0;
  };
  std::mutex mutex;
  int joined = 0;
  std::map<int64_t, Operation> open;
  int64_t done = 0;  // operations that are over
};

std::shared_ptr<Shared> SharedOf(const NcclId& id) {
  static std::mutex mutex;
  static auto* groups = new std::map<NcclId, std::weak_ptr<Shared>>;
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Shared>& known = (*groups)[id];
  std::shared_ptr<Shared> shared = known.lock();
  if (shared == nullptr) known = shared = std::make_shared<Shared>();
  return shared;
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
  int rank = 0, size = 1;
  Stream stream = nullptr;
  std::function<void()> wait;
  std::shared_ptr<Shared> shared;
  int64_t started = 0;
  bool aborted = false;

  void Start(const Part& part, const Work& work) {
    CAFFE_ENFORCE(!aborted, "the NCCL group was aborted");
    emulation::Perform(stream, [this, part, work] { Take(part, work); });
  }
  void Take(const Part& part, const Work& work) {
    std::lock_guard<std::mutex> lock(shared->mutex);
    Shared::Operation& operation = shared->open[started++];
    operation.parts.resize(size);
    operation.parts[rank] = part;
    if (++operation.arrived < size) return;
    work(operation.parts);
    shared->open.erase(shared->done++);
  }
};

NcclGroup::NcclGroup(const NcclId& id, int rank, int size, int /*device*/, Stream stream,
                     std::function<void()> wait)
    : state_(std::make_unique<State>()) {
  CAFFE_ENFORCE(!emulation::RunsAhead(), "the asynchronous emulation has no NCCL groups");
  state_->rank = rank;
  state_->size = size;
  state_->stream = stream;
  state_->wait = wait;
  state_->shared = SharedOf(id);
  const auto all_are_here = [this, size] {
    std::lock_guard<std::mutex> lock(state_->shared->mutex);
    return state_->shared->joined >= size;
  };
  {
    std::lock_guard<std::mutex> lock(state_->shared->mutex);
    ++state_->shared->joined;
  }
  while (!all_are_here()) wait();
}
NcclGroup::~NcclGroup() = default;

void NcclGroup::Allreduce(void* data, int64_t count, TypeMeta type) {
  state_->Start({data, data}, [=](const std::vector<Part>& parts) {
    for (size_t i = 1; i < parts.size(); ++i) {
      Accumulate(type, parts[i].input, parts[0].output, count);
    }
    for (size_t i = 1; i < parts.size(); ++i) {
      std::memcpy(parts[i].output, parts[0].output, count * type.itemsize());
    }
  });
}

void NcclGroup::Broadcast(void* data, size_t bytes, int root) {
  state_->Start({data, data}, [=](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      if (part.output != parts[root].input) std::memcpy(part.output, parts[root].input, bytes);
    }
  });
}

void NcclGroup::Allgather(const void* input, void* output, size_t bytes) {
  state_->Start({input, output}, [=](const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      for (size_t i = 0; i < parts.size(); ++i) {
        std::memmove(static_cast<char*>(part.output) + i * bytes, parts[i].input, bytes);
      }
    }
  });
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

bool NcclGroup::Done() {
  CAFFE_ENFORCE(!state_->aborted, "the NCCL group was aborted");
  std::lock_guard<std::mutex> lock(state_->shared->mutex);
  return state_->shared->done >= state_->started;
}
void NcclGroup::CheckErrors() { CAFFE_ENFORCE(!state_->aborted, "the NCCL group was aborted"); }
void NcclGroup::Join(Stream waiting) {
  emulation::Perform(waiting, [this] {
    while (!Done()) state_->wait();
  });
}
void NcclGroup::Abort() { state_->aborted = true; }

// The sums of a group are formed apart: outputs may be inputs of their own device.
struct LocalNcclGroup::State {
  std::vector<int> devices;

  void Finish() const {
    for (const int device : devices) emulation::Finish(device);
  }
  static std::vector<char> SumOf(const std::vector<const void*>& inputs, int64_t count,
                                 TypeMeta type) {
    const auto* first = static_cast<const char*>(inputs[0]);
    std::vector<char> sum(first, first + count * type.itemsize());
    for (size_t i = 1; i < inputs.size(); ++i) Accumulate(type, inputs[i], sum.data(), count);
    return sum;
  }
};

LocalNcclGroup::LocalNcclGroup(const std::vector<int>& devices)
    : state_(std::make_shared<State>(State{devices})) {}
LocalNcclGroup* LocalNcclGroup::Of(const std::vector<int>& devices) {
  return FindLocalGroup(
      devices, [&devices] { return std::unique_ptr<LocalNcclGroup>(new LocalNcclGroup(devices)); });
}

void LocalNcclGroup::Allreduce(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, int64_t count, TypeMeta type) {
  state_->Finish();
  const std::vector<char> sum = State::SumOf(inputs, count, type);
  for (void* output : outputs) std::memcpy(output, sum.data(), sum.size());
}
void LocalNcclGroup::Reduce(const std::vector<const void*>& inputs, void* output, int64_t count,
                            TypeMeta type, int /*root*/) {
  state_->Finish();
  const std::vector<char> sum = State::SumOf(inputs, count, type);
  std::memcpy(output, sum.data(), sum.size());
}
void LocalNcclGroup::Broadcast(const void* input, const std::vector<void*>& outputs, size_t bytes,
                               int /*root*/) {
  state_->Finish();
  for (void* output : outputs) std::memmove(output, input, bytes);
}
void LocalNcclGroup::Allgather(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, size_t bytes) {
  state_->Finish();
  for (void* output : outputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(static_cast<char*>(output) + i * bytes, inputs[i], bytes);
    }
  }
}
void LocalNcclGroup::ReduceScatter(const std::vector<const void*>& inputs,
                                   const std::vector<void*>& outputs, int64_t count,
                                   TypeMeta type) {
  state_->Finish();
  const auto members = static_cast<int64_t>(inputs.size());
  const std::vector<char> sum = State::SumOf(inputs, members * count, type);
  const size_t bytes = count * type.itemsize();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memcpy(outputs[i], sum.data() + i * bytes, bytes);
  }
}

}  // namespace caffe2::cuda
