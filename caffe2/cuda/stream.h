// The one type of CUDA that headers name; a stream is a queue of work of one device.
#pragma once

struct CUstream_st;

namespace caffe2::cuda {

using Stream = CUstream_st*;

}  // namespace caffe2::cuda
