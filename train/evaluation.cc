#include "train/evaluation.h"

#include <iomanip>
#include <sstream>

#include "caffe2/core/usage_error.h"
#include "train/input.h"

namespace caffe2 {
namespace {

constexpr int kTopK = 5;

}  // namespace

TrainOptions ForEvaluation(TrainOptions options) {
  OutputOptions& output = options.output;
  CheckUsage(!options.data.test_data.empty(),
             "--evaluate needs --test_data, the images to test, or --train_data and --holdout");
  CheckUsage(!output.auto_resume,
             "--evaluate needs a model that exists: use --resume instead of --auto_resume");
  CheckUsage(output.resume || !output.load_model_path.empty(),
             "--evaluate needs a model: --load_model_path, or --resume for the checkpoint ",
             output.checkpoint_path);
  CheckUsage(
      !output.finetune,
      "--evaluate and --finetune cannot be used together: the last layer would be untrained");
  options.data.train_data = kSyntheticData;
  options.data.check_coverage = false;
  options.schedule.epoch_size = options.schedule.batch_size * options.shards.num_shards;
  options.model.fuse_conv = "none";  // nothing is to be measured
  options.model.half_gradients = false;
  output.checkpoint_every = 0;
  output.checkpoint_on_stop = false;
  output.model_path = nullptr;
  output.keep_best = false;
  output.csv_path.clear();
  return options;
}

std::string DescribeEvaluation(const TrainOptions& options, const TestReport& report) {
  const OutputOptions& output = options.output;
  std::ostringstream text;
  text << std::setprecision(6) << "Evaluated "
       << (output.resume ? output.checkpoint_path : output.load_model_path) << ": accuracy "
       << report.accuracy;
  if (options.model.shape.num_labels > kTopK) text << ", top-5 accuracy " << report.accuracy_top5;
  text << ", loss " << report.loss << " (" << report.images << " images of "
       << options.data.test_data;
  if (options.data.holdout > 0)
    text << ", which --holdout " << options.data.holdout << " holds out";
  text << ")";
  return text.str();
}

}  // namespace caffe2
