// doppio data: makes databases from data sets, and looks at them.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "caffe2/core/exit_code.h"
#include "examples/doppio/commands.h"
#include "examples/doppio/data/inspect.h"
#include "examples/doppio/data/kinds.h"
#include "examples/doppio/data/prepare.h"
#include "examples/doppio/help_format.h"
#include "examples/doppio/html.h"
#include "train/atomic_file.h"

namespace caffe2 {
namespace {

struct InspectFlags {
  data::InspectOptions options;
  std::string part = "train", html;
  bool json = false;
};

int RunInspect(const InspectFlags& flags) {
  constexpr int kPictures = 12;
  data::InspectOptions options = flags.options;
  options.test_part = flags.part == "test";
  options.pictures = flags.html.empty() ? 0 : kPictures;
  if (!flags.html.empty()) CheckPagePath(flags.html);  // before hours of decoding
  const data::Inspection found = data::Inspect(options);
  if (!flags.html.empty()) WriteWholeFile(flags.html, data::InspectionHtml(found));
  const std::string text = flags.json ? data::InspectionJson(found) : data::InspectionText(found);
  std::fputs(text.c_str(), stdout);
  return static_cast<int>(found.num_damaged == 0 ? ExitCode::kDone : ExitCode::kBadData);
}

// Checks a whole number; `lowest` is 0 or 1.
CLI::Validator AtLeast(int64_t lowest) {
  const auto check = [lowest](const std::string& text) {
    const bool low = std::strtoll(text.c_str(), nullptr, 10) < lowest;
    return low ? MakeString(text, " is not a whole number from ", lowest, " on") : "";
  };
  return CLI::Validator(check, lowest == 0 ? "NONNEGATIVE" : "POSITIVE");
}

void AddPrepare(CLI::App* data, Action* action) {
  const auto options = std::make_shared<data::PrepareOptions>();
  CLI::App* prepare = data->add_subcommand(
      "prepare",
      "make databases from a data set: doppio data prepare mnist --input DIR --output DB");
  std::string kinds;
  for (const data::Kind& kind : data::Kinds()) {
    kinds += "\n  " + kind.name + ": " + kind.files + "; from " + kind.from;
  }
  prepare->footer(
      Examples({"doppio data prepare mnist --input mnist --output train_db --test_output test_db",
                "doppio data prepare folder --input photos --output photos_db --shuffle"}) +
      "\n\nNothing is downloaded. What --input must hold, and where it comes from:" + kinds +
      "\nA database appears when it is complete. If the command is interrupted, run it again: it "
      "goes on where it stopped. A database that exists already is compared.");
  prepare
      ->add_option("kind", options->kind,
                   "mnist, cifar10, cifar100, stl10, folder, imagenet-tar or webdataset")
      ->required()
      ->check([](const std::string& kind) {
        data::KindNamed(kind);  // throws before a missing --input is noticed
        return std::string();
      });
  prepare->add_option("--input", options->input, "folder or archive of the data set")->required();
  prepare->add_option("--output", options->output, "database of the training part to make");
  prepare->add_option("--test_output", options->test_output, "database of the test part to make");
  prepare->add_option("--db", options->db_type, "lmdb (default), leveldb or minidb");
  prepare
      ->add_option("--threads", options->threads,
                   "threads that decode images; default: one for each core")
      ->check(CLI::Range(1, 1024));
  prepare
      ->add_option("--scale", options->scale,
                   "store JPEGs whose shorter side has this length; default: the files as they "
                   "are")
      ->check(CLI::Range(1, 1 << 16));
  prepare->add_flag("--shuffle", options->shuffle, "store the records in random order");
  prepare->add_option("--seed", options->seed, "of that order; default: 0");
  prepare
      ->add_option("--max_bad_records", options->max_bad_records,
                   "leave out at most this many damaged images, each named; default: 0")
      ->check(AtLeast(0));
  prepare->callback([options, action] { *action = [options] { return data::Prepare(*options); }; });
}

void AddInspect(CLI::App* data, Action* action) {
  const auto flags = std::make_shared<InspectFlags>();
  CLI::App* inspect = data->add_subcommand(
      "inspect", "look at every record: doppio data inspect DB [--html out.html]");
  inspect->footer(
      Examples({"doppio data inspect train_db", "doppio data inspect photos --html photos.html",
                "doppio data inspect mnist --part test --json"}) +
      "\n\nThe exit status is 65 if records are damaged.");
  inspect->add_option("path", flags->options.path, "a database, or a data set as it is published")
      ->required();
  inspect->add_option("--db_type", flags->options.db_type,
                      "lmdb, leveldb, minidb, cifar, stl10, idx, images or tar; default: what the "
                      "files look like");
  inspect->add_option("--part", flags->part, "train (default) or test, of a path that holds both")
      ->check(CLI::IsMember({"train", "test"}));
  inspect
      ->add_option("--threads", flags->options.threads,
                   "threads that decode images; default: one for each core")
      ->check(CLI::Range(1, 1024));
  inspect
      ->add_option("--max_records", flags->options.max_records,
                   "look at the first ones only; default: all")
      ->check(AtLeast(1));
  inspect->add_option("--html", flags->html, "also write a page with pictures of each label");
  inspect->add_flag("--json", flags->json, "print JSON");
  inspect->callback([flags, action] { *action = [flags] { return RunInspect(*flags); }; });
}

}  // namespace

void AddDataCommand(CLI::App* program, Action* action) {
  CLI::App* data = program->add_subcommand("data", "make databases and look at them");
  AddPrepare(data, action);
  AddInspect(data, action);
}

}  // namespace caffe2
