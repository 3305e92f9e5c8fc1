#include "caffe2/cuda/arrival_kernels.h"
#include "caffe2/cuda/kernel.h"

namespace caffe2::cuda {
namespace {

__global__ void NoteArrivalKernel(int32_t* place) { atomicCAS(place, 0, 1); }

}  // namespace

void NoteArrival(int32_t* place, Stream stream) {
  Launch("NoteArrival", NoteArrivalKernel, dim3(1), dim3(1), stream, place);
}

}  // namespace caffe2::cuda
