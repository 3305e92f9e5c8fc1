#include "operators/io/db_exists_op.h"

#include "operators/common/cpu_only.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(DBExists, DBExistsOp<CPUContext>);

OPERATOR_SCHEMA(DBExists)
    .NumInputs(0)
    .NumOutputs(1)
    .ScalarType(TensorProto::BOOL)
    .SetDoc("Tells whether there is a database at a path.")
    .Arg<std::string>("db_name", "Path of the database.", /*required=*/true)
    .Arg<std::string>("db_type", "lmdb, leveldb or minidb.", /*required=*/true)
    .Arg<int>("absolute_path",
              "1: db_name is used as it is; 0 (default): relative to the workspace's root folder.")
    .Output(0, "exists", "A bool, without dims.")
    .CpuOnly(cpu_only::kFiles);

NO_GRADIENT(DBExists);

}  // namespace caffe2
