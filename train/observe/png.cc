#include "train/observe/png.h"

#include <zlib.h>

#include "caffe2/core/logging.h"
#include "caffe2/utils/crc32.h"

namespace caffe2 {
namespace {

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string Chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return BigEndian(static_cast<uint32_t>(data.size())) + body +
         BigEndian(Crc32(body.data(), body.size()));
}

std::string Deflate(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  const int status = compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                              reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  CAFFE_ENFORCE_EQ(status, Z_OK, "zlib cannot pack an image");
  packed.resize(size);
  return packed;
}

}  // namespace

std::string EncodePng(const std::vector<uint8_t>& pixels, int height, int width, int channels) {
  CAFFE_ENFORCE(height > 0 && width > 0 && (channels == 1 || channels == 3),
                "a PNG needs pixels and 1 or 3 channels, found ", height, " x ", width, " x ",
                channels);
  const size_t row = static_cast<size_t>(width) * static_cast<size_t>(channels);
  CAFFE_ENFORCE(pixels.size() == static_cast<size_t>(height) * row, "a PNG of ", height,
                " rows of ", row, " bytes needs ", static_cast<size_t>(height) * row,
                " bytes, found ", pixels.size());
  std::string rows;
  for (size_t begin = 0; begin < pixels.size(); begin += row) {
    rows += '\0';  // this row is not filtered
    rows.append(reinterpret_cast<const char*>(pixels.data() + begin), row);
  }
  const char color_type = channels == 1 ? 0 : 2;
  const std::string header = BigEndian(static_cast<uint32_t>(width)) +
                             BigEndian(static_cast<uint32_t>(height)) +
                             std::string{8, color_type, 0, 0, 0};
  return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", header) + Chunk("IDAT", Deflate(rows)) +
         Chunk("IEND", "");
}

}  // namespace caffe2
