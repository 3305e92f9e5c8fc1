#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

// jpeglib.h needs the headers above.
#include <jpeglib.h>

#include "caffe2/core/logging.h"
#include "db/image/jpeg.h"
#include "db/image/opencv_mat.h"

namespace caffe2::db {
namespace {

constexpr int kQuality = 95;  // OpenCV's

// Errors of libjpeg, which is C, jump back into Write, which has no objects to destroy.
class JpegEncoder {
 public:
  JpegEncoder() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) {
      auto* encoder = static_cast<JpegEncoder*>(info->client_data);
      info->err->format_message(info, encoder->what_);
      std::longjmp(encoder->jump_, 1);
    };
    errors_.emit_message = [](j_common_ptr, int) {};
    info_.client_data = this;
  }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  // Returns false on an error; what() is its message.
  bool Write(const ImageView<uint8_t>& pixels) {
    if (setjmp(jump_) != 0) {
      bytes_ = nullptr;  // libjpeg may have freed it, and has not said so
      return false;
    }
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = static_cast<JDIMENSION>(pixels.width);
    info_.image_height = static_cast<JDIMENSION>(pixels.height);
    info_.input_components = pixels.channels;
    info_.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_EXT_BGR;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, kQuality, TRUE);
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      auto* row = const_cast<uint8_t*>(pixels.At(static_cast<int>(info_.next_scanline), 0));
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  std::string file() const { return {reinterpret_cast<const char*>(bytes_), size_}; }
  const char* what() const { return what_; }

 private:
  jpeg_compress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf jump_;
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
  char what_[JMSG_LENGTH_MAX] = "";
};

}  // namespace

std::string EncodeJpeg(const ImageView<uint8_t>& source) {
  CAFFE_ENFORCE(source.channels == 1 || source.channels == 3,
                "a JPEG file is written of 1 or 3 channels, found ", source.channels);
  const cv::Mat mat = ToMat(source);  // interleaved
  const auto pixels = ImageView<uint8_t>{
      mat.ptr<uint8_t>(), mat.rows, mat.cols, mat.channels(), static_cast<int64_t>(mat.step1()),
      mat.channels(),     1};
  JpegEncoder encoder;
  CAFFE_ENFORCE(encoder.Write(pixels), "cannot encode an image of ", source.height, "x",
                source.width, " as JPEG: ", encoder.what());
  return encoder.file();
}

}  // namespace caffe2::db
