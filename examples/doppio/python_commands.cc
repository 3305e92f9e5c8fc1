// doppio convert, inspect and quantize: modules of the Python package, under the program's name.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "caffe2/core/usage_error.h"
#include "caffe2/utils/version.h"
#include "examples/doppio/commands.h"

namespace caffe2 {
namespace {

// Runs main(words, name) of a module. What a bare "python -m" says about a missing package names no
// way out.
constexpr char kStart[] = R"(
import importlib, sys
name, module = sys.argv[1:3]
try:
    main = importlib.import_module(module).main
except ImportError as error:
    print(f"{name}: needs the Python package of Doppio, which {sys.executable} cannot import "
          f"({error}): install it there with pip, or name another interpreter in DOPPIO_PYTHON",
          file=sys.stderr)
    sys.exit(71)
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(main(sys.argv[3:], name))
)";

// Lets Python find the package of a build folder, which lies beside the programs.
void AddBuiltPackage() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const auto packages = program.parent_path().parent_path() / "python";
  if (!std::filesystem::exists(packages / "caffe2" / "python" / "core.py")) return;
  const char* others = std::getenv("PYTHONPATH");
  const std::string path =
      others == nullptr ? packages.string() : MakeString(others, ":", packages.string());
  setenv("PYTHONPATH", path.c_str(), 1);
}

// Replaces this process.
[[noreturn]] void RunModule(const std::string& name, const std::string& module,
                            const std::vector<std::string>& words) {
  const char* chosen = std::getenv("DOPPIO_PYTHON");
  const std::string python = chosen == nullptr || *chosen == '\0' ? "python3" : chosen;
  AddBuiltPackage();
  std::vector<std::string> all = {python, "-c", kStart, "doppio " + name, module};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  ThrowUsage(name, ": cannot start the Python interpreter ", python, " (", std::strerror(errno),
             "): name one that has the Python package of Doppio in DOPPIO_PYTHON");
}

void AddModule(CLI::App* program, Action* action, const std::string& name,
               const std::string& module, const std::string& description) {
  CLI::App* command = program->add_subcommand(name, description);
  command->set_help_flag();  // the module's own help, and all words are for it
  command->prefix_command();
  command->callback([command, action, name, module] {
    *action = [name, module, words = command->remaining()]() -> int {
      if (words == std::vector<std::string>{"--version"}) {
        std::printf("doppio %s, Doppio %s\n%s\n", name.c_str(), VersionAndCommit().c_str(),
                    BuildOptions().c_str());
        return 0;
      }
      RunModule(name, module, words);
    };
  });
}

}  // namespace

void AddPythonCommands(CLI::App* program, Action* action) {
  AddModule(program, action, "convert", "caffe2.python.convert.convert_command",
            "turn a model into another format: doppio convert SOURCE TARGET");
  AddModule(program, action, "inspect", "caffe2.python.convert.inspect_command",
            "show the layers of a model: doppio inspect MODEL [--svg net.svg]");
  AddModule(program, action, "quantize", "caffe2.python.convert.quantize_command",
            "make a model of 8 bits: doppio quantize MODEL --calibration_data DB|FOLDER");
}

}  // namespace caffe2
