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

// Opens a database for reading. Logs a warning when it runs a second time.
template <class Context>
class CreateDBOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(CreateDBOp);

  bool RunOnDevice() override {
    if (++runs_ == 2) {
      LOG(WARNING) << "CreateDB runs again: its reader begins with the first record of "
                   << this->template GetSingleArgument<std::string>("db", "")
                   << " again. In a net that runs many times, it gives the same batch each time";
    }
    *OperatorBase::Output<std::unique_ptr<db::DBReader>>(0) =
        std::make_unique<db::DBReader>(MakeDBReader(*this));
    return true;
  }

 private:
  int64_t runs_ = 0;
};

}  // namespace caffe2
