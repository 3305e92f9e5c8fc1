// doppio completion: scripts for the shells that complete commands and flags.
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
  command "$1" --help 2>/dev/null | sed -n 's/^  --\(\[no\]\)\{0,1\}\([a-z0-9_]*\) .*/--\2/p'
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

constexpr char kMiddle[] = R"sh(    esac
  done
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

// Adds the branches of both `case` statements for a command and the commands below it. `path` is
// " data prepare".
void AddCommand(const CLI::App& command, const std::string& path, std::string* walk,
                std::string* words) {
  std::string known = ValuesOf(path);
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_group().empty()) continue;  // not in the help either
    known += " " + each->get_name();
    const std::string below = path + " " + each->get_name();
    *walk += "      \"" + below + "\") commands=\"" + below + "\" ;;\n";
    AddCommand(*each, below, walk, words);
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) known += " --" + name;
    for (const std::string& name : option->get_snames()) known += " -" + name;
  }
  const bool is_module = command.get_prefix_command();  // it knows its options itself
  if (is_module) {
    *words += "    \"" + path +
              "\") case \"${COMP_WORDS[COMP_CWORD]}\" in\n"
              "      -*) _doppio_reply \"$(_doppio_module_options \"${COMP_WORDS[0]}\"" +
              path + ")\" ;;\n      *) COMPREPLY=() ;;\n    esac ;;\n";
  } else if (!known.empty()) {
    *words += "    \"" + path + "\") _doppio_reply \"" + known.substr(1) + "\" ;;\n";
  }
}

std::string Script(const CLI::App& program, const std::string& shell) {
  std::string walk, words;
  AddCommand(program, "", &walk, &words);
  return "# Completion for " + shell + ": source <(doppio completion " + shell + ")\n" +
         (shell == "zsh" ? kZsh : "") + (kStart + 1) + walk + kMiddle + words + kEnd + kPrograms;
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
