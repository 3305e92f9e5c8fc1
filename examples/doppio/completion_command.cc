// doppio completion: scripts for the shells that complete commands and flags.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "examples/doppio/commands.h"
#include "examples/doppio/data/kinds.h"
#include "train/recipes.h"

namespace caffe2 {
namespace {

// The flags of a program come from its --help when they are asked for, so they are always its own.
constexpr char kStart[] = R"sh(
_doppio_flags() {
  command "$@" --help 2>/dev/null | sed -n 's/^  --\(\[no\]\)\{0,1\}\([a-z0-9_]*\) .*/--\2/p'
}
# The options of a module of Python.
_doppio_module_options() {
  command "$1" "$2" --help 2>/dev/null | grep -o '^  \(-[a-z], \)\{0,1\}--[a-z_]*' | grep -o '\--.*'
}
_doppio_reply() {
  local word
  COMPREPLY=()
  for word in $1; do
    case "$word" in
      "${COMP_WORDS[COMP_CWORD]}"*) COMPREPLY+=("$word") ;;
    esac
  done
}
# The flags of the trainer that doppio train would start.
_doppio_trainer_flags() {
  local word flag="" folder=""
  case "$1" in */*) folder="${1%/*}/" ;; esac
  for word in "${COMP_WORDS[@]}"; do
    case "$flag$word" in
      *--network|*--network=*|--recipemnist*|--demomnist*|*--recipe=mnist*|*--demo=mnist*)
        _doppio_flags "${folder}mnist_trainer"
        return ;;
    esac
    [ "$word" = "=" ] || flag="$word"
  done
  _doppio_flags "${folder}resnet50_trainer"
}
_doppio_program() {
  case "${COMP_WORDS[COMP_CWORD]}" in
    -*) _doppio_reply "$(_doppio_flags "${COMP_WORDS[0]}")" ;;
    *) COMPREPLY=() ;;
  esac
}
_doppio() {
  local i word commands=""
  for (( i = 1; i < COMP_CWORD; i++ )); do
    word="${COMP_WORDS[i]}"
    if [ "$word" = "--" ]; then
      if [ $(( i + 1 )) -lt "$COMP_CWORD" ]; then
        _doppio_reply "$(_doppio_flags "${COMP_WORDS[i + 1]}")"
      else
        COMPREPLY=( $(compgen -c -- "${COMP_WORDS[COMP_CWORD]}") )
      fi
      return
    fi
    case "$commands $word" in
)sh";

constexpr char kAfterWalk[] = R"sh(    esac
  done
  case "$commands ${COMP_WORDS[COMP_CWORD - 1]}" in
)sh";

constexpr char kAfterValues[] = R"sh(  esac
  case "$commands" in
)sh";

constexpr char kEnd[] = R"sh(  esac
}
complete -o default -F _doppio doppio
complete -o default -F _doppio_program)sh";

constexpr char kPrograms[] =
    " resnet50_trainer mnist_trainer predict make_mnist_db make_cifar_db make_image_db convert_db "
    "split_db db_throughput run_plan speed_benchmark\n";

constexpr char kZsh[] =
    "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u; }\n"
    "autoload -Uz bashcompinit && bashcompinit\n";

// Words that a command takes besides options.
std::string ValuesOf(const std::string& path) {
  std::string values;
  if (path == " data prepare") {
    for (const data::Kind& kind : data::Kinds()) values += " " + kind.name;
  }
  if (path == " train") {
    for (const Recipe& recipe : Recipes()) values += std::string(" ") + recipe.name;
  }
  if (path == " completion") values = " bash zsh";
  return values;
}

// The values of an option that takes one of a few words, which its type tells:
// "TEXT:{mnist,cifar}".
std::string ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}', begin);
  if (end == std::string::npos) return "";
  std::string choices = type.substr(begin + 1, end - begin - 1);
  std::replace(choices.begin(), choices.end(), ',', ' ');
  return choices;
}

// The branch for the word after an option. Without a reply the shell completes names of files.
std::string BranchOfValue(const CLI::Option& option, const std::string& path,
                          const std::string& name) {
  const bool takes_value = option.get_items_expected_max() > 0;
  if (!takes_value) return "";
  std::string choices = ChoicesOf(option);
  if (path == " train" && name == "--recipe") choices = ValuesOf(path).substr(1);
  return "    \"" + path + " " + name + "\") " +
         (choices.empty() ? "COMPREPLY=()" : "_doppio_reply \"" + choices + "\"") + "; return ;;\n";
}

// The parts of the script that follow from the commands.
struct Branches {
  std::string walk;    // finds the command among the words
  std::string values;  // the word after an option
  std::string words;   // any other word
};

std::string NamesOfCommands(const CLI::App& program) {
  std::string names;
  for (const CLI::App* each : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (!each->get_group().empty()) names += " " + each->get_name();
  }
  return names;
}

// Adds the branches for a command and the commands below it. `path` is " data prepare".
void AddCommand(const CLI::App& command, const std::string& path, Branches* branches) {
  std::string known = ValuesOf(path);
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_group().empty()) continue;  // not in the help either
    known += " " + each->get_name();
    const std::string below = path + " " + each->get_name();
    branches->walk += "      \"" + below + "\") commands=\"" + below + "\" ;;\n";
    AddCommand(*each, below, branches);
  }
  for (const CLI::Option* option : command.get_options()) {
    std::vector<std::string> names;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : names) {
      known += " " + name;
      branches->values += BranchOfValue(*option, path, name);
    }
  }
  if (path == " help") known = NamesOfCommands(*command.get_parent());
  if (path == " train") known += " $(_doppio_trainer_flags \"${COMP_WORDS[0]}\")";
  if (command.get_prefix_command()) {  // a program or module of its own: it knows its options
    const char* options = path == " predict" ? "_doppio_flags" : "_doppio_module_options";
    branches->words += "    \"" + path +
                       "\") case \"${COMP_WORDS[COMP_CWORD]}\" in\n"
                       "      -*) _doppio_reply \"$(" +
                       options + " \"${COMP_WORDS[0]}\"" + path +
                       ")\" ;;\n      *) COMPREPLY=() ;;\n    esac ;;\n";
  } else if (!known.empty()) {
    branches->words += "    \"" + path + "\") _doppio_reply \"" + known.substr(1) + "\" ;;\n";
  }
}

std::string Script(const CLI::App& program, const std::string& shell) {
  Branches branches;
  AddCommand(program, "", &branches);
  return "# Completion for " + shell + ": source <(doppio completion " + shell + ")\n" +
         (shell == "zsh" ? kZsh : "") + (kStart + 1) + branches.walk + kAfterWalk +
         branches.values + kAfterValues + branches.words + kEnd + kPrograms;
}

}  // namespace

void AddCompletionCommand(CLI::App* program, Action* action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = program->add_subcommand(
      "completion", "print a script that completes words: source <(doppio completion bash)");
  completion->footer("Put that line into ~/.bashrc, or with zsh into ~/.zshrc.");
  completion->add_option("shell", *shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}));
  // The tables of the program live only until its words are parsed.
  completion->callback([shell, program, action] {
    *action = [script = Script(*program, *shell)] {
      std::fputs(script.c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace caffe2
