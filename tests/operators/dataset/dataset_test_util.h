// What the tests of datasets and of the objects that they hold share.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/blob_serialization.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {

// Writes a blob and reads it back into another one.
inline void CopySerialized(Workspace* ws, const std::string& from, const std::string& to) {
  DeserializeBlob(SerializeBlob(*ws->GetBlob(from), from), ws->CreateBlob(to));
}

// Three records: a number, a list of pairs (key, list of values).
class DatasetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<int32_t>(&ws, "a", {3}, {1, 2, 3});
    Feed<int32_t>(&ws, "n", {3}, {1, 2, 0});
    Feed<int64_t>(&ws, "k", {3}, {10, 20, 30});
    Feed<int32_t>(&ws, "m", {3}, {2, 1, 1});
    Feed<float>(&ws, "x", {4, 1}, {1, 2, 3, 4});
    RunOp(&ws, Op("CreateTreeCursor", {}, {"c"}, {fields}), true);
  }
  std::vector<std::string> With(std::vector<std::string> first) const {
    first.insert(first.end(), columns.begin(), columns.end());
    return first;
  }
  void ExpectBatch(const Ints& a, const Ints& n, const Longs& k, const Ints& m,
                   const std::vector<float>& x) {
    EXPECT_EQ(FetchValues<int32_t>(ws, "a2"), a);
    EXPECT_EQ(FetchValues<int32_t>(ws, "n2"), n);
    EXPECT_EQ(FetchValues<int64_t>(ws, "k2"), k);
    EXPECT_EQ(FetchValues<int32_t>(ws, "m2"), m);
    EXPECT_EQ(FetchValues<float>(ws, "x2"), x);
    EXPECT_EQ(Fetch(ws, "x2").sizes(), (Longs{static_cast<int64_t>(x.size()), 1}));
  }

  const Strings columns{"a", "n", "k", "m", "x"}, batch{"a2", "n2", "k2", "m2", "x2"};
  const Argument fields =
      MakeArgument("fields", Strings{"a", "list:lengths", "list:values:key",
                                     "list:values:inner:lengths", "list:values:inner:values"});
  Workspace ws;
};

}  // namespace caffe2::testing
