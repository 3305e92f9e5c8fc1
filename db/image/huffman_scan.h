// Decodes the Huffman codes of a baseline JPEG scan.
//
// libjpeg spends three quarters of its time on them: to reach the pixels that are wanted, it must
// read the codes of all pixels before them. This decoder finds a code and its extra bits by one
// look-up, and passes over several codes at once in blocks that are not wanted.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace caffe2::db {

// A Huffman table of a JPEG file: counts[i] codes have i bits, and `symbols` are their symbols in
// ascending order of the codes.
struct HuffmanCodes {
  uint8_t counts[17] = {};
  uint8_t symbols[256] = {};
};

// One scan of 8-bit samples without restart markers. Not thread-safe.
class HuffmanScan {
 public:
  static constexpr int kMaxBlocks = 10, kMaxTables = 4, kMaxComponents = 4;
  using Block = int16_t[64];

  enum class Result {
    kOk,
    kBadCode,    // elsewhere than near the end of the data a bad code counts as 0
    kMarker,     // the data end, with a marker, before the MCU does
    kEndOfFile,  // the bytes end before the MCU does
    kBadValue,   // a DC value exceeds 32 bits
  };

  // `bytes` begin with the data of the scan. Copies the data to *memory, which must outlive it.
  HuffmanScan(std::string_view bytes, std::vector<uint8_t>* memory);
  HuffmanScan(const HuffmanScan&) = delete;
  HuffmanScan& operator=(const HuffmanScan&) = delete;
  ~HuffmanScan();

  // Tables 0 to kMaxTables - 1 of each kind. Throws EnforceNotMet for more codes than fit their
  // lengths or `symbols`, or a DC symbol above 15.
  void SetDcTable(int table, const HuffmanCodes& codes);
  void SetAcTable(int table, const HuffmanCodes& codes);
  // Adds a block to the MCU. The tables must have been set. Blocks of a component that is not
  // wanted are passed over.
  void AddBlock(int component, bool wanted, int dc_table, int ac_table);

  // Reads the next MCU. The coefficients of its block i, not yet multiplied by the quantization
  // table, are stored in the order of rows at blocks[i], which must be zeros; without `blocks` they
  // are passed over. After another result than kOk it must not be called again.
  Result ReadMcu(Block* const* blocks);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace caffe2::db
