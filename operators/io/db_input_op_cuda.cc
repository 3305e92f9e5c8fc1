#include "operators/io/db_input_op_cuda.h"

#include <chrono>
#include <memory>
#include <vector>

#include "operators/image/image_input_kernels.h"
#include "operators/io/batch_uploader_cuda.h"

namespace caffe2 {
namespace {

std::unique_ptr<db::BatchUploader> MakeUploader(const OperatorDef& def) {
  const bool decode = ArgumentHelper(def).GetSingleArgument<int>("decode_on_gpu", 0) != 0;
  return std::make_unique<CudaBatchUploader>(ToDevice(def.device_option()).id, decode);
}

}  // namespace

CudaDBInputOp::CudaDBInputOp(const OperatorDef& def, Workspace* ws)
    : DBInputOp<CUDAContext>(def, ws, MakeUploader(def)), images_(context_.device()) {
  constexpr int kMaxSide = 1 << 15;  // kernels count the pixels of an image in an int
  if (normalization()) {
    CAFFE_ENFORCE(normalization()->params.crop <= kMaxSide, "argument crop must be at most ",
                  kMaxSide, " with use_gpu_transform, found ", normalization()->params.crop);
  }
}

bool CudaDBInputOp::RunOnDevice() {
  if (cuda::IsRecorded(context_.stream())) {
    throw Error("input of the host, another one in each run, cannot be recorded in a CUDA graph");
  }
  if (is_resident()) LoadImages();
  const db::InputBatch& batch = NextBatch();
  Await(batch);
  try {
    WriteOutputs(batch);
  } catch (...) {  // launched kernels still read the batch
    CudaBatchUploader::Release(batch, context_.stream());
    throw;
  }
  CudaBatchUploader::Release(batch, context_.stream());
  return true;
}

void CudaDBInputOp::LoadImages() {
  if (loaded_ && *loaded_ == reader()) return;
  const auto start = std::chrono::steady_clock::now();
  loaded_.reset();                      // until all are there
  Attach();                             // threads read what load_images changes
  images_ = Tensor(context_.device());  // room for the new ones
  int64_t count = 0;
  pipeline_options().load_images(reader(), [&](int64_t total, const Tensor& part) {
    CheckStop();
    if (count == 0) {
      std::vector<int64_t> dims = part.sizes();
      dims[0] = total;
      images_.Resize(dims);
    }
    auto* to = images_.mutable_data<uint8_t>() + count * part.size_from_dim(1);
    context_.CopyBytes(part.nbytes(), part.data<uint8_t>(), to);
    count += part.size(0);
  });
  CAFFE_ENFORCE_EQ(count, images_.size(0), "images of ", reader().source());
  loaded_ = reader();
  const auto time = std::chrono::steady_clock::now() - start;
  reader().AddWait(time);
  LOG(INFO) << "the " << count << " images of " << reader().source() << " ("
            << (images_.nbytes() >> 20)
            << " MiB) are in the memory of cuda:" << context_.device_id() << " after "
            << std::chrono::duration<double>(time).count() << " s";
}

void CudaDBInputOp::Await(const db::InputBatch& batch) {
  const auto start = std::chrono::steady_clock::now();
  if (CudaBatchUploader::Await(batch)) {
    reader().AddWait(std::chrono::steady_clock::now() - start);
  }
}

void CudaDBInputOp::WriteOutputs(const db::InputBatch& batch) {
  for (int i = 0; i < OutputSize(); ++i) {
    if (i == 0 && normalization()) {
      NormalizeImages(batch);
    } else {
      WriteOutput(batch, i);
    }
  }
}

void CudaDBInputOp::WriteOutput(const db::InputBatch& batch, int i) {
  const Tensor& source = batch.outputs[i];
  const void* data = CudaBatchUploader::OnDevice(batch, i);
  if (data == nullptr && source.nbytes() > 0) {
    OutputCPU(i)->CopyFrom(source);
    return;
  }
  Tensor* output = Output(i);
  output->ResizeLike(source);
  void* to = output->raw_mutable_data(source.dtype());
  if (data != nullptr) context_.CopyBytes(source.nbytes(), data, to);
}

template <typename Pixel, typename T>
void CudaDBInputOp::Launch(const db::InputBatch& batch, Tensor* output) {
  const db::NormalizeParams& params = normalization()->params;
  const int64_t n = batch.outputs[0].size(0);
  const void* first = CudaBatchUploader::OnDevice(batch, 0);
  const auto* augmentations = static_cast<const db::SampledAugmentation*>(
      CudaBatchUploader::OnDevice(batch, batch.outputs.size() - 1));
  T* to = output->mutable_data<T>();
  if (!is_resident()) {
    return LaunchNormalizeImages(params, n, static_cast<const Pixel*>(first), augmentations, to,
                                 context_.stream());
  }
  const ResidentImages images{images_.data<uint8_t>(), static_cast<const db::ResidentCrop*>(first),
                              static_cast<int>(images_.size(1))};
  LaunchNormalizeResidentImages(params, n, images, augmentations, to, context_.stream());
}

template <typename Pixel>
void CudaDBInputOp::NormalizePixels(const db::InputBatch& batch, Tensor* output) {
  if (output->IsType<float16>()) {
    Launch<Pixel, float16>(batch, output);
  } else if (output->IsType<bfloat16>()) {
    Launch<Pixel, bfloat16>(batch, output);
  } else {
    Launch<Pixel, float>(batch, output);
  }
}

void CudaDBInputOp::NormalizeImages(const db::InputBatch& batch) {
  const Tensor& pixels = batch.outputs[0];
  const auto& [params, type] = *normalization();
  Tensor* output = Output(0);
  if (params.channels_first) {
    output->Resize(pixels.size(0), params.channels, params.crop, params.crop);
  } else {
    output->Resize(pixels.size(0), params.crop, params.crop, params.channels);
  }
  output->raw_mutable_data(type);
  if (pixels.IsType<uint8_t>()) {
    NormalizePixels<uint8_t>(batch, output);
  } else {
    NormalizePixels<float>(batch, output);
  }
}

}  // namespace caffe2
