#include "operators/io/db_input_op_cuda.h"

#include <chrono>
#include <memory>

#include "operators/image/image_input_kernels.h"
#include "operators/io/batch_uploader_cuda.h"

namespace caffe2 {

CudaDBInputOp::CudaDBInputOp(const OperatorDef& def, Workspace* ws)
    : DBInputOp<CUDAContext>(
          def, ws, std::make_unique<CudaBatchUploader>(ToDevice(def.device_option()).id)) {
  constexpr int kMaxSide = 1 << 15;  // kernels count the pixels of an image in an int
  if (normalization()) {
    CAFFE_ENFORCE_LE(normalization()->params.crop, kMaxSide, "crop with use_gpu_transform");
  }
}

bool CudaDBInputOp::RunOnDevice() {
  if (cuda::IsRecorded(context_.stream())) {
    throw Error("input of the host, another one in each run, cannot be recorded in a CUDA graph");
  }
  const db::InputBatch& batch = NextBatch();
  Await(batch);
  try {
    PutOut(batch);
  } catch (...) {  // launched kernels still read the batch
    CudaBatchUploader::Release(batch, context_.stream());
    throw;
  }
  CudaBatchUploader::Release(batch, context_.stream());
  return true;
}

void CudaDBInputOp::Await(const db::InputBatch& batch) {
  const auto start = std::chrono::steady_clock::now();
  if (CudaBatchUploader::Await(batch)) {
    reader().AddWait(std::chrono::steady_clock::now() - start);
  }
}

void CudaDBInputOp::PutOut(const db::InputBatch& batch) {
  for (int i = 0; i < OutputSize(); ++i) {
    if (i == 0 && normalization()) {
      NormalizeImages(batch);
    } else {
      PutOut(batch, i);
    }
  }
}

void CudaDBInputOp::PutOut(const db::InputBatch& batch, int i) {
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
  const size_t augmentations = batch.outputs.size() - 1;
  LaunchNormalizeImages(normalization()->params, batch.outputs[0].size(0),
                        static_cast<const Pixel*>(CudaBatchUploader::OnDevice(batch, 0)),
                        static_cast<const db::SampledAugmentation*>(
                            CudaBatchUploader::OnDevice(batch, augmentations)),
                        output->mutable_data<T>(), context_.stream());
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
    output->ResizeLike(pixels);
  }
  output->raw_mutable_data(type);
  if (pixels.IsType<uint8_t>()) {
    NormalizePixels<uint8_t>(batch, output);
  } else {
    NormalizePixels<float>(batch, output);
  }
}

}  // namespace caffe2
