// Tests mirror the source (tests/README.md): tests/db/image/area_resize_test.cc tests
// db/image/area_resize.{h,cc,cu}. Tests of several parts together are in a folder `scenarios`, and
// tests of the source tree itself in `source_tree`.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Folders of tests that belong to no folder of the source.
bool HasNoSource(const std::string& folder) { return folder == "fuzz" || folder == "model_zoo"; }

// The folders of the source that the tests in tests/`folder` may be for.
std::vector<std::string> SourceFolders(const std::string& folder) {
  if (folder == "cuda_runtime") return {"caffe2/cuda"};
  return {folder, "caffe2/" + folder};
}

bool HasSource(const fs::path& root, const std::string& folder, const std::string& stem) {
  for (const std::string& source : SourceFolders(folder)) {
    for (const char* end : {".h", ".cc", ".cu"}) {
      if (fs::exists(root / source / (stem + end))) return true;
    }
  }
  return false;
}

// The *_test.cc files below root/tests whose stem no source has, relative to there. A file with a
// header of its own name, as operators/op_test.cc, is a helper of tests.
std::set<std::string> TestsWithoutSource(const fs::path& root) {
  const std::string end = "_test.cc";
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    if (!name.ends_with(end) || fs::exists(fs::path(path).replace_extension(".h"))) continue;
    const fs::path folder = fs::relative(path.parent_path(), root / "tests");
    const std::string last = folder.filename().string();
    if (last == "scenarios" || last == "source_tree" || HasNoSource(*folder.begin())) continue;
    const std::string stem = name.substr(0, name.size() - end.size());
    if (!HasSource(root, folder.string(), stem)) found.insert((folder / name).string());
  }
  return found;
}

TEST(TestFilesTest, HaveTheStemOfASource) {
  for (const std::string& file : TestsWithoutSource(CAFFE2_SOURCE_DIR)) {
    ADD_FAILURE() << "tests/" << file << " has the stem of no source: name it for the source that "
                  << "it tests, or put it into the folder scenarios";
  }
}

TEST(TestFilesTest, FindsATestWithoutASource) {
  const fs::path root = fs::temp_directory_path() / ("test_files_test." + std::to_string(getpid()));
  for (const char* file :
       {"db/image/resize.h", "caffe2/cuda/runtime.cc", "caffe2/core/net.cc",
        "tests/db/image/resize_test.cc", "tests/db/image/net_test.cc", "tests/db/resize_test.cc",
        "tests/core/net_test.cc", "tests/cuda_runtime/runtime_test.cc", "tests/fuzz/fuzz_test.cc",
        "tests/db/scenarios/all_test.cc", "tests/core/source_tree/files_test.cc",
        "tests/db/util_test.cc", "tests/db/util_test.h", "tests/db/words.cc"}) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "\n";
  }
  const std::set<std::string> found = TestsWithoutSource(root);
  fs::remove_all(root);
  EXPECT_EQ(found, (std::set<std::string>{"db/image/net_test.cc", "db/resize_test.cc"}));
}

}  // namespace
