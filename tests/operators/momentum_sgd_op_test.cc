#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct State {
  std::vector<float> step, moment, param;
};

State Reference(const std::vector<float>& g, const std::vector<float>& m,
                const std::vector<float>& p, double lr, double momentum, bool nesterov) {
  State s;
  for (size_t i = 0; i < g.size(); ++i) {
    const double next = momentum * m[i] + lr * g[i];
    const double step = nesterov ? (1 + momentum) * next - momentum * m[i] : next;
    s.step.push_back(static_cast<float>(step));
    s.moment.push_back(static_cast<float>(next));
    s.param.push_back(static_cast<float>(p[i] - step));
  }
  return s;
}

TEST(MomentumSgdTest, MatchesReferenceInAndOutOfPlace) {
  const int64_t n = 40001;  // more than one part
  for (const int nesterov : {0, 1}) {
    Workspace ws;
    FeedRandom(&ws, "g", {n}, 1);
    FeedRandom(&ws, "m", {n}, 2);
    FeedRandom(&ws, "p", {n}, 3);
    Feed<float>(&ws, "lr", {}, {0.1f});
    const State expected = Reference(FetchValues<float>(ws, "g"), FetchValues<float>(ws, "m"),
                                     FetchValues<float>(ws, "p"), 0.1f, 0.9f, nesterov != 0);
    const std::vector<Argument> args{MakeArgument<float>("momentum", 0.9f),
                                     MakeArgument<int>("nesterov", nesterov)};
    RunOp(&ws, Op("MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g2", "m2", "p2"}, args));
    ExpectTensor(ws, "g2", {n}, expected.step);
    ExpectTensor(ws, "m2", {n}, expected.moment);
    ExpectTensor(ws, "p2", {n}, expected.param);
    RunOp(&ws, Op("MomentumSGD", {"g", "m", "lr"}, {"g3", "m3"}, args));
    ExpectTensor(ws, "g3", {n}, expected.step);
    ExpectTensor(ws, "m3", {n}, expected.moment);
    RunOp(&ws, Op("MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}, args));
    ExpectTensor(ws, "g", {n}, expected.step);
    ExpectTensor(ws, "m", {n}, expected.moment);
    ExpectTensor(ws, "p", {n}, expected.param);
  }
}

TEST(MomentumSgdTest, RejectsBadShapes) {
  Workspace ws;
  FeedRandom(&ws, "g", {3}, 1);
  FeedRandom(&ws, "m", {2}, 2);
  FeedRandom(&ws, "p", {3}, 3);
  Feed<float>(&ws, "lr", {}, {0.1f});
  ExpectThrows(&ws, Op("MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}),
               "momentum [2]");
  ExpectThrows(&ws, Op("MomentumSGD", {"g", "g", "p"}, {"a", "b"}), "scalar");
}

}  // namespace
}  // namespace caffe2::testing
