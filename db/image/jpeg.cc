#include "db/image/jpeg.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>

// jpeglib.h needs the two headers above.
#include <jpeglib.h>
// These need jpeglib.h. The second describes parts of libjpeg that may change between versions;
// Debian and Ubuntu install it, libjpeg-turbo's own build does not. Only its major version 2 is
// used.
#include <jerror.h>
#if __has_include(<jpegint.h>) && defined(LIBJPEG_TURBO_VERSION_NUMBER)
#if LIBJPEG_TURBO_VERSION_NUMBER >= 2000000 && LIBJPEG_TURBO_VERSION_NUMBER < 3000000
#include <jpegint.h>
#define CAFFE2_HAS_JPEGINT
#endif
#endif

#include <algorithm>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/utils/library_versions.h"
#include "db/image/exif_orientation.h"
#include "db/image/huffman_scan.h"
#include "db/image/image_limits.h"
#include "db/image/opencv_mat.h"

namespace caffe2::db {
namespace {

// LIBJPEG_TURBO_VERSION is not a string; the number is 2001005 for 2.1.5.
constexpr int kJpegVersion = LIBJPEG_TURBO_VERSION_NUMBER;
const RegisterLibraryVersion jpeg_version("libjpeg-turbo", MakeString(kJpegVersion / 1000000, ".",
                                                                      kJpegVersion / 1000 % 1000,
                                                                      ".", kJpegVersion % 1000));
const RegisterLibraryVersion opencv_version("OpenCV", cv::getVersionString());

constexpr int kEndOfImage = 0xd9, kMaxPadding = 16;

// libjpeg reports errors by a function that must not return. It is C, so no exception may pass
// through it: errors jump back into ReadHeader and ReadPixels, which have no objects to destroy.
class Decoder {
 public:
  Decoder() {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr info) { Jump(info); };
    errors_.emit_message = [](j_common_ptr info, int level) {
      const auto* decoder = static_cast<const Decoder*>(info->client_data);
      if (level < 0 && IsDamage(*info->err, decoder->in_pixels_)) Jump(info);
    };
    info_.client_data = this;
    jpeg_create_decompress(&info_);
    info_.mem->max_memory_to_use = static_cast<long>(GetImageLimits().max_jpeg_bytes);
    progress_.progress_monitor = CheckScans;
    info_.progress = &progress_;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Returns false on an error; what() is its message.
  bool ReadHeader(std::string_view bytes) {
    if (setjmp(jump_) != 0) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);  // EXIF
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool ReadPixels(J_COLOR_SPACE colors, uint8_t* pixels, size_t row_bytes) {
    if (setjmp(jump_) != 0) return false;
    info_.out_color_space = colors;
    in_pixels_ = true;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  // Reads the part of an image whose height and width are divided by `reduction`; `part` becomes
  // what is read, which may be more columns.
  bool ReadPart(J_COLOR_SPACE colors, int reduction, BoundingBox* part,
                std::vector<uint8_t>* pixels);

  bool HasSeveralScans() { return jpeg_has_multiple_scans(&info_) != 0; }

  const jpeg_decompress_struct& info() const { return info_; }
  const char* what() const { return what_; }

 private:
  // Other warnings do not concern the pixels, for instance unknown versions of headers, and bytes
  // between headers that belong to none.
  static bool IsDamage(const jpeg_error_mgr& error, bool in_pixels) {
    switch (error.msg_code) {
      case JWRN_EXTRANEOUS_DATA:
        if (!in_pixels) return false;
        return error.msg_parm.i[1] != kEndOfImage || error.msg_parm.i[0] > kMaxPadding;
      case JWRN_BOGUS_PROGRESSION:
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_JPEG_EOF:
      case JWRN_MUST_RESYNC:
        return true;
      default:
        return false;
    }
  }

  // libjpeg calls it often while it decodes. Each scan of a progressive file goes over all pixels.
  static void CheckScans(j_common_ptr info) {
    auto* decoder = static_cast<Decoder*>(info->client_data);
    const int max = GetImageLimits().max_jpeg_scans;
    if (decoder->info_.input_scan_number <= max) return;
    std::snprintf(decoder->what_, sizeof(decoder->what_),
                  "it has more than %d scans (--max_jpeg_scans)", max);
    std::longjmp(decoder->jump_, 1);
  }

  // Lets a HuffmanScan read the file, if it can, for the rest of this pass. Only the blocks of
  // these columns of the output are wanted. Called before libjpeg reads any block.
  void UseHuffmanScan(int reduction, JDIMENSION left, JDIMENSION width);
  static boolean ReadMcu(j_decompress_ptr info, JBLOCKROW* blocks);

  [[noreturn]] static void Jump(j_common_ptr info) {
    auto* decoder = static_cast<Decoder*>(info->client_data);
    info->err->format_message(info, decoder->what_);
    std::longjmp(decoder->jump_, 1);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_;
  bool in_pixels_ = false;  // after the headers
  std::unique_ptr<HuffmanScan> scan_;
  // The wanted columns of MCUs, and the next one.
  JDIMENSION first_mcu_ = 0, end_mcu_ = 0, mcu_ = 0;
  char what_[JMSG_LENGTH_MAX] = "";
};

#ifdef CAFFE2_HAS_JPEGINT
constexpr bool kUsesHuffmanScan = true;
#else
constexpr bool kUsesHuffmanScan = false;
#endif

void Decoder::UseHuffmanScan([[maybe_unused]] int reduction, [[maybe_unused]] JDIMENSION left,
                             [[maybe_unused]] JDIMENSION width) {
#ifdef CAFFE2_HAS_JPEGINT
  if (info_.progressive_mode || info_.arith_code || info_.restart_interval != 0 ||
      info_.data_precision != 8 || HasSeveralScans()) {
    return;
  }
  constexpr size_t kMaxKept = size_t{4} << 20;  // for the next file of this thread
  thread_local std::vector<uint8_t> memory;
  if (memory.size() > kMaxKept) std::vector<uint8_t>().swap(memory);
  const std::string_view bytes(reinterpret_cast<const char*>(info_.src->next_input_byte),
                               info_.src->bytes_in_buffer);
  scan_ = std::make_unique<HuffmanScan>(bytes, &memory);
  const auto codes = [](const JHUFF_TBL& table) {
    HuffmanCodes codes;
    std::copy(std::begin(table.bits), std::end(table.bits), codes.counts);
    std::copy(std::begin(table.huffval), std::end(table.huffval), codes.symbols);
    return codes;
  };
  bool has_dc[NUM_HUFF_TBLS] = {}, has_ac[NUM_HUFF_TBLS] = {};
  for (int i = 0; i < info_.blocks_in_MCU; ++i) {
    const int index = info_.MCU_membership[i];
    const jpeg_component_info& component = *info_.cur_comp_info[index];
    const int dc = component.dc_tbl_no, ac = component.ac_tbl_no;
    if (!std::exchange(has_dc[dc], true)) scan_->SetDcTable(dc, codes(*info_.dc_huff_tbl_ptrs[dc]));
    if (!std::exchange(has_ac[ac], true)) scan_->SetAcTable(ac, codes(*info_.ac_huff_tbl_ptrs[ac]));
    scan_->AddBlock(index, component.component_needed != 0, dc, ac);
  }
  const bool interleaved = info_.comps_in_scan > 1;
  const auto mcu_width =
      static_cast<JDIMENSION>(DCTSIZE / reduction * (interleaved ? info_.max_h_samp_factor : 1));
  first_mcu_ = left / mcu_width;
  end_mcu_ = (left + width + mcu_width - 1) / mcu_width;
  mcu_ = 0;
  info_.entropy->decode_mcu = ReadMcu;
#endif
}

// Replaces a function of libjpeg. It omits the blocks of an MCU that it skips.
boolean Decoder::ReadMcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  const JDIMENSION mcu = decoder->mcu_;
  decoder->mcu_ = mcu + 1 == info->MCUs_per_row ? 0 : mcu + 1;
  const bool wanted = mcu >= decoder->first_mcu_ && mcu < decoder->end_mcu_;
  switch (decoder->scan_->ReadMcu(wanted ? blocks : nullptr)) {
    case HuffmanScan::Result::kOk:
      return TRUE;
    case HuffmanScan::Result::kBadCode:
      info->err->msg_code = JWRN_HUFF_BAD_CODE;
      break;
    case HuffmanScan::Result::kMarker:
      info->err->msg_code = JWRN_HIT_MARKER;
      break;
    case HuffmanScan::Result::kEndOfFile:
      info->err->msg_code = JWRN_JPEG_EOF;
      break;
    case HuffmanScan::Result::kBadValue:
      info->err->msg_code = JERR_BAD_DCT_COEF;
      break;
  }
  Jump(reinterpret_cast<j_common_ptr>(info));
}

// Upsampled colours of a pixel depend on the pixels beside it.
constexpr int kMargin = 2;

bool Decoder::ReadPart(J_COLOR_SPACE colors, int reduction, BoundingBox* part,
                       std::vector<uint8_t>* pixels) {
  if (setjmp(jump_) != 0) return false;
  info_.out_color_space = colors;
  info_.scale_num = 1;
  info_.scale_denom = static_cast<unsigned>(reduction);
  in_pixels_ = true;
  jpeg_start_decompress(&info_);
  const int top = std::max(0, part->ymin - kMargin);
  JDIMENSION left = static_cast<JDIMENSION>(std::max(0, part->xmin - kMargin));
  JDIMENSION width =
      std::min<JDIMENSION>(static_cast<JDIMENSION>(part->xmin + part->width + kMargin),
                           info_.output_width) -
      left;
  jpeg_crop_scanline(&info_, &left, &width);
  UseHuffmanScan(reduction, left, width);
  jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(top));
  const int bottom = part->ymin + part->height;
  const size_t row_bytes = size_t{width} * static_cast<size_t>(info_.output_components);
  pixels->resize(row_bytes * static_cast<size_t>(bottom - top));
  while (static_cast<int>(info_.output_scanline) < bottom) {
    JSAMPROW row = pixels->data() + (static_cast<int>(info_.output_scanline) - top) * row_bytes;
    jpeg_read_scanlines(&info_, &row, 1);
  }
  jpeg_abort_decompress(&info_);
  *part = {top, static_cast<int>(left), bottom - top, static_cast<int>(width)};
  return true;
}

// Reads numbers from EXIF data, which have the format of a TIFF file. Numbers beyond the end are 0.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), little_(bytes.substr(0, 2) == "II") {}

  uint32_t Short(size_t at) const {
    if (at + 2 > bytes_.size()) return 0;
    const uint32_t first = Byte(at), second = Byte(at + 1);
    return little_ ? second << 8 | first : first << 8 | second;
  }
  uint32_t Long(size_t at) const {
    return little_ ? Short(at + 2) << 16 | Short(at) : Short(at) << 16 | Short(at + 2);
  }

 private:
  uint32_t Byte(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }

  const std::string_view bytes_;
  const bool little_;
};

// From 1 (upright) to 8; 1 if the file has no orientation.
uint32_t ExifOrientation(const jpeg_decompress_struct& info) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr uint32_t kOrientation = 0x112, kEntryBytes = 12;
  for (const jpeg_marker_struct* marker = info.marker_list; marker != nullptr;
       marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.substr(0, kExif.size()) != kExif) continue;
    const Tiff tiff(data.substr(kExif.size()));
    const size_t directory = tiff.Long(4);
    const uint32_t entries = tiff.Short(directory);
    for (uint32_t i = 0; i < entries; ++i) {
      const size_t entry = directory + 2 + i * kEntryBytes;
      if (tiff.Short(entry) != kOrientation) continue;
      const uint32_t orientation = tiff.Short(entry + 8);
      return orientation >= 1 && orientation <= 8 ? orientation : 1;
    }
  }
  return 1;
}

cv::Mat Upright(cv::Mat image, uint32_t orientation) {
  const UprightSteps steps = UprightStepsOf(static_cast<int>(orientation));
  if (steps.transposed) cv::transpose(image, image);
  constexpr int kTopBottom = 0, kLeftRight = 1, kBoth = -1;
  if (steps.left_right || steps.top_bottom) {
    cv::flip(image, image, !steps.top_bottom ? kLeftRight : !steps.left_right ? kTopBottom : kBoth);
  }
  return image;
}

// Converts inks as Adobe writes them: 255 means no ink.
cv::Mat BgrFromCmyk(const cv::Mat& cmyk) {
  cv::Mat bgr(cmyk.rows, cmyk.cols, CV_8UC3);
  for (int y = 0; y < cmyk.rows; ++y) {
    const auto* in = cmyk.ptr<uint8_t>(y);
    auto* out = bgr.ptr<uint8_t>(y);
    for (int x = 0; x < cmyk.cols; ++x, in += 4, out += 3) {
      for (int c = 0; c < 3; ++c)
        out[c] = static_cast<uint8_t>(in[3] - ((255 - in[2 - c]) * in[3] >> 8));
    }
  }
  return bgr;
}

void ThrowDamaged(std::string_view bytes, const char* why) {
  CAFFE_THROW("the JPEG image of ", bytes.size(), " bytes cannot be decoded: ", why);
}

bool HasInks(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

// Whether there is an end after the header, which may hold a thumbnail with an end of its own.
bool HasEnd(std::string_view bytes, const jpeg_decompress_struct& info) {
  const size_t end = bytes.rfind("\xff\xd9");
  return end != std::string_view::npos && end >= bytes.size() - info.src->bytes_in_buffer;
}

// JpegHeader::obstacle.
const char* ObstacleOf(std::string_view bytes, Decoder* decoder) {
  const jpeg_decompress_struct& info = decoder->info();
  if (HasInks(info)) return "the JPEG file has four inks";
  if (info.jpeg_color_space != JCS_YCbCr && info.jpeg_color_space != JCS_GRAYSCALE) {
    return "the colours of the JPEG file are not YCbCr";
  }
  if (info.data_precision != 8) return "the samples of the JPEG file do not have 8 bits";
  if (info.arith_code) return "the JPEG file has arithmetic coding";
  if (decoder->HasSeveralScans()) return "the JPEG file has several scans";
  if (!HasEnd(bytes, info)) return "the JPEG file has no end";
  return nullptr;
}

// An image of which parts can be read without the rest.
class JpegSource final : public ImageSource<uint8_t> {
 public:
  JpegSource(std::string_view bytes, bool color) : bytes_(bytes), color_(color) {
    ReadHeader();
    CheckImageSize(height(), width());
    has_end_ = HasEnd(bytes, decoder_.info());
  }

  int height() const override { return static_cast<int>(decoder_.info().image_height); }
  int width() const override { return static_cast<int>(decoder_.info().image_width); }
  int channels() const override { return color_ ? 3 : 1; }
  bool CanReduce() const override { return true; }

  ImageView<uint8_t> Read(const BoundingBox& part, int reduction) override {
    if (was_read_) ReadHeader();
    was_read_ = true;
    thread_local std::vector<uint8_t> pixels;
    BoundingBox read = part;
    if (!decoder_.ReadPart(color_ ? JCS_EXT_BGR : JCS_GRAYSCALE, reduction, &read, &pixels)) {
      ThrowDamaged(bytes_, decoder_.what());
    }
    return ImageView<uint8_t>::Interleaved(pixels.data(), read.height, read.width, channels())
        .Part(part.ymin - read.ymin, part.xmin - read.xmin, part.height, part.width);
  }

  // Whether parts can be read. libjpeg decodes what there is of a file without its end, and only
  // then says that something is missing.
  bool HasParts() const {
    return !HasInks(decoder_.info()) && ExifOrientation(decoder_.info()) == 1 && has_end_;
  }

 private:
  void ReadHeader() {
    if (!decoder_.ReadHeader(bytes_)) ThrowDamaged(bytes_, decoder_.what());
  }

  const std::string_view bytes_;
  const bool color_;
  bool has_end_ = false;
  bool was_read_ = false;
  Decoder decoder_;
};

}  // namespace

bool IsJpeg(std::string_view bytes) { return bytes.substr(0, 3) == "\xff\xd8\xff"; }

Image<uint8_t> DecodeJpeg(std::string_view bytes, bool color) {
  Decoder decoder;
  const auto check = [&](bool ok) {
    if (!ok) ThrowDamaged(bytes, decoder.what());
  };
  check(decoder.ReadHeader(bytes));
  const jpeg_decompress_struct& info = decoder.info();
  const uint32_t orientation = ExifOrientation(info);  // ReadPixels drops the markers
  const int height = static_cast<int>(info.image_height),
            width = static_cast<int>(info.image_width);
  CheckImageSize(height, width);
  const bool inks = HasInks(info);
  const J_COLOR_SPACE colors = inks ? JCS_CMYK : color ? JCS_EXT_BGR : JCS_GRAYSCALE;
  cv::Mat image(height, width, CV_8UC(inks ? 4 : color ? 3 : 1));
  check(decoder.ReadPixels(colors, image.data, image.step));
  if (inks) {
    image = BgrFromCmyk(image);
    if (!color) cv::cvtColor(image, image, cv::COLOR_BGR2GRAY);
  }
  return FromMat<uint8_t>(Upright(std::move(image), orientation));
}

JpegHeader ReadJpegHeader(std::string_view bytes) {
  Decoder decoder;
  if (!decoder.ReadHeader(bytes)) ThrowDamaged(bytes, decoder.what());
  const jpeg_decompress_struct& info = decoder.info();
  JpegHeader header;
  header.height = static_cast<int>(info.image_height);
  header.width = static_cast<int>(info.image_width);
  CheckImageSize(header.height, header.width);
  header.orientation = static_cast<int>(ExifOrientation(info));
  header.obstacle = ObstacleOf(bytes, &decoder);
  return header;
}

bool UsesHuffmanScan() { return kUsesHuffmanScan; }

std::unique_ptr<ImageSource<uint8_t>> OpenJpeg(std::string_view bytes, bool color) {
  auto source = std::make_unique<JpegSource>(bytes, color);
  if (source->HasParts()) return source;
  return std::make_unique<DecodedImage>(DecodeJpeg(bytes, color));
}

}  // namespace caffe2::db
