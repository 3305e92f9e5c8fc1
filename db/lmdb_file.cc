#include "db/lmdb_file.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <sstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/logging.h"

namespace caffe2::db {
namespace {

// Page header: page number (8 bytes), padding (2), flags (2), then the bounds of the free space
// (2 + 2) or, on overflow pages, the number of pages (4). The 2-byte offsets of the entries follow.
constexpr size_t kPageHeader = 16;
constexpr uint16_t kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04, kMetaPage = 0x08;
constexpr uint16_t kPageTypes = 0xff & ~0x10;  // without the dirty mark

// Entry: size or low half of the child page (4), flags or its upper part (2), key length (2), key,
// data.
constexpr size_t kNodeHeader = 8;
constexpr uint16_t kBigData = 0x01;

// Meta page after the header: magic (4), version (4), address (8), map size (8), two trees (free
// pages, main) of 48 bytes, last page (8), transaction (8).
constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kVersion = 1;
constexpr size_t kMetaBytes = kPageHeader + 24 + 2 * 48 + 16;
constexpr size_t kTransactionAt = kMetaBytes - 8;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr int kMaxDepth = 32;

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

uint64_t Even(uint64_t n) { return n + (n & 1); }

// "\"PK\\x03\\x04\"".
std::string Quoted(std::string_view bytes) {
  std::ostringstream text;
  text << '"' << std::hex << std::setfill('0');
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      text << c;
    } else {
      text << "\\x" << std::setw(2) << static_cast<int>(static_cast<unsigned char>(c));
    }
  }
  text << '"';
  return text.str();
}

}  // namespace

LmdbFile::LmdbFile(const std::string& path) : file_(path) {
  ReadMeta();
  // Once the meta pages are known to be whole. The snapshot is then the newest state, which is the
  // one of the place or a later one.
  snapshot_ = LmdbSnapshot::Take(path);
  if (snapshot_) ReadMeta();
  Walk();
  CheckUnchanged();
  opened_ = true;
}

uint64_t LmdbFile::CommittedTransaction() {
  uint64_t newest = 0;
  for (const uint64_t page : {uint64_t{0}, uint64_t{1}}) {
    uint64_t id = 0;
    file_.ReadUnbuffered(page * page_size_ + kTransactionAt, &id, sizeof id);
    newest = std::max(newest, id);
  }
  return newest;
}

// Transaction n + 1 may free pages of snapshot n, which n + 3 may be the first to use again: only
// pages that were freed before the last committed transaction are free to use. Even while n + 3 is
// under way, n + 2 is committed.
void LmdbFile::CheckUnchanged() {
  if (snapshot_ && snapshot_->held()) return;
  const uint64_t committed = CommittedTransaction();
  if (committed >= transaction_ + 2) ThrowOverwritten(committed);
}

void LmdbFile::ThrowOverwritten(uint64_t committed) {
  ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(),
               " was written while it was read: this process reads transaction ", transaction_,
               ", the last one is ", committed, ", and it has no slot in the reader table, ",
               "which keeps writers from its pages", OtherLmdbUsers(file_.path()));
}

void LmdbFile::ThrowDamaged(uint64_t page, const std::string& what) {
  if (has_meta_) CheckUnchanged();
  ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(), " is damaged: page ", page, ": ",
               what);
}

void LmdbFile::CheckKind() {
  constexpr size_t kShown = 8;
  char bytes[kPageHeader + sizeof kMagic] = {};
  const size_t size = std::min<uint64_t>(file_.size(), sizeof bytes);
  file_.ReadUnbuffered(0, bytes, size);
  if (size == sizeof bytes && Load<uint32_t>(bytes + kPageHeader) == kMagic) return;
  // The first page begins with its number, which is 0. A shorter file that agrees was cut.
  const auto is_zero = [](char c) { return c == 0; };
  const size_t number = std::min(size, sizeof(uint64_t));
  if (size < sizeof bytes && std::all_of(bytes, bytes + number, is_zero)) return;
  ThrowIoError(ExitCode::kBadData, file_.path(), " is not an LMDB database: it begins with ",
               Quoted({bytes, std::min(size, kShown)}),
               " and has no LMDB header; give its own db_type, or an LMDB database, such as doppio "
               "data prepare writes");
}

bool LmdbFile::ParseMetaPage(uint64_t page, uint64_t* transaction, Tree* tree) {
  // A writer may be at work on the page: it is read until it is twice the same.
  char raw[kMetaBytes], again[kMetaBytes];
  do {
    file_.ReadUnbuffered(page * page_size_, raw, sizeof raw);
    file_.ReadUnbuffered(page * page_size_, again, sizeof again);
  } while (std::memcmp(raw, again, sizeof raw) != 0);
  const char* meta = raw + kPageHeader;
  if (Load<uint32_t>(meta) != kMagic) ThrowDamaged(page, "no LMDB header");
  if (Load<uint32_t>(meta + 4) != kVersion) {
    ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(), " has format version ",
                 Load<uint32_t>(meta + 4), "; only version 1 is supported");
  }
  if (Load<uint64_t>(raw) != page || !(Load<uint16_t>(raw + 10) & kMetaPage)) {
    ThrowDamaged(page, "not a meta page");
  }
  const char* main = meta + 24 + 48;
  const uint64_t id = Load<uint64_t>(meta + 24 + 96 + 8);
  const uint32_t page_size = Load<uint32_t>(meta + 24);
  if (page == 0) {
    if (page_size < 512 || page_size > 65536 || (page_size & (page_size - 1)) != 0) {
      ThrowDamaged(page, MakeString("page size ", page_size));
    }
    page_size_ = page_size;
  } else if (page_size != page_size_) {
    ThrowDamaged(page, MakeString("page size ", page_size, " where page 0 has ", page_size_));
  }
  // If both pages have the same transaction, page 0 counts, as in liblmdb.
  if (page != 0 && id <= *transaction) return false;
  *transaction = id;
  last_page_ = Load<uint64_t>(meta + 24 + 96);
  tree->flags = Load<uint16_t>(main + 4);
  tree->depth = Load<uint16_t>(main + 6);
  tree->branch_pages = Load<uint64_t>(main + 8);
  tree->leaf_pages = Load<uint64_t>(main + 16);
  tree->overflow_pages = Load<uint64_t>(main + 24);
  tree->entries = Load<uint64_t>(main + 32);
  tree->root = Load<uint64_t>(main + 40);
  return true;
}

void LmdbFile::ReadMeta() {
  CheckKind();
  if (file_.size() < kMetaBytes) {
    ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(),
                 " is truncated: ", file_.size(), " bytes are too few for its header");
  }
  page_size_ = 0;
  ParseMetaPage(0, &transaction_, &tree_);
  ParseMetaPage(1, &transaction_, &tree_);
  has_meta_ = true;
  file_.UpdateSize();  // a writer makes it longer before it commits
  // Checked by division: last_page_ may be any number.
  if (last_page_ >= file_.size() / page_size_) {
    ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(),
                 " is truncated: ", file_.size(), " bytes where ", last_page_, " + 1 pages of ",
                 page_size_, " bytes are expected");
  }
  if (tree_.flags != 0) {
    ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(), " has flags ", tree_.flags,
                 " (duplicate, integer or reversed keys), which are not supported");
  }
  if (tree_.depth > kMaxDepth) ThrowDamaged(0, MakeString("tree of depth ", tree_.depth));
}

void LmdbFile::LoadPage(uint64_t page, bool leaf) {
  // A branch page that is its own child must not be taken for a leaf, whose entries it has not.
  if (page == loaded_page_ && loaded_page_ != 0 && leaf == loaded_leaf_) return;
  loaded_page_ = 0;
  if (page < 2 || page > last_page_) {
    ThrowDamaged(page, MakeString("number out of range; the last page is ", last_page_));
  }
  page_.resize(page_size_);
  file_.ReadAt(page * page_size_, page_.data(), page_size_);
  if (opened_) CheckUnchanged();
  if (Load<uint64_t>(page_.data()) != page) ThrowDamaged(page, "has the number of another page");
  const uint16_t type = Load<uint16_t>(page_.data() + 10) & kPageTypes;
  if (type != (leaf ? kLeafPage : kBranchPage)) {
    ThrowDamaged(page, MakeString("type ", type, " where a ", leaf ? "leaf" : "branch",
                                  " page is expected"));
  }
  const size_t lower = Load<uint16_t>(page_.data() + 12);
  size_t upper = Load<uint16_t>(page_.data() + 14);
  if (upper == 0 && page_size_ == 65536) upper = page_size_;
  if (lower < kPageHeader || (lower & 1) || lower > upper || upper > page_size_) {
    ThrowDamaged(page, MakeString("free space from ", lower, " to ", upper));
  }
  loaded_count_ = (lower - kPageHeader) / 2;
  if (loaded_count_ == 0) ThrowDamaged(page, "no entries");
  // The entries fill the upper part of the page without gaps.
  uint64_t used = 0;
  for (size_t i = 0; i < loaded_count_; ++i) {
    const size_t at = Load<uint16_t>(page_.data() + kPageHeader + 2 * i);
    if (at < upper || at + kNodeHeader > page_size_) {
      ThrowDamaged(page, MakeString("entry ", i, " at offset ", at));
    }
    const char* node = page_.data() + at;
    uint64_t bytes = kNodeHeader + Load<uint16_t>(node + 6);
    if (leaf) {
      const uint16_t flags = Load<uint16_t>(node + 4);
      if (flags & ~kBigData) {
        ThrowDamaged(
            page, MakeString("entry ", i, " has flags ", flags, " (a named or nested database?)"));
      }
      bytes += flags & kBigData ? sizeof(uint64_t) : Load<uint32_t>(node);
    }
    if (bytes > page_size_ - at) {
      ThrowDamaged(page, MakeString("entry ", i, " of ", bytes, " bytes at offset ", at));
    }
    used += Even(bytes);
  }
  if (used != page_size_ - upper) {
    ThrowDamaged(page, MakeString("entries of ", used, " bytes in ", page_size_ - upper));
  }
  loaded_page_ = page;
  loaded_leaf_ = leaf;
}

LmdbFile::Node LmdbFile::NodeAt(size_t i) const {
  const char* raw = page_.data() + Load<uint16_t>(page_.data() + kPageHeader + 2 * i);
  const uint32_t low = Load<uint32_t>(raw);
  const uint16_t flags = Load<uint16_t>(raw + 4);
  const uint16_t key_bytes = Load<uint16_t>(raw + 6);
  Node node;
  node.key = {raw + kNodeHeader, key_bytes};
  node.child = low | static_cast<uint64_t>(flags) << 32;
  node.size = low;
  node.overflow = flags & kBigData;
  node.data = {raw + kNodeHeader + key_bytes, node.overflow ? sizeof(uint64_t) : low};
  return node;
}

uint64_t LmdbFile::OverflowPages(uint64_t value_bytes) const {
  return (kPageHeader - 1 + value_bytes) / page_size_ + 1;
}

void LmdbFile::AddLeaf(uint64_t page, std::string* last_key, uint64_t* overflow_pages) {
  LoadPage(page, /*leaf=*/true);
  for (size_t i = 0; i < loaded_count_; ++i) {
    const Node node = NodeAt(i);
    if (num_records_ > 0 && node.key <= std::string_view(*last_key)) {
      ThrowDamaged(page, MakeString("key of entry ", i, " is not greater than the one before"));
    }
    last_key->assign(node.key);
    if (node.overflow) {
      const uint64_t first = Load<uint64_t>(node.data.data());
      const uint64_t pages = OverflowPages(node.size);
      if (first < 2 || first > last_page_ || pages > last_page_ - first + 1) {
        ThrowDamaged(page, MakeString("entry ", i, " points to page ", first, " and ", pages - 1,
                                      " more; the last page is ", last_page_));
      }
      *overflow_pages += pages;
    }
    ++num_records_;
  }
  leaves_.push_back(page);
  first_record_.push_back(num_records_);
}

void LmdbFile::Walk() {
  first_record_.push_back(0);
  uint64_t branch_pages = 0, overflow_pages = 0;
  if (tree_.root != kNoPage) {
    std::string last_key;
    // A stack of pages to visit, with their height above the leaves.
    struct Pending {
      uint64_t page;
      int height;
    };
    std::vector<Pending> pending = {{tree_.root, tree_.depth - 1}};
    while (!pending.empty()) {
      const auto [page, height] = pending.back();
      pending.pop_back();
      if (height < 0) ThrowDamaged(page, "the tree is deeper than its header says");
      if (height == 0) {
        // The counts in the header bound the walk even if pages form a cycle.
        if (leaves_.size() == tree_.leaf_pages) ThrowDamaged(page, "more leaf pages than counted");
        AddLeaf(page, &last_key, &overflow_pages);
        continue;
      }
      if (++branch_pages > tree_.branch_pages) ThrowDamaged(page, "more branch pages than counted");
      LoadPage(page, /*leaf=*/false);
      for (size_t i = loaded_count_; i-- > 0;) pending.push_back({NodeAt(i).child, height - 1});
    }
  }
  if (static_cast<uint64_t>(num_records_) != tree_.entries || leaves_.size() != tree_.leaf_pages ||
      branch_pages != tree_.branch_pages || overflow_pages > tree_.overflow_pages) {
    ThrowIoError(ExitCode::kBadData, "LMDB database ", file_.path(), " is damaged: ", num_records_,
                 " records, ", branch_pages, " branch, ", leaves_.size(), " leaf and ",
                 overflow_pages, " overflow pages found where ", tree_.entries, ", ",
                 tree_.branch_pages, ", ", tree_.leaf_pages, " and ", tree_.overflow_pages,
                 " are counted");
  }
}

size_t LmdbFile::LoadLeafOf(int64_t i) {
  if (i < first_record_[current_leaf_] || i >= first_record_[current_leaf_ + 1]) {
    // Usually it is the next leaf.
    if (current_leaf_ + 2 < first_record_.size() && i >= first_record_[current_leaf_ + 1] &&
        i < first_record_[current_leaf_ + 2]) {
      ++current_leaf_;
    } else {
      current_leaf_ = std::upper_bound(first_record_.begin(), first_record_.end(), i) -
                      first_record_.begin() - 1;
    }
  }
  LoadPage(leaves_[current_leaf_], /*leaf=*/true);
  const int64_t count = first_record_[current_leaf_ + 1] - first_record_[current_leaf_];
  if (static_cast<int64_t>(loaded_count_) != count) {
    loaded_page_ = 0;
    ThrowDamaged(leaves_[current_leaf_], "changed while the database was read");
  }
  return static_cast<size_t>(i - first_record_[current_leaf_]);
}

std::string LmdbFile::Key(int64_t i) { return std::string(NodeAt(LoadLeafOf(i)).key); }

void LmdbFile::Read(int64_t i, std::string* key, std::string* value) {
  const Node node = NodeAt(LoadLeafOf(i));
  key->assign(node.key);
  if (!node.overflow) {
    value->assign(node.data);
    return;
  }
  const uint64_t first = Load<uint64_t>(node.data.data());
  const uint64_t pages = OverflowPages(node.size);
  if (first < 2 || first > last_page_ || pages > last_page_ - first + 1) {
    ThrowDamaged(leaves_[current_leaf_], "changed while the database was read");
  }
  char header[kPageHeader];
  file_.ReadAt(first * page_size_, header, sizeof(header));
  if (Load<uint64_t>(header) != first || !(Load<uint16_t>(header + 10) & kOverflowPage) ||
      Load<uint32_t>(header + 12) < pages) {
    ThrowDamaged(first, MakeString("not the value of record \"", *key, "\""));
  }
  value->resize(node.size);
  file_.ReadAt(first * page_size_ + kPageHeader, value->data(), node.size);
  CheckUnchanged();
}

int64_t LmdbFile::LowerBound(std::string_view key) {
  int64_t low = 0, high = num_records_;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (NodeAt(LoadLeafOf(middle)).key < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace caffe2::db
