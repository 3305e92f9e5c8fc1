#include "caffe2/cuda/nccl.h"

#include <nccl.h>

#include <cstring>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/vendor_library.h"

namespace caffe2::cuda {
namespace {

// The functions of libnccl that this file uses. The first group loads the library, so that programs
// also start on machines without it.
struct Library {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclCommInitAll) init_all = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;

  Library() {
    const VendorLibrary nccl("NCCL", {"libnccl.so.2"});
    nccl.Find("ncclGetUniqueId", &get_unique_id);
    nccl.Find("ncclCommInitRankConfig", &init);
    nccl.Find("ncclCommGetAsyncError", &async_error);
    nccl.Find("ncclCommFinalize", &finalize);
    nccl.Find("ncclCommDestroy", &destroy);
    nccl.Find("ncclCommAbort", &abort);
    nccl.Find("ncclGetErrorString", &error_string);
    nccl.Find("ncclGetLastError", &last_error);
    nccl.Find("ncclAllReduce", &all_reduce);
    nccl.Find("ncclBroadcast", &broadcast);
    nccl.Find("ncclAllGather", &all_gather);
    nccl.Find("ncclReduce", &reduce);
    nccl.Find("ncclReduceScatter", &reduce_scatter);
    nccl.Find("ncclCommInitAll", &init_all);
    nccl.Find("ncclGroupStart", &group_start);
    nccl.Find("ncclGroupEnd", &group_end);
  }
};

// Tries again, and throws again, as long as it cannot be loaded.
const Library& Nccl() {
  static const auto* library = new Library;
  return *library;
}

[[noreturn]] void Throw(ncclResult_t status, const char* what, ncclComm_t comm) {
  const char* detail = Nccl().last_error(comm);
  const std::string more =
      detail != nullptr && *detail != '\0' ? MakeString(" (", detail, ")") : "";
  throw Error(MakeString("NCCL: ", what, ": ", Nccl().error_string(status), more));
}

ncclDataType_t DataType(TypeMeta type) {
  if (type.Match<float>()) return ncclFloat32;
  if (type.Match<double>()) return ncclFloat64;
  if (type.Match<float16>()) return ncclFloat16;
  if (type.Match<bfloat16>()) return ncclBfloat16;
  if (type.Match<int32_t>()) return ncclInt32;
  if (type.Match<int64_t>()) return ncclInt64;
  CAFFE_ENFORCE(type.Match<uint8_t>(), "NCCL cannot add elements of type ", type.name());
  return ncclUint8;
}

}  // namespace

NcclId MakeNcclId() {
  ncclUniqueId id;
  static_assert(sizeof(id) == sizeof(NcclId));
  const ncclResult_t status = Nccl().get_unique_id(&id);
  if (status != ncclSuccess) Throw(status, "making the id of a group", nullptr);
  NcclId made;
  std::memcpy(made.data(), &id, sizeof(id));
  return made;
}

struct NcclGroup::State {
  State(int device_id, Stream group_stream, std::function<void()> wait_function)
      : device(device_id), stream(group_stream), wait(std::move(wait_function)), end(device_id) {}

  const int device;
  const Stream stream;
  const std::function<void()> wait;
  Event end;  // after the operation that was started last
  ncclComm_t comm = nullptr;

  // Waits until NCCL has put the operation into the stream. The communicator is non-blocking: a
  // call may return before, and go on in NCCL's own thread.
  void Settle(ncclResult_t status, const char* what) {
    while (status == ncclInProgress) {
      wait();
      ncclResult_t progress = ncclSuccess;
      const ncclResult_t asked = Nccl().async_error(comm, &progress);
      status = asked != ncclSuccess ? asked : progress;
    }
    if (status != ncclSuccess) Throw(status, what, comm);
  }

  // False while NCCL is still starting an operation. Throws if one failed.
  bool IsSettled() const {
    CAFFE_ENFORCE(comm != nullptr, "the NCCL group was aborted");
    ncclResult_t progress = ncclSuccess;
    const ncclResult_t asked = Nccl().async_error(comm, &progress);
    if (asked != ncclSuccess) Throw(asked, "querying errors", comm);
    if (progress == ncclInProgress) return false;
    if (progress != ncclSuccess) Throw(progress, "an operation failed", comm);
    return true;
  }

  template <typename Call>
  void Start(const char* what, const Call& call) {
    CAFFE_ENFORCE(comm != nullptr, "the NCCL group was aborted");
    const DeviceGuard guard(device);
    Settle(call(), what);
    end.Record(stream);
  }
};

NcclGroup::NcclGroup(const NcclId& id, int rank, int size, int device, Stream stream,
                     std::function<void()> wait)
    : state_(std::make_unique<State>(device, stream, std::move(wait))) {
  ncclUniqueId unique;
  std::memcpy(&unique, id.data(), sizeof(unique));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const DeviceGuard guard(device);
  try {
    state_->Settle(Nccl().init(&state_->comm, size, unique, rank, &config), "joining a group");
  } catch (...) {
    Abort();
    throw;
  }
}

NcclGroup::~NcclGroup() {
  if (state_->comm == nullptr) return;
  try {
    // Sends pending data first. A member that is gone must not block this one.
    state_->Settle(Nccl().finalize(state_->comm), "leaving a group");
    Nccl().destroy(state_->comm);
  } catch (const std::exception& error) {
    LOG(WARNING) << error.what();
    Abort();
  }
}

void NcclGroup::Allreduce(void* data, int64_t count, TypeMeta type) {
  const ncclDataType_t kind = DataType(type);
  state_->Start("Allreduce", [&] {
    return Nccl().all_reduce(data, data, count, kind, ncclSum, state_->comm, state_->stream);
  });
}

void NcclGroup::Broadcast(void* data, size_t bytes, int root) {
  state_->Start("Broadcast", [&] {
    return Nccl().broadcast(data, data, bytes, ncclUint8, root, state_->comm, state_->stream);
  });
}

void NcclGroup::Allgather(const void* input, void* output, size_t bytes) {
  state_->Start("Allgather", [&] {
    return Nccl().all_gather(input, output, bytes, ncclUint8, state_->comm, state_->stream);
  });
}

void NcclGroup::ReduceParts(void* data, const std::vector<int64_t>& counts, TypeMeta type) {
  const ncclDataType_t kind = DataType(type);
  state_->Start("ReduceScatter", [&] {
    auto* part = static_cast<char*>(data);
    ncclResult_t status = Nccl().group_start();
    for (size_t root = 0; status == ncclSuccess && root < counts.size(); ++root) {
      status = Nccl().reduce(part, part, counts[root], kind, ncclSum, static_cast<int>(root),
                             state_->comm, state_->stream);
      if (status == ncclInProgress) status = ncclSuccess;  // group_end reports the result
      part += counts[root] * type.itemsize();
    }
    const ncclResult_t ended = Nccl().group_end();
    return status != ncclSuccess ? status : ended;
  });
}

bool NcclGroup::Done() { return state_->IsSettled() && state_->end.Done(); }
void NcclGroup::CheckErrors() { state_->IsSettled(); }
void NcclGroup::Join(Stream waiting) { state_->end.Delay(waiting); }

void NcclGroup::Abort() {
  ncclComm_t comm = std::exchange(state_->comm, nullptr);
  if (comm == nullptr) return;
  const ncclResult_t status = Nccl().abort(comm);
  if (status != ncclSuccess && status != ncclInProgress) {
    LOG(WARNING) << "NCCL: aborting a group: " << Nccl().error_string(status);
  }
}

struct LocalNcclGroup::State {
  explicit State(const std::vector<int>& ids) : devices(ids), comms(ids.size()) {
    const DeviceGuard guard(devices[0]);
    const ncclResult_t status =
        Nccl().init_all(comms.data(), static_cast<int>(devices.size()), devices.data());
    SetDevice(devices[0]);  // NCCL has changed it, and the guard does not know
    if (status != ncclSuccess) Throw(status, "joining the devices of a process", nullptr);
  }

  // call(member, communicator, stream) for every device, as one operation.
  template <typename Call>
  void Run(const char* what, const Call& call) {
    // One operation at a time in the process, because all devices must see the same order.
    static std::mutex order;
    std::lock_guard<std::mutex> lock(order);
    ncclResult_t status = Nccl().group_start();
    for (size_t i = 0; status == ncclSuccess && i < devices.size(); ++i) {
      const DeviceGuard guard(devices[i]);
      status = call(i, comms[i], GetStream(devices[i], kComputeStream));
    }
    const ncclResult_t ended = Nccl().group_end();
    if (status == ncclSuccess) status = ended;
    if (status != ncclSuccess) Throw(status, what, comms[0]);
  }

  const std::vector<int> devices;
  std::vector<ncclComm_t> comms;  // never destroyed: the driver may be unloaded first
};

LocalNcclGroup::LocalNcclGroup(const std::vector<int>& devices)
    : state_(std::make_shared<State>(devices)) {}

LocalNcclGroup* LocalNcclGroup::Of(const std::vector<int>& devices) {
  return FindLocalGroup(
      devices, [&devices] { return std::unique_ptr<LocalNcclGroup>(new LocalNcclGroup(devices)); });
}

void LocalNcclGroup::Allreduce(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, int64_t count, TypeMeta type) {
  const ncclDataType_t kind = DataType(type);
  state_->Run("Allreduce", [&](size_t i, ncclComm_t comm, Stream stream) {
    return Nccl().all_reduce(inputs[i], outputs[i], count, kind, ncclSum, comm, stream);
  });
}

void LocalNcclGroup::Reduce(const std::vector<const void*>& inputs, void* output, int64_t count,
                            TypeMeta type, int root) {
  const ncclDataType_t kind = DataType(type);
  state_->Run("Reduce", [&](size_t i, ncclComm_t comm, Stream stream) {
    void* sum = static_cast<int>(i) == root ? output : nullptr;
    return Nccl().reduce(inputs[i], sum, count, kind, ncclSum, root, comm, stream);
  });
}

void LocalNcclGroup::Broadcast(const void* input, const std::vector<void*>& outputs, size_t bytes,
                               int root) {
  state_->Run("Broadcast", [&](size_t i, ncclComm_t comm, Stream stream) {
    const void* from = static_cast<int>(i) == root ? input : outputs[i];
    return Nccl().broadcast(from, outputs[i], bytes, ncclUint8, root, comm, stream);
  });
}

void LocalNcclGroup::Allgather(const std::vector<const void*>& inputs,
                               const std::vector<void*>& outputs, size_t bytes) {
  state_->Run("Allgather", [&](size_t i, ncclComm_t comm, Stream stream) {
    return Nccl().all_gather(inputs[i], outputs[i], bytes, ncclUint8, comm, stream);
  });
}

void LocalNcclGroup::ReduceScatter(const std::vector<const void*>& inputs,
                                   const std::vector<void*>& outputs, int64_t count,
                                   TypeMeta type) {
  const ncclDataType_t kind = DataType(type);
  state_->Run("ReduceScatter", [&](size_t i, ncclComm_t comm, Stream stream) {
    return Nccl().reduce_scatter(inputs[i], outputs[i], count, kind, ncclSum, comm, stream);
  });
}

}  // namespace caffe2::cuda
