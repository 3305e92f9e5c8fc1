// Dependencies between folders point one way (docs/design/architecture.md): every #include of our
// own headers is checked against the table below.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Folder -> folders whose headers it may include, besides its own.
const std::map<std::string, std::set<std::string>>& Allowed() {
  static const std::map<std::string, std::set<std::string>> allowed = {
      {"caffe2/proto", {}},
      {"caffe2/core", {"caffe2/proto"}},
      {"caffe2/utils", {"caffe2/core", "caffe2/proto"}},
      {"caffe2/cuda", {"caffe2/core", "caffe2/utils", "caffe2/proto"}},
      {"caffe2/graph", {"caffe2/core", "caffe2/proto"}},
      {"caffe2/model", {"caffe2/graph", "caffe2/core", "caffe2/proto"}},
      {"db", {"caffe2/core", "caffe2/utils", "caffe2/proto"}},
      {"operators", {"caffe2/core", "caffe2/utils", "caffe2/cuda", "caffe2/proto", "db"}},
      {"distributed", {"caffe2/core", "caffe2/utils", "caffe2/cuda", "caffe2/proto"}},
      {"train",
       {"caffe2/core", "caffe2/utils", "caffe2/proto", "caffe2/graph", "caffe2/model", "db",
        "distributed"}},
  };
  return allowed;
}

// "caffe2/core" for caffe2/core/x.h, "db" for db/x.h, "" for what is not ours.
std::string FolderOf(const std::string& path) {
  const size_t first = path.find('/');
  if (first == std::string::npos) return "";
  const std::string top = path.substr(0, first);
  const size_t second = path.find('/', first + 1);
  const std::string two = second == std::string::npos ? top : path.substr(0, second);
  if (Allowed().count(two)) return two;
  static const std::set<std::string> others = {
      "db", "operators", "distributed", "train", "examples", "tests", "python", "benchmarks"};
  return others.count(top) ? top : "";
}

// Every file below `folder`, in sub-folders too.
std::vector<fs::path> FilesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

// A line for each include below `root` that the table forbids; counts our includes in `checked`.
std::vector<std::string> ForbiddenIncludes(const fs::path& root, int* checked) {
  static const std::regex include("^\\s*#\\s*include\\s*\"([^\"]+)\"");
  std::vector<std::string> forbidden;
  for (const auto& [folder, allowed] : Allowed()) {
    for (const fs::path& path : FilesBelow(root / folder)) {
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        ++*checked;
        const std::string target = FolderOf(match[1]);
        if (target.empty() || target == folder || allowed.count(target)) continue;
        forbidden.push_back(fs::relative(path, root).string() + " includes " + match[1].str() +
                            ": " + folder + " must not depend on " + target);
      }
    }
  }
  return forbidden;
}

TEST(DependenciesTest, IncludesPointOneWay) {
  int checked = 0;
  for (const std::string& line : ForbiddenIncludes(CAFFE2_SOURCE_DIR, &checked)) {
    ADD_FAILURE() << line;
  }
  EXPECT_GT(checked, 1000);
}

TEST(DependenciesTest, FindsAForbiddenIncludeInASubFolder) {
  const fs::path root =
      fs::temp_directory_path() / ("dependencies_test." + std::to_string(getpid()));
  fs::create_directories(root / "operators" / "activation");
  std::ofstream(root / "operators" / "activation" / "relu_op.cc")
      << "#include \"caffe2/core/operator.h\"\n#include \"train/trainer.h\"\n";
  int checked = 0;
  const std::vector<std::string> found = ForbiddenIncludes(root, &checked);
  fs::remove_all(root);
  EXPECT_EQ(checked, 2);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(
      found[0],
      "operators/activation/relu_op.cc includes train/trainer.h: operators must not depend on "
      "train");
}

// A library is used behind its wrapper only.
TEST(DependenciesTest, ThirdPartyHeadersStayInTheirWrappers) {
  const fs::path root = CAFFE2_SOURCE_DIR;
  const std::map<std::string, std::regex> wrappers = {
      {"lmdb.h", std::regex("db/lmdb[^/]*")},
      {"leveldb/", std::regex("db/leveldb[^/]*")},
      {"CLI/", std::regex("examples/doppio/[^/]*")},
      {"hiredis/", std::regex("distributed/redis[^/]*")},
      {"openssl/", std::regex("distributed/(signed_store|redis)[^/]*")},
      {"microhttpd.h", std::regex("train/observe/metrics_server.cc")},
      {"gloo/", std::regex("distributed/gloo[^/]*")},
      {"opencv2/", std::regex("(db/image/[^/]*|operators/image/image_input[^/]*|examples/[^/]*)")},
      {"jpeglib.h", std::regex("db/image/jpeg[^/]*")},
      {"oneapi/dnnl", std::regex("caffe2/utils/onednn[^/]*")},
      {"cuda_runtime", std::regex("caffe2/cuda/(runtime.cc|launch.h)")},
      {"cublas", std::regex("caffe2/cuda/matmul.cc")},
      {"nccl", std::regex("caffe2/cuda/nccl.cc")},
      {"cudnn", std::regex("caffe2/cuda/c(udnn|onvolution)[^/]*")},
  };
  const std::regex include("^\\s*#\\s*include\\s*<([^>]+)>");
  std::vector<fs::path> files;
  for (const char* folder :
       {"caffe2", "db", "distributed", "examples", "operators", "python", "train"}) {
    const std::vector<fs::path> below = FilesBelow(root / folder);
    files.insert(files.end(), below.begin(), below.end());
  }
  ASSERT_GT(files.size(), 1000u);
  for (const fs::path& found : files) {
    const std::string path = fs::relative(found, root).string();
    if (FolderOf(path).empty()) continue;
    std::ifstream file(found);
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      for (const auto& [header, allowed] : wrappers) {
        if (match[1].str().rfind(header, 0) != 0) continue;
        EXPECT_TRUE(std::regex_match(path, allowed)) << path << " includes " << match[1];
      }
    }
  }
}

// The types that a file defines in named namespaces, with these.
std::set<std::string> TypesOf(const fs::path& path) {
  static const std::regex opening("^namespace(?: ([\\w:]+))? \\{");
  static const std::regex definition(
      "^(?:struct|class|enum class|enum) (\\w+)(?: final)?(?: :[^:].*| \\{.*)?$");
  std::set<std::string> types;
  std::vector<std::string> scope;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, opening)) {
      scope.push_back(match[1]);
    } else if (line.rfind("}  // namespace", 0) == 0 && !scope.empty()) {
      scope.pop_back();
    } else if (std::regex_match(line, match, definition) &&
               std::find(scope.begin(), scope.end(), "") == scope.end()) {
      std::string name;
      for (const std::string& outer : scope) name += outer + "::";
      types.insert(name + match[1].str());
    }
  }
  return types;
}

// Two types of one name are one to the linker: it keeps the functions of either for both.
TEST(DependenciesTest, TypesOfANamespaceHaveNamesOfTheirOwn) {
  const fs::path root = CAFFE2_SOURCE_DIR;
  std::map<std::string, fs::path> file_of;
  for (const auto& [folder, allowed] : Allowed()) {
    for (const fs::path& path : FilesBelow(root / folder)) {
      for (const std::string& type : TypesOf(path)) {
        const auto [found, is_new] = file_of.emplace(type, path);
        EXPECT_TRUE(is_new) << type << " in " << path << " and in " << found->second;
      }
    }
  }
  EXPECT_GT(file_of.size(), 500);
}

}  // namespace
