// Marks in page-locked memory that a stream sets when it gets there.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// Changes *place from 0 to 1 after the work that the stream holds. `place` is in page-locked memory
// (runtime.h). Unlike an Event it may be recorded in a graph (graph.h): the host then sees how far
// a launch has come, without a call to CUDA. The stream's device must be current.
void NoteArrival(int32_t* place, Stream stream);

}  // namespace caffe2::cuda
