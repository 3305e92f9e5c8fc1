// What the tests of optimizers share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {

constexpr int64_t kDenseSize = 40001;  // more than one part

// Parameter p, gradient g, two states and a learning rate of -0.1 (these operators add).
class OptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "p", {kDenseSize}, 1);
    FeedRandom(&ws, "g", {kDenseSize}, 2);
    FeedRandom(&ws, "m", {kDenseSize}, 3);
    FeedRandom(&ws, "v", {kDenseSize}, 4, 0, 1);
    Feed<float>(&ws, "lr", {1}, {-0.1f});
    Feed<int64_t>(&ws, "iter", {1}, {4});
    Feed<float>(&ws, "short", {2}, {1, 2});
    p = FetchValues<float>(ws, "p");
    g = FetchValues<float>(ws, "g");
    m = FetchValues<float>(ws, "m");
    v = FetchValues<float>(ws, "v");
  }

  // What `value(i)` says for every element.
  template <typename Value>
  std::vector<float> All(const Value& value) {
    std::vector<float> all;
    for (int64_t i = 0; i < kDenseSize; ++i) all.push_back(static_cast<float>(value(i)));
    return all;
  }
  void Expect(const std::string& name, const std::vector<float>& expected) {
    ExpectTensor(ws, name, {kDenseSize}, expected, 1e-5f, 1e-6f);
  }

  Workspace ws;
  std::vector<float> p, g, m, v;
};

// A parameter p [3, 2] with the states h and d, a gradient g of its shape, and rows r of gradients
// for rows i.
class RateOptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<float>(&ws, "p", {3, 2}, p);
    Feed<float>(&ws, "h", {3, 2}, h);
    Feed<float>(&ws, "d", {3, 2}, d);
    Feed<float>(&ws, "g", {3, 2}, g);
    Feed<float>(&ws, "lr", {1}, {-0.5f});
    Feed<int>(&ws, "i", {2}, {2, 0});
    Feed<float>(&ws, "r", {2, 2}, {-1, 2, 0.5f, 0});
    Feed<float>(&ws, "short", {1, 2}, {1, 1});
  }

  // What `update(i, gradient)` says of the elements that have a gradient, `old` of the others.
  template <typename Update>
  std::vector<float> Rows(const std::vector<float>& old, const Update& update) {
    std::vector<float> all = old;
    const std::vector<float> rows{-1, 2, 0.5f, 0};
    const int at[] = {4, 5, 0, 1};
    for (int k = 0; k < 4; ++k) all[at[k]] = static_cast<float>(update(at[k], rows[k]));
    return all;
  }
  template <typename Update>
  std::vector<float> All(const Update& update) {
    std::vector<float> all;
    for (int i = 0; i < 6; ++i) all.push_back(static_cast<float>(update(i, g[i])));
    return all;
  }

  Workspace ws;
  const std::vector<float> p{1, -1, 0.5f, 2, 0, 3};
  const std::vector<float> h{1, 0.5f, 0, 2, 0.25f, 4};
  const std::vector<float> d{0, 1, 0.5f, 0.25f, 2, 1};
  const std::vector<float> g{1, 0, -2, 0.5f, 3, -1};
};

// A parameter of 5 rows of 3, two states, and gradients of rows 3 and 1.
class SparseOptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "p", {5, 3}, 1);
    FeedRandom(&ws, "m", {5, 3}, 2);
    FeedRandom(&ws, "v", {5, 3}, 3, 0, 1);
    FeedRandom(&ws, "row_v", {5}, 4, 0, 1);
    FeedRandom(&ws, "g", {2, 3}, 5);
    Feed<int64_t>(&ws, "i", {2}, {3, 1});
    Feed<float>(&ws, "lr", {1}, {-0.1f});
    Feed<int64_t>(&ws, "iter", {1}, {4});
    FeedRandom(&ws, "short", {2}, 6);
    Feed<int32_t>(&ws, "beyond", {2}, {0, 5});
  }

  // Applies the dense operator to the rows alone; the sparse one must do the same to them and
  // leave the others as they are. `states`: names of the parameter and what changes with it.
  void ExpectSameAsDense(const OperatorDef& sparse, OperatorDef dense,
                         const std::vector<std::string>& states) {
    std::vector<std::vector<float>> expected;
    for (const std::string& name : states) {
      expected.push_back(FetchValues<float>(ws, name));
      RunOp(&ws, Op("Gather", {name, "i"}, {name + "_rows"}));
    }
    for (std::string* name : Names(&dense)) {
      if (std::find(states.begin(), states.end(), *name) != states.end()) *name += "_rows";
    }
    RunOp(&ws, Op("Copy", {"g"}, {"g_copy"}));
    ASSERT_TRUE(ws.RunOperatorOnce(dense));
    RunOp(&ws, Op("Copy", {"g_copy"}, {"g"}));
    RunOp(&ws, sparse);
    const std::vector<int64_t> rows = FetchValues<int64_t>(ws, "i");
    for (size_t k = 0; k < states.size(); ++k) {
      const std::vector<float> updated = FetchValues<float>(ws, states[k] + "_rows");
      const size_t width = updated.size() / rows.size();
      for (size_t r = 0; r < rows.size(); ++r) {
        std::copy_n(&updated[r * width], width, &expected[k][rows[r] * width]);
      }
      SCOPED_TRACE(sparse.type() + " " + states[k]);
      if (TestsCuda()) {  // the reference ran on the host
        ExpectTensor(ws, states[k], Fetch(ws, states[k]).sizes(), expected[k], 1e-6f, 1e-7f);
      } else {
        EXPECT_EQ(FetchValues<float>(ws, states[k]), expected[k]);
      }
    }
  }

  static std::vector<std::string*> Names(OperatorDef* op) {
    std::vector<std::string*> names;
    for (std::string& name : *op->mutable_input()) names.push_back(&name);
    for (std::string& name : *op->mutable_output()) names.push_back(&name);
    return names;
  }

  Workspace ws;
};

// The rows of a sparse gradient as rows of zeros but for these.
inline std::vector<float> Dense(const std::vector<float>& g) {
  std::vector<float> dense(15, 0.f);
  std::copy_n(g.begin(), 3, dense.begin() + 9);
  std::copy_n(g.begin() + 3, 3, dense.begin() + 3);
  return dense;
}

}  // namespace caffe2::testing
