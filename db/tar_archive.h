// Images in tar archives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db/random_access_file.h"
#include "db/record_list.h"

namespace caffe2::db {

// A regular file in an archive.
struct TarEntry {
  std::string name;
  uint64_t offset = 0, size = 0;  // of its bytes, in the archive
};

// Calls visit(entry) for the regular files, in order, of the archive in bytes [begin, end) of
// `file`. Reads the formats ustar, GNU and pax. Throws IoError for a damaged or compressed archive.
void ForEachTarEntry(RandomAccessFile* file, uint64_t begin, uint64_t end,
                     const std::function<void(const TarEntry&)>& visit);

// True if the path names a folder in an archive that exists: "photos.tar/train".
bool IsInArchive(const std::string& path);

// The two parts, as sources for TarImages, of an archive that holds folders of class folders:
// train, and test or val, at the top or in the only folder at the top. Both are "" for other
// archives, and for archives that cannot be read.
struct TarParts {
  std::string train, test;
};
TarParts FindTarParts(const std::string& archive);

// The images of an archive, of a folder in it (IsInArchive), or of all archives (*.tar) of a
// folder, in their order, as encoded Datum records. An archive may contain archives, as
// ILSVRC2012_img_train.tar does. The label is
//  - the number in the .cls file with the same path up to the first dot of the name (WebDataset);
//  - without .cls files, the rank (from 0) of the image's class among the sorted names of all
//    classes. The class is the innermost folder of the image or, if it is in no folder, the name of
//    its archive without ".tar" ("n01440764").
// Keys are paths. If an archive is one of several or is inside another, they begin with its name
// without ".tar".
class TarImages final : public RecordList {
 public:
  // Reads all headers. Throws IoError if an archive is damaged, archives are nested more than eight
  // levels deep, there is no image, a .cls file does not hold a label, some images have a .cls file
  // and others do not, or, without .cls files, a folder holds files but no image.
  explicit TarImages(const std::string& source);

  int64_t NumRecords() const override { return static_cast<int64_t>(contents_->images.size()); }
  std::string Key(int64_t i) const override {
    return contents_->images[static_cast<size_t>(i)].key;
  }
  bool IsSorted() const override { return contents_->sorted; }
  SourceInfo Info() const override { return contents_->info; }
  void Read(int64_t i, std::string* key, std::string* value) override;

  // The same images, to be read by another thread.
  std::unique_ptr<TarImages> Copy() const;

 private:
  struct Image {
    std::string key;
    size_t archive;
    uint64_t offset, size;
    int label;
  };
  struct Contents {
    std::vector<std::string> archives;
    std::vector<Image> images;
    SourceInfo info;
    bool sorted = false;
  };
  explicit TarImages(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  class Scan;

  std::shared_ptr<const Contents> contents_;
  size_t open_ = 0;  // the archive of file_
  std::unique_ptr<RandomAccessFile> file_;
};

}  // namespace caffe2::db
