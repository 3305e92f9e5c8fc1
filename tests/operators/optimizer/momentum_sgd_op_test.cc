#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

struct State {
  std::vector<float> step, moment, param;
};

State Reference(const std::vector<float>& g, const std::vector<float>& m,
                const std::vector<float>& p, double lr, double momentum, bool nesterov,
                double weight_decay = 0) {
  State s;
  for (size_t i = 0; i < g.size(); ++i) {
    const double next = momentum * m[i] + lr * (g[i] + weight_decay * p[i]);
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

// A float16 tensor of the given one's values, rounded; also writes them back as float.
void FeedHalf(Workspace* ws, const std::string& name, std::vector<float>* values) {
  std::vector<float16> half;
  for (float& value : *values) {
    half.push_back(ToFloat16(value));
    value = ToFloat(half.back());
  }
  Feed(ws, name, {static_cast<int64_t>(half.size())}, half);
}

TEST(MomentumSgdTest, DecaysWeightsInFloat32AndFloat16) {
  const int64_t n = 1003;
  std::vector<float> g = RandomValues(n, 1), m = RandomValues(n, 2), p = RandomValues(n, 3);
  for (const int nesterov : {0, 1}) {
    const std::vector<Argument> args{MakeArgument("momentum", 0.9f),
                                     MakeArgument("nesterov", nesterov),
                                     MakeArgument("weight_decay", 0.25f)};
    Workspace ws;
    Feed<float>(&ws, "lr", {}, {0.1f});
    FeedHalf(&ws, "g", &g);
    FeedHalf(&ws, "m", &m);
    FeedHalf(&ws, "p", &p);
    const State expected = Reference(g, m, p, 0.1f, 0.9f, nesterov != 0, 0.25);
    RunOp(&ws, Op("FP16MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}, args));
    ExpectNear(FetchValues<float16>(ws, "g"), expected.step, 1e-3);
    ExpectNear(FetchValues<float16>(ws, "m"), expected.moment, 1e-3);
    ExpectNear(FetchValues<float16>(ws, "p"), expected.param, 1e-3);
    Feed(&ws, "g", {n}, g);
    Feed(&ws, "m", {n}, m);
    Feed(&ws, "p", {n}, p);
    RunOp(&ws, Op("FP32MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}, args));
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
               "momentum must have as many elements as the parameter: momentum has shape [2], the "
               "parameter [3]");
  ExpectThrows(&ws, Op("MomentumSGD", {"g", "g", "p"}, {"a", "b"}),
               "the learning rate must have one element, found 3");
  ExpectThrows(&ws,
               Op("MomentumSGD", {"g", "g", "lr"}, {"a", "b"}, {MakeArgument("weight_decay", 1.f)}),
               "weight_decay needs the parameter as an input");
}

}  // namespace
}  // namespace caffe2::testing
