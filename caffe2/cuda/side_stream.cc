#include "caffe2/cuda/side_stream.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace caffe2::cuda {
namespace {

// Work that is not joined: for each result, the event after the work.
using OpenWork = std::map<const void*, std::unique_ptr<Event>>;

// The open work of one device. All threads share its streams, so a join by one thread is a join for
// all.
struct DeviceWork {
  std::mutex mutex;
  OpenWork open;
};
DeviceWork& WorkOf(int device) {
  static std::mutex mutex;
  static auto* works = new std::map<int, DeviceWork>;
  std::lock_guard<std::mutex> lock(mutex);
  return (*works)[device];
}

// A recording has its own streams, and so its own open work.
thread_local std::optional<OpenWork> recorded;

// Calls f(open work) for the thread's recording, or else for the device. The lock is held until the
// events are waited for: once work is not listed, it must precede the compute stream's later work.
template <typename F>
void WithOpenWork(int device, const F& f) {
  if (recorded) return f(&*recorded);
  DeviceWork& work = WorkOf(device);
  std::lock_guard<std::mutex> lock(work.mutex);
  f(&work.open);
}

}  // namespace

void ForkSideWork(int device, const void* result, const std::function<void(Stream side)>& body) {
  const Stream compute = GetStream(device, kComputeStream), side = GetStream(device, kSideStream);
  Event forked(device);
  forked.Record(compute);
  forked.Delay(side);
  auto done = std::make_unique<Event>(device);
  try {
    body(side);
  } catch (...) {
    done->Record(side);
    done->Delay(compute);
    throw;
  }
  done->Record(side);
  WithOpenWork(device, [&](OpenWork* open) { (*open)[result] = std::move(done); });
}

void JoinSideWork(int device, const void* result) {
  WithOpenWork(device, [&](OpenWork* open) {
    const auto work = open->find(result);
    if (work == open->end()) return;
    work->second->Delay(GetStream(device, kComputeStream));
    open->erase(work);
  });
}

void JoinAllSideWork(int device) {
  WithOpenWork(device, [device](OpenWork* open) {
    for (const auto& [result, done] : *open) done->Delay(GetStream(device, kComputeStream));
    open->clear();
  });
}

RecordedSideWork::RecordedSideWork() { recorded.emplace(); }
RecordedSideWork::~RecordedSideWork() { recorded.reset(); }

}  // namespace caffe2::cuda
