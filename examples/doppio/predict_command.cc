// doppio predict: the program predict, which lies beside this one, under this program's name.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "caffe2/core/exit_code.h"
#include "examples/doppio/commands.h"

namespace caffe2 {
namespace {

constexpr char kDescription[] = "label pictures: doppio predict --model M.mdl PICTURE...";

// Replaces this process.
[[noreturn]] void RunPredict(const std::vector<std::string>& words) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predict";
  std::vector<std::string> all = {"doppio predict"};  // for its help and its errors
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  ThrowIoError(ExitCode::kSystem, "predict: cannot start ", program.string(), ": ",
               std::strerror(errno));
}

}  // namespace

void AddPredictCommand(const std::vector<std::string>& command, CLI::App* program, Action* action) {
  CLI::App* predict = program->add_subcommand("predict", kDescription);
  predict->set_help_flag();  // the program's own help, and all words are for it
  predict->prefix_command();
  predict->callback([&command, predict, action] {
    std::vector<std::string> words = predict->remaining();
    if (!command.empty()) words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    *action = [words]() -> int { RunPredict(words); };
  });
}

}  // namespace caffe2
