// Forward declarations of CUDA's types: a stream is a queue of work of one device, an event is a
// mark in a stream.
#pragma once

struct CUevent_st;
struct CUstream_st;

namespace caffe2::cuda {

using Stream = CUstream_st*;

}  // namespace caffe2::cuda
