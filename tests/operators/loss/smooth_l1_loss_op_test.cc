#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

double SmoothL1Of(double x, double beta) {
  return std::abs(x) < beta ? x * x / (2 * beta) : std::abs(x) - beta / 2;
}

OperatorDef SmoothL1Loss(float beta = 1, float scale = 1) {
  return Op("SmoothL1Loss", {"P", "T", "in", "out"}, {"loss"},
            {MakeArgument("beta", beta), MakeArgument("scale", scale)});
}

TEST(SmoothL1LossTest, MatchesReference) {
  for (const float beta : {1.f, 0.3f}) {
    Workspace ws;
    // More elements than one partial sum has, for the loss of a whole level of a pyramid.
    const int64_t n = 3, width = 2000;
    FeedRandom(&ws, "P", {n, width}, 1, -2, 2);
    FeedRandom(&ws, "T", {n, width}, 2, -2, 2);
    FeedRandom(&ws, "in", {n, width}, 3, 0, 1);
    FeedRandom(&ws, "out", {n, width}, 4, 0, 1);
    const std::vector<float> p = FetchValues<float>(ws, "P"), t = FetchValues<float>(ws, "T"),
                             in = FetchValues<float>(ws, "in"), out = FetchValues<float>(ws, "out");
    double sum = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      sum += out[i] * SmoothL1Of(in[i] * (static_cast<double>(p[i]) - t[i]), beta);
    }
    RunOp(&ws, SmoothL1Loss(beta, 0.5f));
    ExpectTensor(ws, "loss", {}, {static_cast<float>(0.5 * sum / n)});
  }
}

TEST(SmoothL1LossTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "P", {2, 3, 2}, 1, -2, 2);
  FeedRandom(&ws, "T", {2, 3, 2}, 2, -2, 2);
  FeedRandom(&ws, "in", {2, 3, 2}, 3, 0, 1);
  FeedRandom(&ws, "out", {2, 6}, 4, 0, 1);  // as many, in another shape
  CheckGradient(&ws, SmoothL1Loss(0.7f, 3), {0});
}

TEST(SmoothL1LossTest, SlopesAreOnes) {
  Workspace ws;
  Feed<float>(&ws, "P", {4}, {5, -5, 0.5f, 0});
  Feed<float>(&ws, "T", {4}, {0, 0, 0, 0});
  Feed<float>(&ws, "in", {4}, {1, 1, 1, 1});
  Feed<float>(&ws, "out", {4}, {1, 1, 1, 1});
  Feed<float>(&ws, "d", {}, {8});
  RunOp(&ws, Op("SmoothL1LossGradient", {"P", "T", "in", "out", "d"}, {"dP"}));
  ExpectTensor(ws, "dP", {4}, {2, -2, 1, 0});
}

TEST(SmoothL1LossTest, NoRowsGiveNothing) {
  Workspace ws;
  for (const char* name : {"P", "T", "in", "out"}) Feed<float>(&ws, name, {0, 4}, {});
  RunOp(&ws, SmoothL1Loss());
  ExpectTensor(ws, "loss", {}, {0});
}

TEST(SmoothL1LossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "P", {2, 3}, 1);
  FeedRandom(&ws, "T", {2, 3}, 1);
  FeedRandom(&ws, "in", {2, 3}, 1);
  FeedRandom(&ws, "out", {2, 2}, 1);
  ExpectThrows(&ws, SmoothL1Loss(), "input 3 has shape [2, 2]");
  ExpectThrows(&ws, SmoothL1Loss(0), "argument beta must be positive, found 0");
  ExpectThrows(&ws, SmoothL1Loss(1, -1), "argument scale must not be negative, found -1");
  FeedRandom(&ws, "T", {3, 2}, 1);
  ExpectThrows(&ws, SmoothL1Loss(), "targets [3, 2]");
}

OperatorDef Select(float beta = 1, float scale = 1) {
  return Op("SelectSmoothL1Loss", {"P", "T", "where", "count"}, {"loss"},
            {MakeArgument("beta", beta), MakeArgument("scale", scale)});
}

TEST(SelectSmoothL1LossTest, MatchesReference) {
  Workspace ws;
  FeedRandom(&ws, "P", {2, 8, 3, 2}, 1, -2, 2);
  FeedRandom(&ws, "T", {3, 4}, 2, -2, 2);
  const std::vector<float> where = {0, 4, 2, 1, 1, 0, 0, 0, 1, 4, 1, 1};
  Feed<float>(&ws, "where", {3, 4}, where);
  const std::vector<float> p = FetchValues<float>(ws, "P"), t = FetchValues<float>(ws, "T");
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const int n = static_cast<int>(where[i * 4]), c = static_cast<int>(where[i * 4 + 1]),
              y = static_cast<int>(where[i * 4 + 2]), x = static_cast<int>(where[i * 4 + 3]);
    for (int j = 0; j < 4; ++j) {
      sum +=
          SmoothL1Of(static_cast<double>(p[((n * 8 + c + j) * 3 + y) * 2 + x]) - t[i * 4 + j], 0.5);
    }
  }
  for (const float count : {4.f, 0.25f}) {  // a count below 1 divides by 1
    Feed<float>(&ws, "count", {1}, {count});
    RunOp(&ws, Select(0.5f, 2));
    ExpectTensor(ws, "loss", {}, {static_cast<float>(2 * sum / std::max(1.f, count))});
    CheckGradient(&ws, Select(0.5f, 2), {0});
  }
}

TEST(SelectSmoothL1LossTest, NoLocationsGiveNothing) {
  Workspace ws;
  FeedRandom(&ws, "P", {1, 4, 1, 2}, 1);
  Feed<float>(&ws, "T", {0, 4}, {});
  Feed<float>(&ws, "where", {0, 4}, {});
  Feed<float>(&ws, "count", {}, {0});
  Feed<float>(&ws, "d", {}, {1});
  RunOp(&ws, Select());
  ExpectTensor(ws, "loss", {}, {0});
  RunOp(&ws, Op("SelectSmoothL1LossGradient", {"P", "T", "where", "count", "d"}, {"dP"}));
  ExpectTensor(ws, "dP", {1, 4, 1, 2}, Floats(8, 0.f));
}

TEST(SelectSmoothL1LossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "P", {2, 8, 3, 2}, 1);
  FeedRandom(&ws, "T", {2, 4}, 2);
  Feed<float>(&ws, "count", {}, {1});
  for (const std::vector<float>& wrong : std::vector<std::vector<float>>{
           {2, 0, 0, 0}, {0, 5, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, -1}, {0, NAN, 0, 0}}) {
    std::vector<float> where = {0, 0, 0, 0};
    where.insert(where.end(), wrong.begin(), wrong.end());
    Feed<float>(&ws, "where", {2, 4}, where);
    ExpectThrows(&ws, Select(), "index -1 at position 1");
  }
  Feed<float>(&ws, "where", {1, 4}, {0, 0, 0, 0});
  ExpectThrows(&ws, Select(), "locations [1, 4]");
  Feed<float>(&ws, "where", {2, 4}, {0, 0, 0, 0, 0, 4, 0, 0});
  Feed<float>(&ws, "count", {2}, {1, 1});
  ExpectThrows(&ws, Select(), "the normalizer");
  FeedRandom(&ws, "P", {2, 8, 3}, 1);
  ExpectThrows(&ws, Select(), "N x C x H x W, found shape [2, 8, 3]");
}

}  // namespace
}  // namespace caffe2::testing
