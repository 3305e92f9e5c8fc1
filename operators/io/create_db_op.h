// CreateDB: a reader of a database, for operators that read records from it.
#pragma once

#include <memory>
#include <string>

#include "caffe2/core/operator.h"
#include "db/db_reader.h"

namespace caffe2 {

// Makes the reader that the arguments db, db_type, num_shards, shard_id, shuffle, seed, holdout and
// held_out describe.
db::DBReader MakeDBReader(const OperatorBase& op);

// Opens a database for reading.
template <class Context>
class CreateDBOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CreateDBOp);

  bool RunOnDevice() override {
    *OperatorBase::Output<std::unique_ptr<db::DBReader>>(0) =
        std::make_unique<db::DBReader>(MakeDBReader(*this));
    return true;
  }
};

}  // namespace caffe2
