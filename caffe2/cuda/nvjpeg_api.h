// The part of nvJPEG's interface that nvjpeg.cc uses, as in versions 12 and 13. It is declared here
// so that nothing needs the library's header. tests/cuda/nvjpeg_api_test.cc compares it with
// nvjpeg.h where there is one.
#pragma once

#include <cstddef>

#include "caffe2/cuda/stream.h"

struct nvjpegHandle;
struct nvjpegJpegState;
struct nvjpegJpegStream;

namespace caffe2::cuda::nvjpeg {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kInvalidParameter = 2,
  kBadJpeg = 3,
  kJpegNotSupported = 4,
  kAllocatorFailure = 5,
  kExecutionFailed = 6,
  kArchMismatch = 7,
  kInternalError = 8,
  kImplementationNotSupported = 9,
  kIncompleteBitstream = 10,
};

enum Backend : int { kDefaultBackend = 0, kHardwareBackend = 3 };

// Brightness alone; blue, green and red of a pixel side by side.
enum OutputFormat : int { kOutputY = 2, kOutputBgrInterleaved = 6 };

// Where an image goes. Interleaved formats and brightness use the first element. A pitch is the
// distance of rows in bytes.
struct Destination {
  unsigned char* channel[4];
  size_t pitch[4];
};

// Null allocators stand for CUDA's own.
using CreateEx = Status(Backend, void* device_allocator, void* pinned_allocator, unsigned flags,
                        nvjpegHandle**);
using Destroy = Status(nvjpegHandle*);
using JpegStateCreate = Status(nvjpegHandle*, nvjpegJpegState**);
using JpegStateDestroy = Status(nvjpegJpegState*);
// Comes before each DecodeBatched of another size, and after one that failed. Recent versions do
// not use the number of threads.
using DecodeBatchedInitialize = Status(nvjpegHandle*, nvjpegJpegState*, int batch_size,
                                       int max_cpu_threads, OutputFormat);
// Reads files on the host, the last of them perhaps when the stream gets there.
using DecodeBatched = Status(nvjpegHandle*, nvjpegJpegState*, const unsigned char* const* data,
                             const size_t* lengths, Destination*, Stream);
// Parse the header of a file. Several threads may use a handle, one a JPEG stream.
using JpegStreamCreate = Status(nvjpegHandle*, nvjpegJpegStream**);
using JpegStreamDestroy = Status(nvjpegJpegStream*);
using JpegStreamParseHeader = Status(nvjpegHandle*, const unsigned char* data, size_t length,
                                     nvjpegJpegStream*);
// Sets *is_supported to 0 if DecodeBatched accepts the file, else to another value.
using DecodeBatchedSupported = Status(nvjpegHandle*, nvjpegJpegStream*, int* is_supported);

}  // namespace caffe2::cuda::nvjpeg
