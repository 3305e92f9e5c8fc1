// Takes nvJPEG's place on emulated devices, whose memory is the host's: libjpeg-turbo decodes.
// Files are read, and pixels written, when the stream gets there. A comment in a file may say what
// nvJPEG is to say of it: "unsupported" when it is asked, "bad" when it decodes. Without a comment
// damage that libjpeg warns of is an error. There is no hardware if FAKE_NVJPEG_WITHOUT_HARDWARE is
// set. A state that gets a batch before its last one is decoded is an internal error; nvJPEG itself
// writes wrong pixels or hangs.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

// jpeglib.h needs the headers above.
#include <jpeglib.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "caffe2/cuda/nvjpeg_api.h"
#include "tests/cuda_emulation/device.h"

struct nvjpegHandle {};
struct nvjpegJpegState {
  int batch_size = 0;
  caffe2::cuda::nvjpeg::OutputFormat format = {};
  std::atomic<int> pending = 0;  // images that are not decoded yet
};
struct nvjpegJpegStream {
  std::string comment;
};

namespace {

using namespace caffe2::cuda::nvjpeg;  // NOLINT: the interface that this file implements

struct File {
  const unsigned char* data;
  size_t length;
};

struct Errors : jpeg_error_mgr {
  std::jmp_buf jump;
};
[[noreturn]] void Leave(j_common_ptr info) {
  std::longjmp(static_cast<Errors*>(info->err)->jump, 1);
}

// Reads the header and, unless `pixels` is null, writes them. Returns false for a damaged file.
bool Read(File file, OutputFormat format, unsigned char* pixels, size_t pitch,
          std::string* comment) {
  jpeg_decompress_struct info{};
  Errors errors{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = Leave;
  errors.emit_message = [](j_common_ptr common, int level) {
    if (level < 0) Leave(common);
  };
  jpeg_create_decompress(&info);
  if (setjmp(errors.jump) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_mem_src(&info, file.data, file.length);
  jpeg_save_markers(&info, JPEG_COM, 0xffff);
  jpeg_read_header(&info, TRUE);
  if (info.marker_list != nullptr && comment != nullptr) {
    comment->assign(reinterpret_cast<const char*>(info.marker_list->data),
                    info.marker_list->data_length);
  }
  if (pixels != nullptr) {
    info.out_color_space = format == kOutputY ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_start_decompress(&info);
    for (; info.output_scanline < info.output_height; pixels += pitch) {
      jpeg_read_scanlines(&info, &pixels, 1);
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
  return true;
}

// Whether a file can be decoded, with the pixels going nowhere.
bool IsGood(File file, OutputFormat format, size_t pitch) {
  std::string comment;
  std::vector<unsigned char> row(pitch);
  return Read(file, format, row.data(), 0, &comment) && comment != "bad";
}

}  // namespace

extern "C" {

Status nvjpegCreateEx(Backend backend, void*, void*, unsigned, nvjpegHandle** handle) {
  if (backend == kHardwareBackend && std::getenv("FAKE_NVJPEG_WITHOUT_HARDWARE") != nullptr) {
    return kArchMismatch;
  }
  *handle = new nvjpegHandle;
  return kSuccess;
}
Status nvjpegDestroy(nvjpegHandle* handle) {
  delete handle;
  return kSuccess;
}
Status nvjpegJpegStateCreate(nvjpegHandle*, nvjpegJpegState** state) {
  *state = new nvjpegJpegState;
  return kSuccess;
}
Status nvjpegJpegStateDestroy(nvjpegJpegState* state) {
  if (state->pending > 0) std::abort();
  delete state;
  return kSuccess;
}
Status nvjpegJpegStreamCreate(nvjpegHandle*, nvjpegJpegStream** stream) {
  *stream = new nvjpegJpegStream;
  return kSuccess;
}
Status nvjpegJpegStreamDestroy(nvjpegJpegStream* stream) {
  delete stream;
  return kSuccess;
}
Status nvjpegJpegStreamParseHeader(nvjpegHandle*, const unsigned char* data, size_t length,
                                   nvjpegJpegStream* stream) {
  stream->comment.clear();
  return Read({data, length}, kOutputY, nullptr, 0, &stream->comment) ? kSuccess : kBadJpeg;
}
Status nvjpegDecodeBatchedSupported(nvjpegHandle*, nvjpegJpegStream* stream, int* is_supported) {
  *is_supported = stream->comment == "unsupported" ? 1 : 0;
  return kSuccess;
}
Status nvjpegDecodeBatchedInitialize(nvjpegHandle*, nvjpegJpegState* state, int batch_size, int,
                                     OutputFormat format) {
  if (state->pending > 0) return kInternalError;
  state->batch_size = batch_size;
  state->format = format;
  return kSuccess;
}
Status nvjpegDecodeBatched(nvjpegHandle*, nvjpegJpegState* state, const unsigned char* const* data,
                           const size_t* lengths, Destination* destinations,
                           caffe2::cuda::Stream stream) {
  if (state->batch_size == 0) return kInvalidParameter;
  const OutputFormat format = state->format;
  for (int i = 0; i < state->batch_size; ++i) {
    if (!IsGood({data[i], lengths[i]}, format, destinations[i].pitch[0])) return kBadJpeg;
  }
  for (int i = 0; i < state->batch_size; ++i) {
    ++state->pending;
    caffe2::cuda::emulation::Perform(stream, [state, data, lengths, destinations, format, i] {
      const Destination& to = destinations[i];
      Read({data[i], lengths[i]}, format, to.channel[0], to.pitch[0], nullptr);
      --state->pending;
    });
  }
  return kSuccess;
}

}  // extern "C"
