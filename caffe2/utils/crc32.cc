#include "caffe2/utils/crc32.h"

#include <array>
#include <cstring>

namespace caffe2 {
namespace {

constexpr uint32_t kPolynomial = 0xedb88320u, kCastagnoli = 0x82f63b78u;  // reflected

// table[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes are looked up
// at once ("slicing-by-8": Kounavis and Berry, 2005).
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables(uint32_t polynomial) {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables(kPolynomial), kCastagnoliTables = MakeTables(kCastagnoli);

uint32_t Checksum(const Tables& tables, const void* data, size_t size, uint32_t crc) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint32_t low = 0;
    std::memcpy(&low, bytes, 4);  // little-endian hosts, as all of the file formats assume
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][bytes[4]] ^ tables[2][bytes[5]] ^ tables[1][bytes[6]] ^
          tables[0][bytes[7]];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ tables[0][(crc ^ *bytes) & 0xff];
  return ~crc;
}

}  // namespace

uint32_t Crc32(const void* data, size_t size, uint32_t crc) {
  return Checksum(kTables, data, size, crc);
}

uint32_t Crc32c(const void* data, size_t size, uint32_t crc) {
  return Checksum(kCastagnoliTables, data, size, crc);
}

}  // namespace caffe2
