// doppio: one program with sub-commands. Each is a file in examples/doppio.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "caffe2/core/closest_word.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/version.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/help_format.h"

namespace caffe2 {
namespace {

using Words = std::vector<std::string>;
const auto kAll = [](const CLI::App*) { return true; };  // also the commands that were not given

std::string DidYouMean(const std::string& word, const Words& known) {
  const std::string closest = ClosestWord(word, known);
  return closest.empty() ? "" : "; do you mean " + closest + "?";
}

Words NamesOf(const std::vector<const CLI::App*>& commands) {
  Words names;
  for (const CLI::App* each : commands) {
    if (!each->get_group().empty()) names.push_back(each->get_name());
  }
  return names;
}

Words OptionsOf(const CLI::App& command) {
  Words names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// The innermost sub-command that the words name, and its name with the outer ones: "data prepare".
std::pair<const CLI::App*, std::string> Chosen(const CLI::App& program) {
  const CLI::App* command = &program;
  std::string path;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands()[0];
    path += (path.empty() ? "" : " ") + command->get_name();
  }
  return {command, path};
}

// "data prepare" for "prepare"; "" if no command has such a sub-command.
std::string PathTo(const std::string& command, const CLI::App& program) {
  for (const CLI::App* outer : program.get_subcommands(kAll)) {
    for (const CLI::App* each : outer->get_subcommands(kAll)) {
      if (each->get_name() == command) return outer->get_name() + " " + command;
    }
  }
  return "";
}

// What does the work of a command that people look for here; "" if that is not known.
std::string HintOn(const std::string& command, const CLI::App& program) {
  if (command == "evaluate" || command == "test") {
    return "use resnet50_trainer --evaluate --load_model_path M.mdl --test_data DATA";
  }
  if (command == "export") return "use doppio convert M.mdl M.onnx; trainers save .mdl files";
  if (command == "list" || command == "ls") {
    return "doppio runs lists runs, doppio train --help recipes";
  }
  const std::string path = PathTo(command, program);
  if (!path.empty()) return "use doppio " + path;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const bool own_program =
      command.find('/') == std::string::npos && std::filesystem::is_regular_file(folder / command);
  return own_program ? command + " is a program of its own: " + command + " --help" : "";
}

// Says what a word that cannot be parsed may have meant. CLI11 only says that it was not expected.
[[noreturn]] void RefuseWord(const CLI::App& program, const std::string& word) {
  const auto [command, path] = Chosen(program);
  const Words names = NamesOf(command->get_subcommands(kAll));
  const std::string help = " (see doppio " + (path.empty() ? "" : path + " ") + "--help)";
  const std::string start = path.empty() ? "" : path + ": ";
  if (word[0] != '-' && !names.empty()) {
    const std::string hint = path.empty() ? HintOn(word, program) : "";
    if (!hint.empty()) ThrowUsage("there is no command ", word, ": ", hint);
    ThrowUsage(start, "there is no command ", word, DidYouMean(word, names), help);
  }
  const std::string name = word.substr(0, word.find('='));
  if (word[0] == '-') {
    ThrowUsage(start, "unknown option ", name, DidYouMean(name, OptionsOf(*command)), help);
  }
  ThrowUsage(start, "unexpected argument \"", word, "\"",
             path == "run" ? ": write the command of the shards after --" : "", help);
}

// Refuses an option that the command does not know. To be called when the parser reports another
// error, which a mistyped option may have caused: an option is missing, or a value is left over.
void RefuseUnknownOption(const CLI::App& program) {
  const CLI::App* command = Chosen(program).first;
  if (command->get_allow_extras() || command->get_prefix_command()) return;
  for (const std::string& word : program.remaining(/*recurse=*/true)) {
    if (word.size() > 1 && word[0] == '-') RefuseWord(program, word);
  }
}

// Says which commands there are.
[[noreturn]] void RefuseNothing(const CLI::App& program) {
  const auto [command, path] = Chosen(program);
  std::string known;
  for (const std::string& name : NamesOf(command->get_subcommands(kAll))) {
    known += (known.empty() ? "" : ", ") + name;
  }
  ThrowUsage(path.empty() ? "" : path + ": ", "a command is missing (", known, "; see doppio ",
             path.empty() ? "" : path + " ", "--help)");
}

// "help data prepare" as "data prepare --help". Throws UsageError for what is no command.
Words CallForHelp(const CLI::App& program, const Words& words) {
  Words call(words.begin() + 1, words.end());
  std::erase_if(call, [](const auto& word) { return word == "--help" || word == "-h"; });
  const CLI::App* command = &program;
  for (const std::string& word : call) {
    const auto below = command->get_subcommands(kAll);
    const auto named = std::find_if(below.begin(), below.end(),
                                    [&](const CLI::App* each) { return each->get_name() == word; });
    if (named == below.end()) {
      ThrowUsage("help: there is no command ", word, DidYouMean(word, NamesOf(below)),
                 " (see doppio --help)");
    }
    command = *named;
  }
  call.emplace_back("--help");
  return call;
}

// By what people do.
void SortIntoGroups(CLI::App* program) {
  const std::vector<std::pair<std::string, Words>> groups = {
      {"Run", {"train", "run", "top", "runs", "clean"}},
      {"Data", {"data"}},
      {"Results", {"report", "compare", "predict", "convert", "inspect", "quantize"}},
      {"Machine", {"doctor"}},
      {"Help", {"help", "completion"}},
  };
  for (const auto& [group, commands] : groups) {
    for (const std::string& name : commands) program->get_subcommand(name)->group(group);
  }
}

// Parses the words before "--". Returns the action, which is empty after --help and --version.
Action Parse(Words words, const Words& command) {
  CLI::App program("Doppio " + Version() + ": trains nets on several shards.", "doppio");
  Action action;
  // A word after a command is never another one: it may be a value for a trainer.
  program.require_subcommand(0, 1);
  program.formatter(std::make_shared<HelpFormat>());
  program.set_help_flag("-h,--help", "print this help");
  program.set_version_flag("--version",
                           "doppio, Doppio " + VersionAndCommit() + "\n" + BuildOptions(),
                           "print the version, the commit and the options of the build");
  AddTrainCommand(&program, &action);
  AddRunCommand(command, &program, &action);
  AddShardCommand(command, &program, &action);
  AddStoreCommands(&program, &action);
  AddDataCommand(&program, &action);
  AddReportCommand(&program, &action);
  AddCompareCommand(&program, &action);
  AddPredictCommand(command, &program, &action);
  AddPythonCommands(&program, &action);
  AddDoctorCommand(&program, &action);
  program.add_subcommand("help", "show the help of a command: doppio help data prepare");
  AddCompletionCommand(&program, &action);
  SortIntoGroups(&program);
  if (!words.empty() && words[0] == "help") words = CallForHelp(program, words);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    program.parse(words);
  } catch (const CLI::Success& asks_for_text) {
    program.exit(asks_for_text);
    return nullptr;
  } catch (const CLI::ExtrasError&) {
    RefuseWord(program, program.remaining(/*recurse=*/true).at(0));
  } catch (const UsageError&) {  // of a validator
    RefuseUnknownOption(program);
    throw;
  } catch (const CLI::ParseError& error) {
    RefuseUnknownOption(program);
    const std::string path = Chosen(program).second;
    const std::string start = path.empty() ? "" : path + ": ";
    ThrowUsage(start, error.what(), " (see doppio ", path.empty() ? "" : path + " ", "--help)");
  }
  if (action == nullptr) RefuseNothing(program);
  return action;
}

int Main(int argc, char** argv) {
  const Words all(argv + 1, argv + argc);
  const auto dashes = std::find(all.begin(), all.end(), "--");
  const Words command(dashes == all.end() ? dashes : dashes + 1, all.end());
  const Action action = Parse({all.begin(), dashes}, command);
  return action ? action() : 0;
}

}  // namespace
}  // namespace caffe2

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  return caffe2::RunCaught("doppio", [&] { return caffe2::Main(argc, argv); });
}
