// CRC-32 with the polynomial of zlib and PNG, against accidents (not against attackers).
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// The checksum of `size` bytes that follow data with checksum `crc` (0 for none).
uint32_t Crc32(const void* data, size_t size, uint32_t crc = 0);

}  // namespace caffe2
