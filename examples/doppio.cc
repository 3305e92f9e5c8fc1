// doppio: one program with sub-commands. Each is a file in examples/doppio.
#include <algorithm>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/closest_word.h"
#include "caffe2/utils/program.h"
#include "caffe2/utils/version.h"
#include "examples/doppio/commands.h"

namespace caffe2 {
namespace {

using Words = std::vector<std::string>;

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

// Says what a word that cannot be parsed may have meant. CLI11 only says that it was not expected.
[[noreturn]] void RefuseWord(const CLI::App& program, const std::string& word) {
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) {
    const Words names = NamesOf(program.get_subcommands([](const CLI::App*) { return true; }));
    ThrowUsage("there is no command ", word, DidYouMean(word, names), " (see doppio --help)");
  }
  const std::string name = word.substr(0, word.find('='));
  const std::string start = chosen[0]->get_name() + ": ";
  const std::string help = " (see doppio " + chosen[0]->get_name() + " --help)";
  if (word[0] == '-') {
    ThrowUsage(start, "unknown option ", name, DidYouMean(name, OptionsOf(*chosen[0])), help);
  }
  ThrowUsage(start, "unexpected argument \"", word, "\": write the command of the shards after --",
             help);
}

// Parses the words before "--". Returns the action, which is empty after --help and --version.
Action Parse(Words words, const Words& command) {
  CLI::App program("Doppio " + Version() + ": trains nets on several shards.", "doppio");
  Action action;
  program.set_version_flag("--version", "doppio, Doppio " + Version());
  AddRunCommand(command, &program, &action);
  AddShardCommand(command, &program, &action);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    program.parse(words);
  } catch (const CLI::Success& asks_for_text) {
    program.exit(asks_for_text);
    return nullptr;
  } catch (const CLI::ExtrasError&) {
    RefuseWord(program, program.remaining(/*recurse=*/true).at(0));
  } catch (const CLI::ParseError& error) {
    const auto chosen = program.get_subcommands();
    ThrowUsage(chosen.empty() ? "" : chosen[0]->get_name() + ": ", error.what());
  }
  CheckUsage(action != nullptr,
             "a command is missing, as in doppio run -n 4 -- COMMAND (see doppio --help)");
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
