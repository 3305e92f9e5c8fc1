// The types of CUDA that headers name: a stream is a queue of work of one device, an event a mark
// in it.
#pragma once

struct CUevent_st;
struct CUstream_st;

namespace caffe2::cuda {

using Stream = CUstream_st*;

}  // namespace caffe2::cuda
