// Reads the data file of an LMDB environment (format of LMDB 0.9: Howard Chu, "MDB: A
// Memory-Mapped Database and Backend for OpenLDAP", 2011) without the library.
//
// liblmdb trusts its file: a truncated file raises SIGBUS, a damaged one raises SIGSEGV or gives a
// wrong number of records. This reader copies each page into memory and checks every number in it
// before use. Opening walks the whole tree once: a database that opens has exactly the records that
// its header counts, in ascending order of keys.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/db.h"
#include "db/lmdb_snapshot.h"
#include "db/random_access_file.h"

namespace caffe2::db {

// A snapshot of the main database, taken when it is opened. If possible, it takes a slot in the
// reader table (LmdbSnapshot), so that writers do not overwrite its pages. Without a slot, for
// example on read-only media, it takes no lock and writes nothing. Once a writer may have reused a
// page of the snapshot (from its second commit on), reading throws an IoError with this cause. Not
// thread-safe. Memory: 16 bytes for each leaf page.
class LmdbFile final : public RecordIndex {
 public:
  // `path` is the data file. Throws IoError with the path and the cause.
  explicit LmdbFile(const std::string& path);

  int64_t NumRecords() const override { return num_records_; }
  void Read(int64_t i, std::string* key, std::string* value) override;
  std::string Key(int64_t i);
  // The index of the first record with a key >= `key`; NumRecords() if there is none.
  int64_t LowerBound(std::string_view key);

 private:
  struct Tree {
    uint16_t flags = 0;
    uint16_t depth = 0;
    uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0, root = 0;
  };
  // One entry of a page.
  struct Node {
    std::string_view key;
    std::string_view data;  // inline data, or the 8 bytes of an overflow page number
    uint64_t child = 0;     // branch pages
    uint64_t size = 0;      // leaf pages: bytes of the value
    bool overflow = false;
  };

  void CheckKind();  // throws for a file without LMDB's header
  void ReadMeta();
  // The number of the last committed transaction in the file now.
  uint64_t CommittedTransaction();
  // Throws if a writer may have overwritten what was just read.
  void CheckUnchanged();
  bool ParseMetaPage(uint64_t page, uint64_t* transaction, Tree* tree);
  void Walk();
  void AddLeaf(uint64_t page, std::string* last_key, uint64_t* overflow_pages);
  // Reads a page and checks its header and every entry.
  void LoadPage(uint64_t page, bool leaf);
  Node NodeAt(size_t i) const;  // of the loaded page
  uint64_t OverflowPages(uint64_t value_bytes) const;
  // Loads the leaf that holds record i; returns the index of its entry there.
  size_t LoadLeafOf(int64_t i);
  [[noreturn]] void ThrowDamaged(uint64_t page, const std::string& what);
  [[noreturn]] void ThrowOverwritten(uint64_t committed);

  RandomAccessFile file_;
  std::shared_ptr<const LmdbSnapshot> snapshot_;  // null if it has no slot
  uint64_t transaction_ = 0;                      // of the snapshot
  bool has_meta_ = false;                         // transaction_ was read
  bool opened_ = false;
  uint64_t page_size_ = 0;
  uint64_t last_page_ = 0;
  Tree tree_;
  int64_t num_records_ = 0;
  std::vector<uint64_t> leaves_;       // page numbers in key order
  std::vector<int64_t> first_record_;  // of each leaf, then num_records_
  size_t current_leaf_ = 0;            // the leaf of the last record read

  std::vector<char> page_;
  uint64_t loaded_page_ = 0;  // 0: none (page 0 is a meta page)
  bool loaded_leaf_ = false;  // it was checked as a leaf page, not as a branch page
  size_t loaded_count_ = 0;
};

}  // namespace caffe2::db
