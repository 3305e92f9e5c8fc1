#include "caffe2/cuda/nvjpeg.h"

#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "caffe2/core/logging.h"
#include "caffe2/cuda/nvjpeg_api.h"
#include "caffe2/cuda/runtime.h"
#include "caffe2/cuda/vendor_library.h"

namespace caffe2::cuda {
namespace {

VendorLibrary LoadNvjpeg() {
  const char* path = std::getenv("CAFFE2_NVJPEG_LIBRARY");
  const std::vector<std::string> files =
      path != nullptr ? std::vector<std::string>{path}
                      : std::vector<std::string>{"libnvjpeg.so.13", "libnvjpeg.so.12"};
  return VendorLibrary("nvJPEG", files,
                       "; CUDA's toolkit has it, and so does `pip install nvidia-nvjpeg`: name its "
                       "folder in LD_LIBRARY_PATH, or the file in CAFFE2_NVJPEG_LIBRARY");
}

// Not kept from one decoder to the next: a library that was missing may be there later.
struct NvjpegFunctions {
  nvjpeg::CreateEx* create = nullptr;
  nvjpeg::Destroy* destroy = nullptr;
  nvjpeg::JpegStateCreate* create_state = nullptr;
  nvjpeg::JpegStateDestroy* destroy_state = nullptr;
  nvjpeg::DecodeBatchedInitialize* initialize = nullptr;
  nvjpeg::DecodeBatched* decode = nullptr;
  nvjpeg::JpegStreamCreate* create_stream = nullptr;
  nvjpeg::JpegStreamDestroy* destroy_stream = nullptr;
  nvjpeg::JpegStreamParseHeader* parse = nullptr;
  nvjpeg::DecodeBatchedSupported* supported = nullptr;

  NvjpegFunctions() {
    const VendorLibrary library = LoadNvjpeg();
    library.Find("nvjpegCreateEx", &create);
    library.Find("nvjpegDestroy", &destroy);
    library.Find("nvjpegJpegStateCreate", &create_state);
    library.Find("nvjpegJpegStateDestroy", &destroy_state);
    library.Find("nvjpegDecodeBatchedInitialize", &initialize);
    library.Find("nvjpegDecodeBatched", &decode);
    library.Find("nvjpegJpegStreamCreate", &create_stream);
    library.Find("nvjpegJpegStreamDestroy", &destroy_stream);
    library.Find("nvjpegJpegStreamParseHeader", &parse);
    library.Find("nvjpegDecodeBatchedSupported", &supported);
  }
};

const char* TextOf(nvjpeg::Status status) {
  constexpr const char* kNames[] = {"success",
                                    "not initialized",
                                    "invalid parameter",
                                    "bad JPEG",
                                    "JPEG not supported",
                                    "allocator failure",
                                    "execution failed",
                                    "architecture mismatch",
                                    "internal error",
                                    "implementation not supported",
                                    "incomplete bitstream"};
  const auto number = static_cast<size_t>(status);
  return number < std::size(kNames) ? kNames[number] : "unknown error";
}

void CheckNvjpeg(nvjpeg::Status status, const char* what) {
  if (status == nvjpeg::kSuccess) return;
  throw Error(MakeString("nvJPEG: ", what, ": ", TextOf(status), " (status ",
                         static_cast<int>(status), ")"));
}

// Whether a failed Decode may be a file's fault.
bool IsOfFile(nvjpeg::Status status) {
  switch (status) {
    case nvjpeg::kInvalidParameter:
    case nvjpeg::kBadJpeg:
    case nvjpeg::kJpegNotSupported:
    case nvjpeg::kExecutionFailed:
    case nvjpeg::kImplementationNotSupported:
    case nvjpeg::kIncompleteBitstream:
      return true;
    default:
      return false;
  }
}

const unsigned char* JpegBytes(std::string_view file) {
  return reinterpret_cast<const unsigned char*>(file.data());
}

}  // namespace

struct JpegDecoder::State {
  // What nvJPEG uses until the batch is decoded: it must not change before.
  struct Batch {
    explicit Batch(int device) : decoded(device) {}
    nvjpegJpegState* decoding = nullptr;
    std::vector<const unsigned char*> files;
    std::vector<size_t> lengths;
    std::vector<nvjpeg::Destination> destinations;
    Event decoded;
  };

  explicit State(int device_id) : device(device_id), batches{Batch(device_id), Batch(device_id)} {
    const DeviceGuard guard(device);
    const nvjpeg::Status hardware =
        functions.create(nvjpeg::kHardwareBackend, nullptr, nullptr, 0, &handle);
    if (hardware != nvjpeg::kSuccess) {
      CheckNvjpeg(functions.create(nvjpeg::kDefaultBackend, nullptr, nullptr, 0, &handle),
                  "starting the default backend");
    }
    for (Batch& batch : batches) {
      const nvjpeg::Status made = functions.create_state(handle, &batch.decoding);
      if (made != nvjpeg::kSuccess) Destroy();
      CheckNvjpeg(made, "making a decoder");
    }
    const std::string how =
        hardware == nvjpeg::kSuccess
            ? "the hardware for JPEG files"
            : MakeString("its default backend; the hardware: ", TextOf(hardware));
    LOG(INFO) << "nvJPEG decodes on cuda:" << device << " with " << how;
  }
  ~State() {
    const DeviceGuard guard(device);
    for (Batch& batch : batches) {
      try {
        batch.decoded.Synchronize();
      } catch (const std::exception& error) {
        LOG(ERROR) << error.what();
      }
    }
    for (nvjpegJpegStream* stream : idle) functions.destroy_stream(stream);
    Destroy();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // A stream of nvJPEG for one header.
  nvjpegJpegStream* TakeStream() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!idle.empty()) {
        nvjpegJpegStream* stream = idle.back();
        idle.pop_back();
        return stream;
      }
    }
    nvjpegJpegStream* stream = nullptr;
    CheckNvjpeg(functions.create_stream(handle, &stream), "making a reader of headers");
    return stream;
  }
  void GiveBack(nvjpegJpegStream* stream) {
    std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(stream);
  }

  const int device;
  const NvjpegFunctions functions;
  nvjpegHandle* handle = nullptr;
  // Two, so that nvJPEG reads the files of one on the host while the device decodes the other.
  Batch batches[2];
  int next = 0;      // the batch of the next call
  std::mutex mutex;  // guards `idle`
  std::vector<nvjpegJpegStream*> idle;

 private:
  void Destroy() {
    for (Batch& batch : batches) {
      if (batch.decoding != nullptr) functions.destroy_state(batch.decoding);
    }
    functions.destroy(handle);
  }
};

JpegDecoder::JpegDecoder(int device) : state_(std::make_unique<State>(device)) {}
JpegDecoder::~JpegDecoder() = default;

bool JpegDecoder::Supports(std::string_view file) const {
  const DeviceGuard guard(state_->device);
  const NvjpegFunctions& functions = state_->functions;
  nvjpegJpegStream* stream = state_->TakeStream();
  int problem = 1;
  const bool decided =
      functions.parse(state_->handle, JpegBytes(file), file.size(), stream) == nvjpeg::kSuccess &&
      functions.supported(state_->handle, stream, &problem) == nvjpeg::kSuccess;
  state_->GiveBack(stream);
  return decided && problem == 0;
}

const char* JpegDecoder::Decode(const std::vector<Job>& jobs, int channels, Stream stream) {
  const DeviceGuard guard(state_->device);
  State::Batch& batch = state_->batches[std::exchange(state_->next, 1 - state_->next)];
  // A state that is used again while it decodes makes the hardware write wrong pixels or hang.
  batch.decoded.Synchronize();
  batch.files.clear();
  batch.lengths.clear();
  batch.destinations.clear();
  for (const Job& job : jobs) {
    batch.files.push_back(JpegBytes(job.file));
    batch.lengths.push_back(job.file.size());
    batch.destinations.push_back({.channel = {job.pixels}, .pitch = {job.row_bytes}});
  }
  const NvjpegFunctions& functions = state_->functions;
  CheckNvjpeg(
      functions.initialize(state_->handle, batch.decoding, static_cast<int>(jobs.size()), 1,
                           channels == 1 ? nvjpeg::kOutputY : nvjpeg::kOutputBgrInterleaved),
      "starting a batch");
  const nvjpeg::Status status =
      functions.decode(state_->handle, batch.decoding, batch.files.data(), batch.lengths.data(),
                       batch.destinations.data(), stream);
  batch.decoded.Record(stream);
  if (status == nvjpeg::kSuccess) return nullptr;
  if (!IsOfFile(status)) CheckNvjpeg(status, "decoding a batch");
  return TextOf(status);
}

}  // namespace caffe2::cuda
