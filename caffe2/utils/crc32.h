// Checksums that detect accidental damage, not attacks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caffe2 {

// CRC-32 with the polynomial of zlib and PNG: the checksum of `size` bytes that follow data with
// the checksum `crc` (0: no data before).
uint32_t Crc32(const void* data, size_t size, uint32_t crc = 0);
// The same with Castagnoli's polynomial (RFC 3720), as in TensorFlow's record files.
uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

}  // namespace caffe2
