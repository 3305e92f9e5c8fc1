// doppio train: starts a trainer, by a recipe or not, alone or on several shards.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/exit_code.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/utils/temporary_file.h"
#include "db/data_set.h"
#include "db/source_info.h"
#include "distributed/launcher/launch_plan.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/help_format.h"
#include "train/input.h"
#include "train/recipes.h"

namespace caffe2 {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct TrainFlags {
  std::string recipe, demo, data;
  int num_shards = 0;  // 0: this process becomes the only one
};

fs::path ProgramNamed(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

std::vector<char*> Pointers(Words* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void Become(Words words) {
  execv(words[0].c_str(), Pointers(&words).data());
  ThrowIoError(ExitCode::kSystem, "cannot start ", words[0], ": ", std::strerror(errno));
}

// Runs a program to its end, and returns the status of waitpid.
int RunChild(Words words, bool shows_output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!shows_output) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, Pointers(&words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ThrowIoError(ExitCode::kSystem, "cannot start ", words[0], ": ", std::strerror(error));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The folder of digits that render_digits draws, for machines without MNIST. It stays for the next
// time.
fs::path DrawnDigits() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  const bool has_cache = cache != nullptr && *cache != '\0';
  CheckUsage(has_cache || (home != nullptr && *home != '\0'),
             "train: neither HOME nor XDG_CACHE_HOME says where to put the digits: name a folder "
             "with MNIST's files in --data");
  const fs::path folder =
      (has_cache ? fs::path(cache) : fs::path(home) / ".cache") / "doppio" / "drawn_digits";
  if (fs::exists(folder)) return folder;
  const fs::path drawn = TemporaryPath(folder.string());
  std::error_code error;
  fs::create_directories(drawn, error);
  if (error)
    ThrowIoError(ExitCode::kCannotWrite, "cannot make ", drawn.string(), ": ", error.message());
  const std::string program = ProgramNamed("render_digits");
  const int status =
      RunChild({program, "--output_dir=" + drawn.string(), "--train=20000", "--test=4000"},
               /*shows_output=*/true);
  if (status != 0) ThrowIoError(ExitCode::kSystem, program, " failed (see above)");
  fs::rename(drawn, folder, error);
  if (error) fs::remove_all(drawn);  // another process was first
  return folder;
}

// Where the demonstration has its images from.
std::string DemoData() {
  const char* mnist = std::getenv("MNIST_DIR");
  if (mnist != nullptr && *mnist != '\0') return mnist;
  const std::string drawn = DrawnDigits();
  std::fprintf(stderr,
               "doppio: train: DRAWN DIGITS in %s, not MNIST: accuracies do not compare; --data "
               "names a folder with MNIST's files\n",
               drawn.c_str());
  return drawn;
}

// The value that `words` give a flag; nullopt if they do not give it.
std::optional<std::string> ValueOf(const Words& words, const std::string& name) {
  std::optional<std::string> value;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t begin = words[i].find_first_not_of('-');
    if (begin == std::string::npos || begin == 0) continue;
    const size_t equals = words[i].find('=');
    if (words[i].substr(begin, equals - begin) != name) continue;
    const bool joined = equals != std::string::npos;
    value = joined ? words[i].substr(equals + 1) : i + 1 < words.size() ? words[i + 1] : "";
  }
  return value;
}

bool HasFlag(const Words& words, const std::string& name) {
  return ValueOf(words, name).has_value();
}

// The words and, before them, the lines of the file that --flagfile names among them.
Words WithFlagFile(const Words& words) {
  Words all;
  std::ifstream file(ValueOf(words, "flagfile").value_or(""));
  for (std::string line; std::getline(file, line);) all.push_back(line);
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

// The recipe that --recipe names, also in a file of flags; null if there is none.
const Recipe* RecipeOf(const std::string& named, const Words& words) {
  const std::string name =
      named.empty() ? ValueOf(WithFlagFile(words), "recipe").value_or("") : named;
  return name.empty() ? nullptr : &FindRecipe(name);
}

// The trainer that the flags are for, and the recipe.
Words TrainerOf(const Recipe* recipe, const Words& words) {
  if (recipe != nullptr) {
    return {ProgramNamed(recipe->program), std::string("--recipe=") + recipe->name};
  }
  const bool small = HasFlag(WithFlagFile(words), "network");
  return {ProgramNamed(small ? "mnist_trainer" : "resnet50_trainer")};
}

// What only the demonstration sets. Says where its model will be.
Words DemoFlags(int num_shards, const Words& words) {
  Words flags;
  // The batch of all shards stays as in the recipe.
  if (num_shards > 1) {
    flags.push_back("--batch_size=" + std::to_string(std::max(64 / num_shards, 1)));
  }
  const std::string prefix = ValueOf(words, "model_prefix").value_or("mnist_demo");
  if (!HasFlag(words, "model_prefix")) flags.push_back("--model_prefix=" + prefix);
  if (prefix.empty()) return flags;
  std::fprintf(
      stderr,
      "doppio: train: saves the model as %s-0001.mdl; to label a picture of a digit, white "
      "on black: predict --model %s PICTURE\n",
      prefix.c_str(), ShellQuote(prefix + "-0001.mdl").c_str());
  return flags;
}

// The number of labels of the training data; 0 if it is not known before the images are read.
int64_t NumLabelsOf(const std::string& data, const std::string& type) {
  if (data == kSyntheticData) return 0;
  const db::DataSet set = db::FindDataSet(data, type);
  if (set.type.empty()) return db::FindSourceInfo(type, data).num_labels;
  return set.train.empty() ? 0 : db::FindSourceInfo(set.type, set.train).num_labels;
}

// Calls `set` with the name and value of each flag that suits any data, for a trainer without a
// recipe.
template <typename Set>
void SetForAnyData(const std::string& data, const Words& given, const Set& set) {
  const auto network = ValueOf(given, "network");
  if (data != kSyntheticData) {
    set(network ? "num_examples" : "epoch_size", "0");
    set("shuffle", "");
  }
  const int64_t labels = HasFlag(given, "num_labels")
                             ? 0
                             : NumLabelsOf(data, ValueOf(given, "db_type").value_or("auto"));
  if (labels > 0) set("num_labels", std::to_string(labels));
  if (network) {
    set("model_prefix", "mnist_" + *network);
  } else {
    set("num_epochs", "90");
    set("file_store_path", ".");
  }
}

// What --data sets in place of the trainers' defaults, which are Caffe2's and MXNet's: models in
// the current folder, not in /tmp or none, and without a recipe, whatever suits any data. Leaves
// out what `words` give. Logs a line.
Words FlagsForData(const std::string& data, const Recipe* recipe, const Words& words) {
  const Words given = WithFlagFile(words);
  if (HasFlag(given, "evaluate")) return {};
  Words flags;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (HasFlag(given, name) || HasFlag(given, "no" + name)) return;
    flags.push_back("--" + name + (value.empty() ? "" : "=" + value));
  };
  if (recipe == nullptr) {
    SetForAnyData(data, given, set);
  } else if (std::string(recipe->program) == "mnist_trainer") {
    set("model_prefix", recipe->name);
  } else {
    set("file_store_path", ".");
    set("save_model_name", recipe->name);
  }
  std::string line;
  for (const std::string& flag : flags) line += " " + flag;
  if (!line.empty()) {
    std::fprintf(stderr, "doppio: train: %ssets%s\n", recipe == nullptr ? "no recipe, so it " : "",
                 line.c_str());
  }
  return flags;
}

// True if the trainer would look for a GPU in vain, although the words name no device.
bool LacksDevice(const Words& words) {
  const Words given = WithFlagFile(words);
  for (const char* flag : {"use_cpu", "nouse_cpu", "gpus", "num_gpus"}) {
    if (HasFlag(given, flag)) return false;
  }
  return NumDevices(CUDA) == 0;
}

// The flag that says which images tests take, for `data` that is trained on; "" for none. Says so
// if they are a part of the training images.
std::string TestFlag(const std::string& data, const Words& given) {
  if (data == kSyntheticData || HasFlag(given, "holdout") || HasFlag(given, "test_data")) return "";
  const db::DataSet set = db::FindDataSet(data, ValueOf(given, "db_type").value_or("auto"));
  const bool has_test_part = !set.type.empty() && !set.test.empty() && set.test != set.train;
  if (has_test_part || HasFlag(given, "evaluate")) return "--test_data=" + data;
  std::error_code error;
  if (!fs::exists(data, error) && set.type.empty()) return "";  // the trainer says so
  std::fprintf(stderr,
               "doppio: train: %s has no images for tests: --holdout=0.1 keeps a tenth of its "
               "images for them (--test_data DATA names others, --holdout 0 leaves tests out)\n",
               data.c_str());
  return "--holdout=0.1";
}

// Refuses the flags of doppio run, but for those that trainers have too.
void CheckNoRunFlags(const CLI::App& run, const Words& words) {
  const std::set<std::string> shared{"help", "log_dir", "num_shards", "run_id"};
  for (const CLI::Option* option : run.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      CheckUsage(shared.count(name) != 0 || !HasFlag(words, name), "train: --", name,
                 " is a flag of doppio run, which also starts a trainer: doppio run -n 2 --", name,
                 " ... -- mnist_trainer ...");
    }
  }
}

// `words` are flags of the trainer.
int Train(TrainFlags flags, const Words& words) {
  CheckUsage(flags.recipe.empty() || flags.demo.empty(),
             "train: --recipe and --demo cannot be used together");
  if (!flags.demo.empty()) flags.recipe = "mnist_lenet_fast";
  const Recipe* recipe = RecipeOf(flags.recipe, words);
  Words command = TrainerOf(recipe, words);
  if (flags.data.empty() && !flags.demo.empty() && !HasFlag(words, "train_data")) {
    flags.data = DemoData();
  }
  if (LacksDevice(words)) {
    std::fprintf(stderr, "doppio: train: trains on the CPU (--use_cpu): no GPU is available (%s)\n",
                 DeviceProblem(CUDA).c_str());
    command.emplace_back("--use_cpu");
  }
  if (!flags.data.empty()) {
    command.push_back("--train_data=" + flags.data);
    const std::string test = TestFlag(flags.data, WithFlagFile(words));
    if (!test.empty()) command.push_back(test);
  }
  if (!flags.data.empty() && flags.demo.empty()) {
    const Words settings = FlagsForData(flags.data, recipe, words);
    command.insert(command.end(), settings.begin(), settings.end());
  }
  if (!flags.demo.empty()) {
    const Words demo = DemoFlags(flags.num_shards, words);
    command.insert(command.end(), demo.begin(), demo.end());
  }
  command.insert(command.end(), words.begin(), words.end());
  const int refused = flags.num_shards == 0 ? 0 : CheckTrainerFlags(command);
  if (refused != 0) return refused;
  std::string line;
  for (const std::string& word : command) line += " " + ShellQuote(word);
  std::fprintf(stderr, "doppio: train: starts%s\n", line.c_str());
  if (flags.num_shards == 0) Become(command);
  Words run = {ProgramNamed("doppio"), "run", "-n", std::to_string(flags.num_shards), "--"};
  run.insert(run.end(), command.begin(), command.end());
  Become(run);
}

// Read when the help is asked for.
std::string TrainFooter() {
  std::string text = Examples({"doppio train --demo mnist",
                               "doppio train --recipe cifar10_resnet20 --data cifar-10-batches-bin",
                               "doppio train --data photos --model resnet18 --use_cpu",
                               "doppio train -n 2 --recipe mnist_lenet --data mnist --dry_run"}) +
                     "\n\nRecipes:\n";
  for (const Recipe& recipe : Recipes()) {
    text += MakeString("  ", recipe.name, ": ", recipe.what, "; ", recipe.reached, "\n");
  }
  return text +
         "All other flags are the trainer's and override the recipe; --dry_run prints them.\n"
         "--data saves models in the current folder. If it has no test part, a tenth of its "
         "images\n"
         "is kept for tests (--holdout). Without a recipe it trains on all others, shuffled, with\n"
         "the data's number of labels, for 90 epochs (resnet50_trainer).\n"
         "For options of doppio run: doppio run -n 2 --store URL -- mnist_trainer --recipe NAME "
         "...";
}

}  // namespace

int CheckTrainerFlags(std::vector<std::string> command) {
  std::error_code error;
  const auto is = [&](const char* program) {
    return fs::equivalent(command[0], ProgramNamed(program), error);
  };
  if (!is("mnist_trainer") && !is("resnet50_trainer")) return 0;
  command.insert(command.begin() + 1, "--version");  // ends the trainer once it has read all flags
  const int status = RunChild(command, /*shows_output=*/false);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

void AddTrainCommand(CLI::App* program, Action* action) {
  const auto flags = std::make_shared<TrainFlags>();
  CLI::App* train = program->add_subcommand(
      "train",
      "start a trainer: doppio train --recipe NAME --data DIRECTORY FLAGS...; without a recipe "
      "resnet50_trainer, or mnist_trainer if --network is given");
  train->allow_extras();
  train->footer(TrainFooter);
  train->add_option("--recipe", flags->recipe, "what to train, and how");
  train
      ->add_option("--demo", flags->demo,
                   "mnist: one epoch of LeNet on the MNIST files in --data or MNIST_DIR, or on "
                   "digits that are drawn")
      ->check(CLI::IsMember({"mnist"}));
  train->add_option("--data", flags->data,
                    "data set for --train_data and --test_data; if it has no test part, and "
                    "neither --test_data nor --holdout is given, --holdout is 0.1");
  train
      ->add_option("-n,--shards", flags->num_shards,
                   "number of shards, which doppio run starts on this machine")
      ->check(CLI::Range(1, 65536));
  train->callback([flags, program, train, action] {
    const std::vector<std::string> words = train->remaining();
    CheckUsage(
        !flags->recipe.empty() || !flags->demo.empty() || !flags->data.empty() || !words.empty(),
        "train: nothing says what to train: give --recipe NAME --data DATA, --demo mnist, or "
        "flags of resnet50_trainer, such as --data photos --model resnet18 --use_cpu (see "
        "doppio train --help)");
    CheckNoRunFlags(*program->get_subcommand("run"), words);
    *action = [flags, words] { return Train(*flags, words); };
  });
}

}  // namespace caffe2
