// The trainers' flags --recipe and --dry_run. This header defines flags, so only the .cc file with
// a program's main includes it.
#pragma once

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "caffe2/utils/flag_words.h"
#include "caffe2/utils/program_help.h"
#include "examples/observe_flags.h"
#include "train/observe/job_progress.h"
#include "train/recipes.h"
#include "train/time_estimate.h"

DEFINE_string(
    recipe, "",
    "a set of flags that trains a network well on a data set, which `doppio train --help` "
    "lists; other flags override it; empty: none");
DEFINE_bool(dry_run, false,
            "print all settings and where they come from, and how long the run would take; do not "
            "train");

namespace caffe2 {

// A line for each flag that has its default value (`of_defaults`), or for each flag whose value
// comes from elsewhere.
inline std::string SettingLines(bool of_defaults) {
  std::string text;
  for (const auto& [name, value] : FlagValues(/*only_given=*/false)) {
    const std::string source = SourceOfFlag(name);
    if ((source == "default") != of_defaults) continue;
    std::string line = "  " + name;
    line.resize(std::max<size_t>(line.size() + 1, 28), ' ');
    line += FlagValueText(gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type, value);
    if (!of_defaults) {
      line.resize(std::max<size_t>(line.size() + 1, 56), ' ');
      line += source;
    }
    text += line + "\n";
  }
  return text;
}

// The length of the run, in iterations and time.
inline void PrintLength(const TrainOptions& options, const std::function<int()>& stop) {
  constexpr double kMeasuredSeconds = 10;
  if (options.schedule.evaluate) return;
  const TrainOptions whole = WithEpochSize(options);
  std::printf("Run: %d %s, %lld images in a batch of all, %lld iterations in an epoch\n",
              whole.shards.num_shards, whole.shards.num_shards == 1 ? "shard" : "shards",
              static_cast<long long>(whole.BatchOfAllShards()),
              static_cast<long long>(whole.EpochIterations()));
  if (options.shards.HasServers()) {
    std::printf("Time: no estimate with --param_servers\n");
    return;
  }
  std::fflush(stdout);
  FLAGS_minloglevel = google::GLOG_ERROR;  // the run that is measured is stopped, which is no news
  const TimeEstimate estimate = EstimateTime(options, kMeasuredSeconds, stop);
  if (estimate.measured == 0) return;  // a signal
  std::printf(
      "Time: %s for %lld iterations of %.3g s, measured over %lld on this shard alone; "
      "without tests, saves and exchanges between shards\n",
      DurationText(estimate.Seconds()).c_str(), static_cast<long long>(estimate.iterations),
      estimate.iteration_seconds, static_cast<long long>(estimate.measured));
}

// Prints the output of --dry_run to stdout, on shard 0 only.
inline void PrintDryRun(const TrainOptions& options, const std::function<int()>& stop) {
  if (options.shards.shard_id != 0) return;
  std::printf("Settings that are given:\n%s", SettingLines(/*of_defaults=*/false).c_str());
  std::printf("Defaults:\n%s", SettingLines(/*of_defaults=*/true).c_str());
  if (!FLAGS_recipe.empty()) {
    const Recipe& recipe = FindRecipe(FLAGS_recipe);
    std::printf("Recipe %s: %s; %s\n", recipe.name, recipe.what, recipe.reached);
  }
  PrintLength(options, stop);
}

}  // namespace caffe2
