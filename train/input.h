// The input side of the nets: image records from a database, or synthetic images.
#pragma once

#include <string>

#include "caffe2/model/model_helper.h"
#include "db/record.h"
#include "train/options.h"

namespace caffe2 {

// The value of --train_data that stands for random images.
inline constexpr char kSyntheticData[] = "null";

using db::RecordKind;

// The kind of a database's records, from the first one. Throws IoError or EnforceNotMet, naming the
// database, if it cannot be opened as `db_type`, is empty, or holds records of unknown kind.
RecordKind RecordKindOf(const std::string& db_type, const std::string& source);

// Adds to the model's init net the reader of a database, blob `reader`, of the records
// shard_id, shard_id + num_shards, ...
void AddReader(ModelHelper* model, const std::string& reader, const std::string& source,
               const TrainOptions& options, bool train);

// Adds the input of one replica to the model, on its device: blobs "data" ({batch, side, side,
// channels} for NHWC, of the model's compute type) and "label" ({batch} int32) under the name
// scope, from the reader, or synthetic ones made once in the init net. Augments (random crop,
// mirror) unless the model is a test model. Returns the blob of images.
std::string AddImageInput(ModelHelper* model, const std::string& reader, RecordKind kind,
                          int64_t batch, const TrainOptions& options);
std::string AddSyntheticInput(ModelHelper* model, int64_t batch, const TrainOptions& options);

}  // namespace caffe2
