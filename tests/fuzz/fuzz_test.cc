// Runs every fuzz target on its corpus and on mutations of it, always the same. An input that ends
// the program is left in the file finding_<target> of the temporary directory.
//
// CAFFE2_FUZZ_FACTOR multiplies the number of mutations, CAFFE2_FUZZ_SEED gives other ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "caffe2/core/logging.h"
#include "tests/fuzz/fuzz_target.h"

namespace caffe2::testing {
namespace {

std::string current_input;
std::string finding_path;

void KeepInput(int signal) {
  const int fd = open(finding_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  (void)!write(fd, current_input.data(), current_input.size());
  std::signal(signal, SIG_DFL);
  raise(signal);
}

int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoll(text);
}

std::vector<std::string> ReadCorpus(const std::string& name) {
  std::vector<std::string> files, inputs;
  const std::string folder = std::string(CAFFE2_SOURCE_DIR) + "/tests/fuzz/corpus/" + name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    std::ostringstream stream;
    stream << std::ifstream(file, std::ios::binary).rdbuf();
    inputs.push_back(stream.str());
  }
  return inputs;
}

// Changes an input in one to eight places, or joins it with another one.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string Mutate(const std::vector<std::string>& corpus) {
    std::string input = corpus[Below(corpus.size())];
    for (size_t i = Below(8) + 1; i > 0; --i) Change(corpus, &input);
    return input;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }

  void Change(const std::vector<std::string>& corpus, std::string* input) {
    static constexpr uint64_t kNumbers[] = {
        0,           1,          0x7f,       0x80,       0xff,
        0x7fff,      0x7fffffff, 0x80000000, 0xffffffff, ~uint64_t{0} >> 1,
        ~uint64_t{0}};
    const size_t size = input->size(), at = Below(size + 1),
                 n = Below(std::min<size_t>(size, 32) + 1);
    const std::string& other = corpus[Below(corpus.size())];
    switch (Below(7)) {
      case 0:
        if (at < size) (*input)[at] = static_cast<char>((*input)[at] ^ (1 << Below(8)));
        break;
      case 1:
        if (at < size) (*input)[at] = static_cast<char>(random_());
        break;
      case 2:
        input->erase(at, n);
        break;
      case 3:
        input->insert(at, input->substr(Below(size + 1), n));
        break;
      case 4:
        input->resize(at);
        break;
      case 5: {
        const uint64_t number = kNumbers[Below(std::size(kNumbers))];
        const size_t bytes = size_t{1} << Below(4);
        if (at + bytes <= size) std::memcpy(input->data() + at, &number, bytes);
        break;
      }
      default:
        *input = input->substr(0, at) + other.substr(Below(other.size() + 1));
    }
  }

  std::mt19937_64 random_;
};

class FuzzTest : public ::testing::TestWithParam<FuzzTarget> {
 protected:
  void SetUp() override {
    finding_path =
        (std::filesystem::temp_directory_path() / ("finding_" + GetParam().name)).string();
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      std::signal(signal, KeepInput);
    }
    FLAGS_minloglevel = google::FATAL;
  }
  void TearDown() override {
    FLAGS_minloglevel = google::INFO;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      std::signal(signal, SIG_DFL);
    }
  }
  // Fails the test for an exception that is no answer.
  void Run(const std::string& input) {
    current_input = input;
    try {
      GetParam().run(input);
    } catch (const std::exception& error) {
      std::ofstream(finding_path, std::ios::binary) << input;
      FAIL() << "not a caffe2::Error: " << error.what() << "; the input is in " << finding_path;
    }
  }
};

TEST_P(FuzzTest, AnswersItsCorpusAndMutations) {
  const std::vector<std::string> corpus = ReadCorpus(GetParam().name);
  ASSERT_FALSE(corpus.empty());
  for (const std::string& input : corpus) Run(input);
  Mutator mutator(static_cast<uint64_t>(FromEnvironment("CAFFE2_FUZZ_SEED", 1)));
  const int64_t count = GetParam().mutations * FromEnvironment("CAFFE2_FUZZ_FACTOR", 1);
  for (int64_t i = 0; i < count && !HasFatalFailure(); ++i) Run(mutator.Mutate(corpus));
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest, ::testing::ValuesIn(FuzzTargets()),
                         [](const auto& target) { return target.param.name; });

}  // namespace
}  // namespace caffe2::testing
