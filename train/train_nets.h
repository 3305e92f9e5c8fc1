// The nets of a training run, built from its options.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/graph/data_parallel.h"
#include "caffe2/graph/training_pipeline.h"
#include "caffe2/model/model_helper.h"
#include "train/input.h"
#include "train/moving_average.h"
#include "train/options.h"

namespace caffe2 {

// The nets of one shard, and the names of the blobs in them that a run reads or saves. The names of
// a replica's blobs begin with the scope of its device ("cpu_0/"); "stripped" names are without it.
struct TrainNets {
  NetDef init;       // fillers and the reader
  NetDef broadcast;  // makes common worlds; sends shard 0's parameters and optimizer state to all
  NetDef train;      // one iteration
  // The optimizer, if parameter servers run it (train/server_nets.h); otherwise it is in `train`.
  NetDef update;
  NetDef average;         // local SGD: averages the shards' parameters; otherwise without operators
  MovingAverageNets ema;  // the moving average of the model, with ema_decay

  std::vector<std::string> scopes;           // of the replicas of this shard: "gpu_0/", "gpu_1/"
  std::string scope;                         // the first of them
  std::vector<std::string> params;           // stripped; weights and biases
  std::vector<std::string> trained;          // the params with gradients (--freeze)
  std::vector<std::string> computed_params;  // stripped; running statistics
  // Full names, of the first replica, in the order of `params`, "" for frozen ones; only with
  // parameter servers.
  std::vector<std::string> gradients;
  std::vector<std::string> optimizer_state;  // full names, of the first replica and of no replica
  std::string reader;                        // "" for synthetic data
  // Full names, of the first replica. top5 is "" for few labels.
  std::string loss, accuracy, accuracy_top5, learning_rate;
  PreparedTraining prepared;  // of `train`, for PlaceTraining

  // The running statistics, and their moving averages, of each replica (stripped names).
  std::vector<std::string> AllStatistics() const;
};

// Builds the nets; with parameter servers, a worker's nets. `kind` is the kind of the records of
// the training database (unused for synthetic data). Throws EnforceNotMet for options that describe
// no model.
TrainNets BuildTrainNets(const TrainOptions& options, RecordKind kind);

// The passes of a run.
TrainingPasses PassesOf(const TrainOptions& options);

// The network in test mode. It reads parameters (stripped names) that exist already.
struct InferenceNets {
  NetDef init;  // the reader, if there is one
  NetDef net;
  std::vector<std::string> params;  // including the running statistics
  std::string softmax;              // float {batch, labels}
  std::string label;                // int32 {batch}; "" for a predictor
};

// Places the blobs of `nets.train` in memory that they share (PlaceTraining); gradients for
// parameter servers and what a run reports stay readable. The parameters must exist. Logs the
// bytes.
void PlaceTrainNet(const TrainNets& nets, Workspace* ws);

// Adds `iterations` to the iteration counter of the learning rate schedule.
void ShiftLearningRate(int64_t iterations, NetDef* train);

// The network with the images and labels of the test database as input.
InferenceNets BuildTestNets(const TrainOptions& options, RecordKind kind);
// The network from the external input "data" to "softmax".
InferenceNets BuildPredictorNets(const TrainOptions& options);

inline constexpr char kStoreHandler[] = "store_handler";
inline constexpr char kTestReader[] = "test_reader";

}  // namespace caffe2
