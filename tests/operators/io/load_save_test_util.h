// What the tests of operators that save and load models share.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "operators/io/load_save_op.h"
#include "tests/db/temporary_directory.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

class LoadSaveTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::vector<Argument> DBArgs(const std::string& name, std::vector<Argument> more = {}) const {
    more.push_back(MakeArgument<std::string>("db", directory_.Path(name)));
    more.push_back(MakeArgument<std::string>("db_type", GetParam()));
    more.push_back(MakeArgument<int>("absolute_path", 1));
    return more;
  }
  void Save(const std::vector<std::string>& names, const std::string& name,
            const std::vector<Argument>& args = {}) {
    RunOp(&ws_, Op("Save", names, {}, DBArgs(name, args)), kInferenceOptional);
  }
  OperatorDef LoadOp(const std::vector<std::string>& names, const std::string& name,
                     const std::vector<Argument>& args = {}) const {
    return Op("Load", {}, names, DBArgs(name, args));
  }
  static std::vector<float> Iota(int64_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.f);
    return values;
  }

  TemporaryDirectory directory_;
  Workspace ws_, other_;
};

}  // namespace caffe2::testing
