// The CUDA version of an operator stands beside its CPU version, under the same stem
// (operators/README.md): relu_op_cuda.cc beside relu_op.cc. The tests have the same stem in the
// mirror folder: tests/operators/activation/relu_op_test.cc.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// CUDA operators that stand elsewhere -> why.
const std::map<std::string, std::string>& Exceptions() {
  static const std::map<std::string, std::string> exceptions = {
      {"HostFallback", "stands for the operators that have no CUDA version"},
      {"CopyCPUToGPU", "has no CPU version"},
      {"CopyGPUToCPU", "has no CPU version"},
  };
  return exceptions;
}

// Operator type -> the files that register it (for an engine each), relative to the root of the
// tree.
struct Registrations {
  std::map<std::string, std::set<std::string>> cpu, cuda;
};

// The text of a file without its macros, whose parameters are no types.
std::string TextOf(const fs::path& path) {
  static const std::regex macro("#define([^\n]*\\\\\n)*[^\n]*");
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return std::regex_replace(text, macro, "");
}

bool IsOfCuda(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".cu" || name.find("_cuda.") != std::string::npos;
}

// The .cc and .cu files below root/operators and root/distributed.
std::vector<fs::path> OperatorSources(const fs::path& root) {
  std::vector<fs::path> sources;
  for (const char* folder : {"operators", "distributed"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() == ".cc" || path.extension() == ".cu") sources.push_back(path);
    }
  }
  return sources;
}

// What these sources register: by REGISTER_CPU_OPERATOR and the like, or by a macro of their own
// that takes the type, as REGISTER_POOL does.
Registrations ReadRegistrations(const fs::path& root) {
  static const std::regex registration("\\bREGISTER_(\\w+)\\(\\s*(\\w+)");
  Registrations found;
  for (const fs::path& path : OperatorSources(root)) {
    const std::string text = TextOf(path), file = fs::relative(path, root).string();
    for (std::sregex_iterator it(text.begin(), text.end(), registration), end; it != end; ++it) {
      if ((*it)[1] == "GRADIENT") continue;
      (IsOfCuda(path) ? found.cuda : found.cpu)[(*it)[2]].insert(file);
    }
  }
  return found;
}

// "operators/activation/relu_op" of relu_op.cc and relu_op_cuda.cc there.
std::string StemOf(const std::string& file) {
  return std::regex_replace(file, std::regex("(_cuda)?[.]\\w+$"), "");
}

// A line for each CUDA operator that has no CPU version of its stem.
std::vector<std::string> MisplacedOperators(const Registrations& registrations) {
  std::vector<std::string> misplaced;
  for (const auto& [type, files] : registrations.cuda) {
    std::set<std::string> cpu_stems;
    if (const auto cpu = registrations.cpu.find(type); cpu != registrations.cpu.end()) {
      for (const std::string& file : cpu->second) cpu_stems.insert(StemOf(file));
    }
    for (const std::string& file : files) {
      if (cpu_stems.count(StemOf(file))) continue;
      std::string line = type + " is registered in " + file + ", but on the CPU in";
      for (const std::string& stem : cpu_stems) line += " " + stem + ".cc";
      misplaced.push_back(cpu_stems.empty() ? line + " no file" : line);
    }
  }
  return misplaced;
}

TEST(OperatorFilesTest, CudaVersionsStandBesideCpuVersions) {
  Registrations registrations = ReadRegistrations(CAFFE2_SOURCE_DIR);
  EXPECT_GT(registrations.cuda.size(), 400);
  Registrations excepted;
  for (const auto& [type, reason] : Exceptions()) {
    const auto found = registrations.cuda.extract(type);
    if (found) excepted.cuda[found.key()] = found.mapped();
  }
  for (const std::string& line : MisplacedOperators(registrations)) ADD_FAILURE() << line;
  excepted.cpu = registrations.cpu;
  EXPECT_EQ(MisplacedOperators(excepted).size(), Exceptions().size())
      << "an exception is not needed";
}

// A new folder for a tree with distributed and the family operators/pool.
fs::path MakeTree() {
  const fs::path root =
      fs::temp_directory_path() / ("operator_files_test." + std::to_string(getpid()));
  fs::create_directories(root / "operators" / "pool");
  fs::create_directories(root / "distributed");
  return root;
}

// Operator sources without a test file -> why.
const std::map<std::string, std::string>& Untested() {
  static const std::map<std::string, std::string> untested = {
      {"elementwise/binary_op",
       "registers nothing; the tests of operators of two numbers check it"},
      {"elementwise/unary_op", "registers nothing; the tests of functions of one number check it"},
  };
  return untested;
}

// "pool/pool_op" for each file FOLDER/pool/pool_op`end`.
std::set<std::string> OperatorStems(const fs::path& folder, const std::string& end) {
  const std::regex file("(\\w+/\\w+_op)" + end);
  std::set<std::string> stems;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (std::smatch match; std::regex_match(name, match, file)) stems.insert(match[1]);
  }
  return stems;
}

// The stem of each operator source without a test file, and of each test file without a source ->
// what is wrong.
std::map<std::string, std::string> UnpairedTests(const fs::path& root) {
  const std::set<std::string> sources = OperatorStems(root / "operators", "[.]cc");
  const std::set<std::string> tests = OperatorStems(root / "tests" / "operators", "_test[.]cc");
  std::map<std::string, std::string> unpaired;
  for (const std::string& stem : sources) {
    if (!tests.count(stem)) unpaired[stem] = "has no tests/operators/" + stem + "_test.cc";
  }
  for (const std::string& stem : tests) {
    if (!sources.count(stem))
      unpaired[stem] = "has tests, but there is no operators/" + stem + ".cc";
  }
  return unpaired;
}

TEST(OperatorFilesTest, TestsHaveTheStemsOfTheirOperators) {
  std::map<std::string, std::string> unpaired = UnpairedTests(CAFFE2_SOURCE_DIR);
  for (const auto& [stem, reason] : Untested()) {
    EXPECT_EQ(unpaired.erase(stem), 1) << "no exception is needed for " << stem;
  }
  for (const auto& [stem, problem] : unpaired) {
    ADD_FAILURE() << stem << " " << problem;
  }
}

TEST(OperatorFilesTest, FindsASourceWithoutTestsAndTestsWithoutASource) {
  const fs::path root = MakeTree();
  for (const char* file :
       {"operators/pool/pool_op.cc", "operators/pool/lp_pool_op.cc",
        "tests/operators/pool/pool_op_test.cc", "tests/operators/pool/roi_op_test.cc",
        "tests/operators/pool/pool_kernels_test.cc"}) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "\n";
  }
  const std::map<std::string, std::string> found = UnpairedTests(root);
  fs::remove_all(root);
  EXPECT_EQ(found, (std::map<std::string, std::string>{
                       {"pool/lp_pool_op", "has no tests/operators/pool/lp_pool_op_test.cc"},
                       {"pool/roi_op", "has tests, but there is no operators/pool/roi_op.cc"}}));
}

TEST(OperatorFilesTest, FindsAMisplacedOperator) {
  const fs::path root = MakeTree();
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(root / "operators" / "pool" / name) << text;
  };
  std::ofstream(root / "distributed" / "sum_op.cc") << "REGISTER_CPU_OPERATOR(SumShards, Sum);\n";
  std::ofstream(root / "distributed" / "world_op_cuda.cc")
      << "REGISTER_CUDA_COLLECTIVE(SumShards, Sum);\n";
  write("pool_op.cc",
        "#define REGISTER_POOL(name, kind) \\\n  REGISTER_CPU_OPERATOR(name, Pool<kind>)\n"
        "REGISTER_POOL(MaxPool, kMax);\nREGISTER_GRADIENT(LpPool, GetLpPoolGradient);\n");
  write("pool_op_cuda.cc",
        "REGISTER_CUDA_OPERATOR(MaxPool, Pool);\nREGISTER_CUDA_OPERATOR(\n    LpPool, LpPool);\n");
  write("lp_pool_op.cc", "REGISTER_CPU_OPERATOR(LpPool, LpPool);\n");
  write("roi_op_cuda.cc", "REGISTER_CUDA_OPERATOR(RoIPool, RoIPool);\n");
  const std::vector<std::string> found = MisplacedOperators(ReadRegistrations(root));
  fs::remove_all(root);
  EXPECT_EQ(found, (std::vector<std::string>{
                       "LpPool is registered in operators/pool/pool_op_cuda.cc, but on the CPU in "
                       "operators/pool/lp_pool_op.cc",
                       "RoIPool is registered in operators/pool/roi_op_cuda.cc, but on the CPU in "
                       "no file",
                       "SumShards is registered in distributed/world_op_cuda.cc, but on the CPU in "
                       "distributed/sum_op.cc"}));
}

}  // namespace
