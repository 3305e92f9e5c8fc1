// DBExists: whether there is a database at a path.
#pragma once

#include <string>

#include "db/db.h"
#include "operators/io/load_save_op.h"

namespace caffe2 {

// Output 0: true if there is a database at the path (bool).
template <class Context>
class DBExistsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  DBExistsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        db_type_(this->template GetSingleArgument<std::string>("db_type", "")),
        path_(ResolveDBPath(*this, *ws,
                            this->template GetSingleArgument<std::string>("db_name", ""))) {}

  bool RunOnDevice() override {
    Tensor* output = this->OutputCPU(0);
    output->Resize();
    *output->template mutable_data<bool>() = db::DBExists(db_type_, path_);
    return true;
  }

 private:
  std::string db_type_, path_;
};

}  // namespace caffe2
