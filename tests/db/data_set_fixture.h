// Files of data sets, made byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/proto/caffe_datum.pb.h"
#include "db/db.h"
#include "tests/db/db_test_util.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {

inline std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes.push_back(static_cast<char>(value));
  return bytes;
}

// One member of a tar archive, ustar format.
inline std::string TarMember(const std::string& name, const std::string& bytes, char type = '0') {
  char header[512] = {};
  std::snprintf(header, 100, "%s", name.c_str());
  std::snprintf(header + 124, 12, "%011zo", bytes.size());
  std::memcpy(header + 257, "ustar\00000", 8);
  header[156] = type;
  std::memset(header + 148, ' ', 8);
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(header + 148, 8, "%06o", sum);
  std::string member(header, sizeof(header));
  member += bytes;
  member.resize((member.size() + 511) / 512 * 512, '\0');
  return member;
}

inline std::string Tar(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string archive;
  for (const auto& [name, bytes] : members) archive += TarMember(name, bytes);
  return archive + std::string(1024, '\0');
}

class DataSetTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name = "") const { return directory_.Path("set/" + name); }
  void Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    WriteFile(Path(name), bytes);
  }

  struct Image {
    std::string key;
    caffe::Datum datum;
  };
  // All records, through a cursor and by index, which must give the same.
  static std::vector<Image> Read(const std::string& type, const std::string& path) {
    std::vector<Image> images;
    const auto database = db::CreateDB(type, path, db::READ);
    const auto index = database->NewIndex();
    const auto cursor = database->NewCursor();
    std::string key, value;
    for (; cursor->Valid(); cursor->Next()) {
      index->Read(static_cast<int64_t>(images.size()), &key, &value);
      EXPECT_EQ(cursor->key(), key);
      EXPECT_EQ(cursor->value(), value);
      images.push_back({key, {}});
      EXPECT_TRUE(images.back().datum.ParseFromString(value));
    }
    EXPECT_EQ(index->NumRecords(), static_cast<int64_t>(images.size()));
    return images;
  }
  static std::vector<int> Labels(const std::vector<Image>& images) {
    std::vector<int> labels;
    for (const Image& image : images) labels.push_back(image.datum.label());
    return labels;
  }
  static std::vector<std::string> Keys(const std::vector<Image>& images) {
    std::vector<std::string> keys;
    for (const Image& image : images) keys.push_back(image.key);
    return keys;
  }

  TemporaryDirectory directory_;
};

inline std::string CifarRecord(const std::string& labels, char red, char green, char blue) {
  return labels + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

}  // namespace caffe2::testing
