#include "db/image/huffman_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "caffe2/core/logging.h"
#include "caffe2/utils/simd.h"

namespace caffe2::db {
namespace {

constexpr int kMaxLength = 16;  // of a code
constexpr int kBlockSize = 64, kLast = kBlockSize - 1;

// Where coefficient i of a block is stored. A step may lead beyond the block: as in libjpeg it then
// leads to the last coefficient.
constexpr uint8_t kPlaces[2 * kBlockSize] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

// A code, packed into 32 bits: its length with and without the extra bits of its value, 63 - their
// number, and the step to the coefficient that has this value. 0 is no code.
CAFFE2_INLINE uint32_t PackCode(int length, int symbol, bool dc) {
  const int run = dc ? 0 : symbol >> 4, size = symbol & 15;
  const int step = size == 0 && run != 15 ? kBlockSize : run + 1;  // the end of the block
  return static_cast<uint32_t>((length + size) | length << 8 | (63 - size) << 16 | step << 24);
}
CAFFE2_INLINE int TotalBits(uint32_t code) { return static_cast<int>(code & 0xff); }
CAFFE2_INLINE int LengthOf(uint32_t code) { return static_cast<int>(code >> 8 & 0xff); }
CAFFE2_INLINE int ValueShift(uint32_t code) { return static_cast<int>(code >> 16 & 0xff); }
CAFFE2_INLINE int StepOf(uint32_t code) { return static_cast<int>(code >> 24); }

// Several codes that follow each other, packed in the same way: the bits of all of them, the steps
// of all but the last, and the steps of all.
CAFFE2_INLINE uint32_t PackCodes(int total, int steps_before_last, int steps) {
  return static_cast<uint32_t>(total | steps_before_last << 16 | steps << 24);
}
CAFFE2_INLINE int StepsBeforeLast(uint32_t codes) { return static_cast<int>(codes >> 16 & 0xff); }

struct Table {
  static constexpr int kBits = 10, kRunBits = 10;

  void Set(const HuffmanCodes& table, bool is_dc);
  // The code at the front of `bits`, if it is longer than kBits. 0 if it is none.
  uint32_t FindLong(uint64_t bits) const;
  // The codes that lie in the first kRunBits of `bits`; the extra bits of the last may lie beyond.
  // 0 if none does.
  uint32_t FindRun(uint64_t bits) const;

  bool dc = false;
  uint8_t symbols[256];
  int last_code[kMaxLength + 1];      // of each length; -1: none
  int symbol_offset[kMaxLength + 1];  // from a code of this length to its symbol
  uint32_t codes[1 << kBits];         // by the next bits; 0 for a longer code or none
  // By the next bits, for AC codes. Filled as they are needed, as files have tables of their own.
  uint32_t runs[1 << kRunBits];
};

void Table::Set(const HuffmanCodes& table, bool is_dc) {
  dc = is_dc;
  std::copy(std::begin(table.symbols), std::end(table.symbols), symbols);
  std::fill(std::begin(codes), std::end(codes), 0);
  if (!dc) std::fill(std::begin(runs), std::end(runs), 0);
  int code = 0, symbol = 0;
  for (int length = 1; length <= kMaxLength; ++length, code *= 2) {
    const int count = table.counts[length];
    CAFFE_ENFORCE(code + count <= 1 << length && symbol + count <= 256, "a Huffman table has ",
                  count, " codes of ", length, " bits, which is too many");
    symbol_offset[length] = symbol - code;
    for (int i = 0; i < count; ++i, ++code, ++symbol) {
      CAFFE_ENFORCE(!dc || symbols[symbol] <= 15, "a Huffman table has the DC symbol ",
                    int{symbols[symbol]}, ", at most 15 is possible");
      if (length > kBits) continue;
      std::fill_n(codes + (code << (kBits - length)), 1 << (kBits - length),
                  PackCode(length, symbols[symbol], dc));
    }
    last_code[length] = count > 0 ? code - 1 : -1;
  }
}

uint32_t Table::FindLong(uint64_t bits) const {
  for (int length = kBits + 1; length <= kMaxLength; ++length) {
    const int code = static_cast<int>(bits >> (64 - length));
    if (code > last_code[length]) continue;
    return PackCode(length, symbols[(code + symbol_offset[length]) & 0xff], dc);
  }
  return 0;
}

uint32_t Table::FindRun(uint64_t bits) const {
  int total = 0, steps = 0, steps_before_last = 0;
  while (steps < kLast) {
    const uint32_t code = codes[bits << total >> (64 - kBits)];
    if (code == 0 || total + LengthOf(code) > kRunBits) break;
    total += TotalBits(code);
    steps_before_last = steps;
    steps += StepOf(code);
  }
  return total == 0 ? 0 : PackCodes(total, steps_before_last, steps);
}

// Copies the data of a scan up to the marker that ends them, without the zeros that tell bytes 255
// from markers. Returns the end of what it read: the marker, or the end of the bytes.
const uint8_t* CopyData(const uint8_t* from, const uint8_t* end, uint8_t** to) {
  while (from < end) {
    const void* found = std::memchr(from, 0xff, static_cast<size_t>(end - from));
    const auto* byte = found != nullptr ? static_cast<const uint8_t*>(found) : end;
    *to = std::copy(from, byte, *to);
    const uint8_t* marker = byte;
    // Any number of bytes 255 may come before the zero or the rest of the marker.
    while (byte < end && *byte == 0xff) ++byte;
    if (byte == end) return end;
    if (*byte != 0) return marker;
    *(*to)++ = 0xff;
    from = byte + 1;
  }
  return end;
}

// Where the data are read.
struct Position {
  // At least so many bits are there after Refill, and a code with its extra bits has at most 31.
  static constexpr int kMinBits = 56, kMaxCodeBits = 31;

  CAFFE2_INLINE void Refill() {
    uint64_t word;
    std::memcpy(&word, next, 8);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    // Bits beyond `count` may be there already: they are the same.
    bits |= word >> count;
    next += (63 - count) >> 3;
    count |= kMinBits;
  }

  CAFFE2_INLINE void Drop(int n) {
    bits <<= n;
    count -= n;
  }

  // The value of the code at the front.
  CAFFE2_INLINE int Value(uint32_t code) const {
    const uint64_t extra = bits << LengthOf(code);
    // A value without the highest bit is negative, and its bits are inverted.
    const uint64_t negative = static_cast<uint64_t>(~static_cast<int64_t>(extra) >> 63);
    const uint64_t magnitude = (extra ^ negative) >> 1 >> ValueShift(code);
    return static_cast<int>((magnitude ^ negative) - negative);
  }

  const uint8_t* next = nullptr;
  uint64_t bits = 0;  // the next bits, the first of them highest
  int64_t count = 0;  // at most 63
};

struct BlockPlan {
  int component = 0;
  bool wanted = true;
  const Table* dc = nullptr;
  Table* ac = nullptr;
};

}  // namespace

struct HuffmanScan::State {
  // The zeros after the data. An MCU never needs more, even if all of it is missing.
  static constexpr int kPadding = kMaxBlocks * kBlockSize * 4;

  CAFFE2_INLINE uint32_t Find(const Table& table, const Position& at) {
    const uint32_t code = table.codes[at.bits >> (64 - Table::kBits)];
    return code != 0 ? code : FindLong(table, at.bits, at.next);
  }
  uint32_t FindLong(const Table& table, uint64_t bits, const uint8_t* next);
  CAFFE2_INLINE void ReadAc(const Table& table, int16_t* block, Position* position);
  CAFFE2_INLINE void SkipAc(Table* table, Position* position);
  Result ReadMcu(Block* const* to);

  Position position;
  const uint8_t* end = nullptr;  // of the data
  int64_t bytes_after = 0;       // the data
  bool bad_code = false;
  int num_blocks = 0;
  BlockPlan blocks[kMaxBlocks];
  int64_t last_dc[kMaxComponents] = {};
  Table dc[kMaxTables], ac[kMaxTables];
};

uint32_t HuffmanScan::State::FindLong(const Table& table, uint64_t bits, const uint8_t* next) {
  const uint32_t code = table.FindLong(bits);
  if (code != 0) return code;
  // As libjpeg-turbo, which looks for bad codes where an MCU might not be complete: it takes a
  // block to have at most 512 bytes, and reads up to 8 bytes ahead.
  const int64_t left = end - next;
  bad_code = bad_code || left < 8 || left + bytes_after < int64_t{num_blocks} * 512;
  return PackCode(kMaxLength + 1, 0, table.dc);
}

void HuffmanScan::State::ReadAc(const Table& table, int16_t* block, Position* position) {
  Position at = *position;
  int last = 0;
  const auto read = [&] {
    const uint32_t code = Find(table, at);
    last += StepOf(code);
    // The end of the block stores a zero, after the last coefficient.
    block[kPlaces[last]] = static_cast<int16_t>(at.Value(code));
    at.Drop(TotalBits(code));
    return last < kLast;
  };
  do {
    at.Refill();
  } while (read() && (at.count < Position::kMaxCodeBits || read()));
  *position = at;
}

void HuffmanScan::State::SkipAc(Table* table, Position* position) {
  Position at = *position;
  int last = 0;
  const auto skip = [&] {
    uint32_t& run = table->runs[at.bits >> (64 - Table::kRunBits)];
    if (run == 0) run = table->FindRun(at.bits);
    // Codes after the end of the block belong to another table.
    const bool inside = run != 0 && last + StepsBeforeLast(run) < kLast;
    const uint32_t codes = inside ? run : Find(*table, at);
    last += StepOf(codes);
    at.Drop(TotalBits(codes));
    return last < kLast;
  };
  do {
    at.Refill();
  } while (skip() && (at.count < Position::kMaxCodeBits || skip()));
  *position = at;
}

CAFFE2_SIMD_CLONES
HuffmanScan::Result HuffmanScan::State::ReadMcu(Block* const* to) {
  Position at = position;
  for (int i = 0; i < num_blocks; ++i) {
    const BlockPlan& plan = blocks[i];
    at.Refill();
    const uint32_t code = Find(*plan.dc, at);
    int64_t& dc_value = last_dc[plan.component];
    dc_value += at.Value(code);
    at.Drop(TotalBits(code));
    if (to != nullptr && plan.wanted) {
      int16_t* block = *to[i];
      block[0] = static_cast<int16_t>(dc_value);
      ReadAc(*plan.ac, block, &at);
    } else {
      SkipAc(plan.ac, &at);
    }
    if (dc_value != static_cast<int32_t>(dc_value)) return Result::kBadValue;
  }
  position.next = at.next;
  position.bits = at.bits;
  position.count = at.count;
  if ((at.next - end) * 8 > at.count) return bytes_after > 0 ? Result::kMarker : Result::kEndOfFile;
  return bad_code ? Result::kBadCode : Result::kOk;
}

HuffmanScan::HuffmanScan(std::string_view bytes, std::vector<uint8_t>* memory)
    : state_(std::make_unique_for_overwrite<State>()) {
  if (memory->size() < bytes.size() + State::kPadding) {
    memory->clear();  // nothing to copy
    memory->resize(bytes.size() + State::kPadding);
  }
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  uint8_t* end = memory->data();
  const uint8_t* read = CopyData(begin, begin + bytes.size(), &end);
  std::fill_n(end, State::kPadding, 0);
  state_->position.next = memory->data();
  state_->end = end;
  state_->bytes_after = begin + bytes.size() - read;
}

HuffmanScan::~HuffmanScan() = default;

void HuffmanScan::SetDcTable(int table, const HuffmanCodes& codes) {
  state_->dc[table].Set(codes, true);
}

void HuffmanScan::SetAcTable(int table, const HuffmanCodes& codes) {
  state_->ac[table].Set(codes, false);
}

void HuffmanScan::AddBlock(int component, bool wanted, int dc_table, int ac_table) {
  CAFFE_ENFORCE(state_->num_blocks < kMaxBlocks, "an MCU has more than ", kMaxBlocks, " blocks");
  state_->blocks[state_->num_blocks++] = {component, wanted, &state_->dc[dc_table],
                                          &state_->ac[ac_table]};
}

HuffmanScan::Result HuffmanScan::ReadMcu(Block* const* blocks) { return state_->ReadMcu(blocks); }

}  // namespace caffe2::db
