// Adds the input of the nets: image records from a database, or synthetic images.
#pragma once

#include <string>

#include "caffe2/model/model_helper.h"
#include "db/holdout.h"
#include "db/record.h"
#include "train/options.h"

namespace caffe2 {

// The value of --train_data for synthetic images.
inline constexpr char kSyntheticData[] = "null";

using db::RecordKind;

// The kind of the records of a database, found from the first one. Throws IoError or EnforceNotMet
// with the database's path if it cannot be opened as `db_type`, is empty, or has records of an
// unknown kind.
RecordKind RecordKindOf(const std::string& db_type, const std::string& source);

// The part of its database that a reader has: all of it without --holdout.
db::Holdout PartOf(const DataOptions& data, bool train);

// The number of records of a database, or of a part of it. Throws like db::CreateDB and
// db::NumHeldOut.
int64_t NumRecords(const std::string& db_type, const std::string& source,
                   const db::Holdout& holdout);
// db::RecordFingerprint of the database `source` of data.db_type; the source itself if it is empty
// or kSyntheticData. Keeps it in data.fingerprints. Not thread-safe.
std::string DataFingerprint(const DataOptions& data, const std::string& source);

// Adds an operator to the model's init net that makes the blob `reader`: the database reader of
// this shard.
void AddReader(ModelHelper* model, const std::string& reader, const std::string& source,
               const TrainOptions& options, bool train);

// Adds the input of one replica to the model, on the model's device: blobs "data" ({batch, side,
// side, channels} for NHWC, of the model's compute type) and "label" (int32 {batch}) under the name
// scope. Augments (random crop, mirror) unless the model is a test model. Returns the name of the
// image blob.
std::string AddImageInput(ModelHelper* model, const std::string& reader, RecordKind kind,
                          int64_t batch, const TrainOptions& options);
// The same blobs, with synthetic images that the init net makes once.
std::string AddSyntheticInput(ModelHelper* model, int64_t batch, const TrainOptions& options);

}  // namespace caffe2
