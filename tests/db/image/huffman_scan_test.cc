#include "db/image/huffman_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"
#include "db/image/image_codec.h"
#include "db/image/jpeg.h"
#include "tests/db/encode_jpeg.h"

namespace caffe2::testing {
namespace {

using db::HuffmanCodes;
using db::HuffmanScan;

std::string NoiseJpeg(int height, int width, int channels, int quality, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random());
  return EncodeJpeg(height, width, pixels, {.channels = channels, .quality = quality});
}

// The pixels of a part, or the message of the error. DecodeImage leaves the codes to libjpeg, and
// sources read them with HuffmanScan.
struct Decoded {
  std::vector<uint8_t> pixels;
  std::string error;

  static Decoded Of(const std::function<db::ImageView<uint8_t>()>& read) {
    Decoded decoded;
    try {
      const db::ImageView<uint8_t> view = read();
      for (int y = 0; y < view.height; ++y) {
        const auto row = static_cast<size_t>(view.width * view.channels);
        decoded.pixels.insert(decoded.pixels.end(), view.At(y, 0), view.At(y, 0) + row);
      }
    } catch (const EnforceNotMet& error) {
      decoded.error = error.what();
    }
    return decoded;
  }
};

Decoded ByLibjpeg(const std::string& file, const db::BoundingBox& part) {
  db::Image<uint8_t> image;
  return Decoded::Of([&] {
    image = db::DecodeImage(file, true);
    return image.view.Part(part.ymin, part.xmin, part.height, part.width);
  });
}

Decoded ByHuffmanScan(const std::string& file, const db::BoundingBox& part) {
  std::unique_ptr<db::ImageSource<uint8_t>> source;
  return Decoded::Of([&] {
    source = db::OpenImage(file, true);
    return source->Read(part, 1);
  });
}

TEST(HuffmanScan, PixelsAreLibjpegsForCoarseAndFineFiles) {
  if (!db::UsesHuffmanScan()) GTEST_SKIP() << "libjpeg reads the codes itself";
  for (const int quality : {1, 30, 75, 96, 100}) {
    for (const int channels : {1, 3}) {
      const std::string file = NoiseJpeg(83, 131, channels, quality, 5);
      for (const db::BoundingBox& part :
           {db::BoundingBox{0, 0, 83, 131}, {0, 0, 20, 17}, {50, 80, 33, 51}, {35, 100, 9, 3}}) {
        const Decoded expected = ByLibjpeg(file, part), decoded = ByHuffmanScan(file, part);
        ASSERT_EQ(expected.error, "");
        ASSERT_EQ(decoded.error, "");
        ASSERT_TRUE(decoded.pixels == expected.pixels)
            << quality << " " << channels << " " << part.ymin;
      }
    }
  }
}

// Most of the file is so far from its end that libjpeg-turbo takes bad codes for zeros there.
TEST(HuffmanScan, DamageHasTheSameEffectAsInLibjpeg) {
  if (!db::UsesHuffmanScan()) GTEST_SKIP() << "libjpeg reads the codes itself";
  const db::BoundingBox all = {0, 0, 120, 140};
  const std::string whole = NoiseJpeg(all.height, all.width, 3, 60, 6);
  const size_t data = whole.find("\xff\xda") + 14;
  ASSERT_GT(whole.size() - data, 6000);
  RandomGenerator random(4);
  int same_pixels = 0, same_errors = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::string file = whole;
    const size_t at = data + random() % (file.size() - data - 8);
    switch (trial % 4) {
      case 0:
        file[at] = static_cast<char>(random());
        break;
      case 1:
        file.replace(at, 4, std::string("\xff\0\xff\0", 4));  // 16 bits that are no code
        break;
      case 2:
        // Before another 255, libjpeg-turbo adds the coefficients of two attempts.
        if (file[at] != '\xff' && file[at - 1] != '\xff') file.insert(at, 1, '\xff');
        break;
      default:
        file.erase(at, 1 + random() % 60);
    }
    const Decoded expected = ByLibjpeg(file, all), decoded = ByHuffmanScan(file, all);
    // libjpeg finds data that are left over after the last row, which sources do not look for.
    if (expected.error.find("extraneous") != std::string::npos) continue;
    ASSERT_EQ(decoded.error, expected.error) << trial << " at " << at << " of " << file.size();
    ASSERT_TRUE(decoded.pixels == expected.pixels) << trial << " at " << at;
    ++(expected.error.empty() ? same_pixels : same_errors);
  }
  EXPECT_GT(same_pixels, 20);
  EXPECT_GT(same_errors, 50);
}

// The codes 0, 10, 110, ... for these symbols.
HuffmanCodes UnaryCodes(const std::vector<int>& symbols) {
  HuffmanCodes codes;
  for (size_t i = 0; i < symbols.size(); ++i) {
    codes.counts[i + 1] = 1;
    codes.symbols[i] = static_cast<uint8_t>(symbols[i]);
  }
  return codes;
}

std::string BytesOf(const std::string& bits) {
  std::string bytes;
  for (size_t i = 0; i < bits.size(); i += 8) {
    const std::string byte = (bits.substr(i, 8) + "1111111").substr(0, 8);
    bytes += static_cast<char>(std::stoi(byte, nullptr, 2));
    if (bytes.back() == '\xff') bytes += '\0';
  }
  return bytes;
}

// A scan of one block in an MCU.
class BlockScan {
 public:
  explicit BlockScan(const std::string& bytes) : scan_(bytes, &memory_) {
    scan_.SetDcTable(1, UnaryCodes({0, 3}));
    scan_.SetAcTable(2, UnaryCodes({0x00, 0x21, 0xf0, 0x0a}));
    scan_.AddBlock(0, true, 1, 2);
  }

  HuffmanScan::Result Read() {
    std::memset(block_, 0, sizeof(block_));
    HuffmanScan::Block* blocks[] = {&block_};
    return scan_.ReadMcu(blocks);
  }
  HuffmanScan::Result Skip() { return scan_.ReadMcu(nullptr); }
  int At(int row, int column) const { return block_[8 * row + column]; }
  int CountNonzero() const {
    return static_cast<int>(std::count_if(block_, block_ + 64, [](int value) { return value; }));
  }

 private:
  std::vector<uint8_t> memory_;
  HuffmanScan scan_;
  HuffmanScan::Block block_;
};

TEST(HuffmanScan, ReadsAndSkipsBlocks) {
  // The value 5; after two zeros 1, after 16 zeros -1023 and the end; then -7 and the end.
  const std::string first =
                        "10101"
                        "101"
                        "110"
                        "11100000000000"
                        "0",
                    second =
                        "10000"
                        "0";
  const std::string data = BytesOf(first + second + first);
  BlockScan scan(data + "\xff\xd9");
  ASSERT_EQ(scan.Read(), HuffmanScan::Result::kOk);
  EXPECT_EQ(scan.At(0, 0), 5);
  EXPECT_EQ(scan.At(2, 0), 1);      // the third in zigzag order
  EXPECT_EQ(scan.At(5, 0), -1023);  // the twentieth
  EXPECT_EQ(scan.CountNonzero(), 3);
  ASSERT_EQ(scan.Skip(), HuffmanScan::Result::kOk);
  ASSERT_EQ(scan.Read(), HuffmanScan::Result::kOk);
  EXPECT_EQ(scan.At(0, 0), 3);  // values are differences from the last block's
  EXPECT_EQ(scan.CountNonzero(), 3);

  BlockScan skipped(data + "\xff\xd9");
  ASSERT_EQ(skipped.Skip(), HuffmanScan::Result::kOk);
  ASSERT_EQ(skipped.Read(), HuffmanScan::Result::kOk);
  EXPECT_EQ(skipped.At(0, 0), -2);
  EXPECT_EQ(skipped.CountNonzero(), 1);
}

TEST(HuffmanScan, TellsHowTheDataEnd) {
  const std::string block =
      "10101"
      "101"
      "101";  // without its end
  EXPECT_EQ(BlockScan(BytesOf(block + "0")).Read(), HuffmanScan::Result::kOk);
  // The last bits of the byte are ones, which are no code.
  for (const bool skip : {false, true}) {
    const auto read = [&](const std::string& bytes) {
      BlockScan scan(bytes);
      return skip ? scan.Skip() : scan.Read();
    };
    EXPECT_EQ(read(BytesOf(block)), HuffmanScan::Result::kEndOfFile);
    EXPECT_EQ(read(BytesOf(block) + "\xff\xd9"), HuffmanScan::Result::kMarker);
    EXPECT_EQ(read(BytesOf(block) + "\xff\xff\xff\xd9"), HuffmanScan::Result::kMarker);
    EXPECT_EQ(read(""), HuffmanScan::Result::kEndOfFile);
    EXPECT_EQ(read("\xff"), HuffmanScan::Result::kEndOfFile);
    EXPECT_EQ(read(BytesOf(block + std::string(40, '1'))), HuffmanScan::Result::kBadCode);
  }
}

TEST(HuffmanScan, RefusesImpossibleTables) {
  std::vector<uint8_t> memory;
  HuffmanScan scan("", &memory);
  HuffmanCodes codes;
  codes.counts[1] = 3;
  EXPECT_THROW(scan.SetAcTable(0, codes), EnforceNotMet);
  codes.counts[1] = 0;
  codes.counts[15] = 200;
  codes.counts[16] = 200;
  EXPECT_THROW(scan.SetAcTable(0, codes), EnforceNotMet);
  EXPECT_THROW(scan.SetDcTable(0, UnaryCodes({16})), EnforceNotMet);
  scan.SetAcTable(0, UnaryCodes({16}));
  scan.SetDcTable(0, UnaryCodes({15}));
  for (int i = 0; i < HuffmanScan::kMaxBlocks; ++i) scan.AddBlock(0, true, 0, 0);
  EXPECT_THROW(scan.AddBlock(0, true, 0, 0), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
