// Input operators on CUDA devices.
#include <chrono>

#include "caffe2/cuda/context_cuda.h"
#include "operators/image/image_input_kernels.h"
#include "operators/io/batch_uploader_cuda.h"
#include "operators/io/create_db_op.h"
#include "operators/io/db_input_op.h"

namespace caffe2 {
namespace {

// Batches come over the copy stream, ahead of their use, into memory of their own; from there they
// go to the outputs on the compute stream: by the kernel that normalizes images, else by a copy. So
// the outputs keep their addresses, which graphs of the net (caffe2/cuda/graph_net.cc) rely on.
class CudaDBInputOp final : public DBInputOp<CUDAContext> {
 public:
  CudaDBInputOp(const OperatorDef& def, Workspace* ws)
      : DBInputOp<CUDAContext>(
            def, ws, std::make_unique<CudaBatchUploader>(ToDevice(def.device_option()).id)) {
    constexpr int kMaxSide = 1 << 15;  // kernels count the pixels of an image in an int
    if (normalization()) {
      CAFFE_ENFORCE_LE(normalization()->params.crop, kMaxSide, "crop with use_gpu_transform");
    }
  }

  bool RunOnDevice() override {
    if (cuda::IsRecorded(context_.stream())) {
      throw Error("input of the host, another one in each run, cannot be recorded in a CUDA graph");
    }
    const db::InputBatch& batch = NextBatch();
    Await(batch);
    try {
      PutOut(batch);
    } catch (...) {  // what was launched still reads the batch
      CudaBatchUploader::Release(batch, context_.stream());
      throw;
    }
    CudaBatchUploader::Release(batch, context_.stream());
    return true;
  }

 private:
  // On the host, so that the time counts as waiting for input.
  void Await(const db::InputBatch& batch) {
    const auto start = std::chrono::steady_clock::now();
    if (CudaBatchUploader::Await(batch)) {
      reader().AddWait(std::chrono::steady_clock::now() - start);
    }
  }

  void PutOut(const db::InputBatch& batch) {
    for (int i = 0; i < OutputSize(); ++i) {
      if (i == 0 && normalization()) {
        NormalizeImages(batch);
      } else {
        PutOut(batch, i);
      }
    }
  }

  void PutOut(const db::InputBatch& batch, int i) {
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

  void NormalizeImages(const db::InputBatch& batch) {
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

  template <typename Pixel>
  void NormalizePixels(const db::InputBatch& batch, Tensor* output) {
    if (output->IsType<float16>()) {
      Launch<Pixel, float16>(batch, output);
    } else if (output->IsType<bfloat16>()) {
      Launch<Pixel, bfloat16>(batch, output);
    } else {
      Launch<Pixel, float>(batch, output);
    }
  }

  template <typename Pixel, typename T>
  void Launch(const db::InputBatch& batch, Tensor* output) {
    const size_t augmentations = batch.outputs.size() - 1;
    LaunchNormalizeImages(normalization()->params, batch.outputs[0].size(0),
                          static_cast<const Pixel*>(CudaBatchUploader::OnDevice(batch, 0)),
                          static_cast<const db::SampledAugmentation*>(
                              CudaBatchUploader::OnDevice(batch, augmentations)),
                          output->mutable_data<T>(), context_.stream());
  }
};

// A reader is of the host wherever the operator is placed, as in Caffe2.
REGISTER_CUDA_OPERATOR(CreateDB, CreateDBOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ImageInput, CudaDBInputOp);
REGISTER_CUDA_OPERATOR(TensorProtosDBInput, CudaDBInputOp);

}  // namespace
}  // namespace caffe2
