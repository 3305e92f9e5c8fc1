#include "train/odd_values.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/cpu_cores.h"
#include "caffe2/core/logging.h"
#include "train/run_settings.h"

namespace caffe2 {
namespace {

// The same values for pixels from 0 to 255, in the other order of colours.
std::string OnPixelScale(std::vector<float> values) {
  std::reverse(values.begin(), values.end());
  for (float& value : values) value = std::round(value * 2550.f) / 10.f;
  return CommaList(values);
}

bool InUnitRange(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v > 0 && v < 1; });
}

}  // namespace

std::string DoubtOnPixels(const std::vector<float>& mean, const std::vector<float>& std) {
  if (!InUnitRange(mean)) return "";
  std::string given = MakeString("--mean ", CommaList(mean), " looks like a value");
  std::string meant = MakeString("--mean ", OnPixelScale(mean));
  if (InUnitRange(std)) {
    given =
        MakeString("--mean ", CommaList(mean), " and --std ", CommaList(std), " look like values");
    meant += " --std " + OnPixelScale(std);
  }
  return MakeString(
      given,
      " for pixels from 0 to 1, red, green, blue. Here pixels go from 0 to 255, blue, "
      "green, red: write ",
      meant);
}

std::vector<std::string> OddValues(const TrainOptions& options) {
  constexpr int kThreadsOfCore = 4;
  std::vector<std::string> doubts;
  const std::string pixels = DoubtOnPixels(options.data.mean, options.data.std);
  if (!pixels.empty()) doubts.push_back(pixels);
  const double warmup = options.model.warmup_epochs;
  if (warmup > options.schedule.num_epochs && !options.schedule.evaluate) {
    doubts.push_back(MakeString("--warmup_epochs ", warmup, " is more than --num_epochs ",
                                options.schedule.num_epochs,
                                ": the learning rate never reaches its value"));
  }
  const OutputOptions& output = options.output;
  const bool starts_anew = output.load_model_path.empty() && !output.resume && !output.auto_resume;
  if (!options.model.freeze.empty() && starts_anew) {
    doubts.push_back(MakeString("--freeze ", CommaList(options.model.freeze),
                                " keeps parameters at their random start: --load_model_path names "
                                "a trained model"));
  }
  const int threads = options.shards.num_threads, cores = AvailableCores();
  if (threads > kThreadsOfCore * cores) {
    doubts.push_back(MakeString("--num_threads is ", threads, ", but this process has ", cores,
                                " cores: more threads than cores make it slower"));
  }
  return doubts;
}

}  // namespace caffe2
