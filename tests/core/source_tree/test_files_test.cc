// Tests mirror the source (tests/README.md): tests/db/image/area_resize_test.cc tests
// db/image/area_resize.{h,cc,cu}. Tests of several parts together are in a folder `scenarios`, and
// tests of the source tree itself in `source_tree`. Which test covers a source that has no test of
// its stem, covered_by.txt says.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Folders of tests that belong to no folder of the source.
bool HasNoSource(const std::string& folder) { return folder == "fuzz" || folder == "model_zoo"; }

// The folders of the sources that have a test. operator_files_test.cc looks at operators;
// benchmarks and examples are programs.
constexpr const char* kTestedFolders[] = {"caffe2", "db", "distributed", "python", "train"};

constexpr char kCoveredBy[] = "tests/core/source_tree/covered_by.txt";

// The folders of the source that the tests in tests/`folder` may be for.
std::vector<std::string> SourceFolders(const std::string& folder) {
  if (folder == "cuda_runtime") return {"caffe2/cuda"};
  return {folder, "caffe2/" + folder};
}

// The sources with the stem of a test in tests/`folder`, relative to `root`.
std::vector<std::string> SourcesOf(const fs::path& root, const std::string& folder,
                                   const std::string& stem) {
  std::vector<std::string> sources;
  for (const std::string& source : SourceFolders(folder)) {
    for (const char* end : {".h", ".cc", ".cu"}) {
      const fs::path path = fs::path(source) / (stem + end);
      if (fs::exists(root / path)) sources.push_back(path.string());
    }
  }
  return sources;
}

// What the *_test.cc files below root/tests have as their sources.
struct TestedSources {
  std::set<std::string> tested;   // sources with a test of their stem, relative to the root
  std::set<std::string> unknown;  // tests whose stem no source has, relative to root/tests
};

// A file with a header of its own name, as operators/op_test.cc, is a helper of tests.
TestedSources FindTestedSources(const fs::path& root) {
  const std::string end = "_test.cc";
  TestedSources found;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    if (!name.ends_with(end) || fs::exists(fs::path(path).replace_extension(".h"))) continue;
    const fs::path folder = fs::relative(path.parent_path(), root / "tests");
    const std::string last = folder.filename().string();
    if (last == "scenarios" || last == "source_tree" || HasNoSource(*folder.begin())) continue;
    const std::string stem = name.substr(0, name.size() - end.size());
    const std::vector<std::string> sources = SourcesOf(root, folder.string(), stem);
    found.tested.insert(sources.begin(), sources.end());
    if (sources.empty()) found.unknown.insert((folder / name).string());
  }
  return found;
}

TEST(TestFilesTest, HaveTheStemOfASource) {
  for (const std::string& file : FindTestedSources(CAFFE2_SOURCE_DIR).unknown) {
    ADD_FAILURE() << "tests/" << file << " has the stem of no source: name it for the source that "
                  << "it tests, or put it into the folder scenarios";
  }
}

// Makes the files, each of one empty line, in a new folder, which it returns.
fs::path MakeSourceTree(const std::vector<std::string>& files) {
  const fs::path root = fs::temp_directory_path() / ("test_files_test." + std::to_string(getpid()));
  for (const std::string& file : files) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "\n";
  }
  return root;
}

TEST(TestFilesTest, FindsATestWithoutASource) {
  const fs::path root = MakeSourceTree(
      {"db/image/resize.h", "caffe2/cuda/runtime.cc", "caffe2/core/net.cc",
       "tests/db/image/resize_test.cc", "tests/db/image/net_test.cc", "tests/db/resize_test.cc",
       "tests/core/net_test.cc", "tests/cuda_runtime/runtime_test.cc", "tests/fuzz/fuzz_test.cc",
       "tests/db/scenarios/all_test.cc", "tests/core/source_tree/files_test.cc",
       "tests/db/util_test.cc", "tests/db/util_test.h", "tests/db/words.cc"});
  const TestedSources found = FindTestedSources(root);
  fs::remove_all(root);
  EXPECT_EQ(found.unknown, (std::set<std::string>{"db/image/net_test.cc", "db/resize_test.cc"}));
  EXPECT_EQ(found.tested, (std::set<std::string>{"db/image/resize.h", "caffe2/cuda/runtime.cc",
                                                 "caffe2/core/net.cc"}));
}

// The .cc files in kTestedFolders, relative to `root`.
std::set<std::string> SourcesToTest(const fs::path& root) {
  std::set<std::string> sources;
  for (const char* folder : kTestedFolders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cc") continue;
      sources.insert(fs::relative(entry.path(), root).string());
    }
  }
  return sources;
}

// A row "SOURCE: TEST TEST" of covered_by.txt.
struct CoverageRow {
  std::string source;
  std::vector<std::string> tests;
};

// The rows of covered_by.txt, without comments. A row that is not of this form has no tests.
std::vector<CoverageRow> ReadCoverage(const fs::path& root) {
  std::vector<CoverageRow> rows;
  std::ifstream file(root / kCoveredBy);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    CoverageRow& row = rows.emplace_back(CoverageRow{line.substr(0, colon), {}});
    if (colon == std::string::npos) continue;
    std::istringstream tests(line.substr(colon + 2));
    for (std::string test; tests >> test;) row.tests.push_back(test);
  }
  return rows;
}

// A line for each source that neither has a test of its stem nor a row in covered_by.txt, and for
// each row that is wrong.
std::vector<std::string> CoverageProblems(const fs::path& root) {
  const std::set<std::string> tested = FindTestedSources(root).tested;
  std::set<std::string> uncovered = SourcesToTest(root), seen;
  for (const std::string& source : tested) uncovered.erase(source);
  std::vector<std::string> problems;
  for (const auto& [source, tests] : ReadCoverage(root)) {
    uncovered.erase(source);
    if (!fs::exists(root / source)) {
      problems.push_back(source + " does not exist: remove or correct its row");
    } else if (tested.count(source)) {
      problems.push_back(source + " has a test of its stem: remove its row");
    }
    if (!seen.insert(source).second) problems.push_back(source + " has two rows: join them");
    if (tests.empty()) problems.push_back(source + " has a row without tests: write SOURCE: TEST");
    for (const std::string& test : tests) {
      if (test.rfind("tests/", 0) != 0 || !fs::exists(root / test)) {
        problems.push_back(source + ": there is no test " + test +
                           ": name the test that covers it");
      }
    }
  }
  for (const std::string& source : uncovered) {
    problems.push_back(source + " has no test of its stem: write one or, if another test runs " +
                       "it, add the row " + source + ": TEST");
  }
  return problems;
}

TEST(CoveredByTest, EverySourceHasATestOrARowThatNamesOne) {
  EXPECT_GT(SourcesToTest(CAFFE2_SOURCE_DIR).size(), 200);
  for (const std::string& problem : CoverageProblems(CAFFE2_SOURCE_DIR)) {
    ADD_FAILURE() << kCoveredBy << ": " << problem;
  }
}

TEST(CoveredByTest, FindsSourcesWithoutTestsAndWrongRows) {
  const fs::path root = MakeSourceTree(
      {"caffe2/core/net.cc", "caffe2/core/blob.cc", "caffe2/cuda/runtime.cc", "db/idx.cc",
       "db/stl10.cc", "db/stl10.h", "train/log.cc", "train/input.cc", "train/shard.cc",
       "examples/main.cc", "operators/pool/pool_op.cc", "tests/core/net_test.cc",
       "tests/cuda_runtime/runtime_test.cc", "tests/programs/test_log.py", kCoveredBy});
  std::ofstream(root / kCoveredBy) << "# SOURCE: TEST TEST\n\n"
                                      "caffe2/core/blob.cc: tests/core/net_test.cc\n"
                                      "caffe2/core/net.cc: tests/programs/test_log.py\n"
                                      "db/cifar.cc: tests/core/net_test.cc\n"
                                      "db/idx.cc: tests/db/idx_test.cc train/log.cc\n"
                                      "train/input.cc\n"
                                      "train/log.cc: tests/programs/test_log.py\n"
                                      "train/log.cc: tests/core/net_test.cc\n";
  const std::vector<std::string> found = CoverageProblems(root);
  fs::remove_all(root);
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "caffe2/core/net.cc has a test of its stem: remove its row",
                "db/cifar.cc does not exist: remove or correct its row",
                "db/idx.cc: there is no test tests/db/idx_test.cc: name the test that covers it",
                "db/idx.cc: there is no test train/log.cc: name the test that covers it",
                "train/input.cc has a row without tests: write SOURCE: TEST",
                "train/log.cc has two rows: join them",
                "db/stl10.cc has no test of its stem: write one or, if another test runs it, add "
                "the row db/stl10.cc: TEST",
                "train/shard.cc has no test of its stem: write one or, if another test runs it, "
                "add the row train/shard.cc: TEST"}));
}

}  // namespace
