#include "caffe2/graph/side_stream.h"

#include <algorithm>
#include <set>

#include "caffe2/core/operator_graph.h"
#include "caffe2/graph/conv_norm_fusion.h"
#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient.h"
#include "caffe2/graph/gradient_sum.h"
#include "caffe2/graph/memory_plan.h"
#include "tests/graph/gradient_check.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::Op;
using testing::TypesOf;

constexpr char kJoin[] = "JoinSideStream";

NetDef OnDevice(const std::vector<OperatorDef>& ops) {
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

bool Forks(const OperatorDef& op) {
  return ArgumentHelper(op).GetSingleArgument<bool>("side_stream", false);
}

bool Has(const google::protobuf::RepeatedPtrField<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Positions of the operator that forks and of the one that joins.
struct Span {
  int fork, join;
};
std::vector<Span> SpansOf(const NetDef& net) {
  std::vector<Span> spans;
  for (int i = 0; i < net.op_size(); ++i) {
    if (!Forks(net.op(i))) continue;
    Span span{i, -1};
    for (int k = i + 1; k < net.op_size(); ++k) {
      if (net.op(k).type() != kJoin || net.op(k).input(0) != net.op(i).output(0)) continue;
      EXPECT_EQ(span.join, -1) << "joined twice: " << net.op(i).output(0);
      span.join = k;
    }
    EXPECT_GT(span.join, i) << "never joined: " << net.op(i).output(0);
    spans.push_back(span);
  }
  return spans;
}

// Joins what the gradient of a convolution started, at the last place where it can.
TEST(SideStreamTest, JoinsInFrontOfWhatItWouldDisturb) {
  const OperatorDef fork = Op("ConvGradient", {"x", "w", "dy"}, {"dw", "db", "dx"});
  const OperatorDef apart = Op("Relu", {"dx"}, {"t"}), reads_x = Op("Sum", {"x", "dy"}, {"t"});
  OperatorDef controlled = Op("Relu", {"dx"}, {"t"}), on_the_other = fork, nested = apart;
  controlled.add_control_input("db");
  on_the_other.mutable_device_option()->set_device_type(CUDA);
  on_the_other.mutable_device_option()->set_device_id(1);
  for (std::string& output : *on_the_other.mutable_output()) output = "other_" + output;
  *nested.add_arg() = MakeArgument("net", NetDef());
  const std::vector<std::pair<const char*, OperatorDef>> disturbing = {
      {"reads the filter's gradient", Op("Sum", {"dw", "dw2"}, {"sum"})},
      {"reads the bias's", Op("Relu", {"db"}, {"t"})},
      {"adds to it in place", Op("Sum", {"dw", "dw2"}, {"dw"})},
      {"sends it", Op("AllreduceBucket", {"cw", "dw", "dw2"}, {"dw", "dw2"})},
      {"comes behind it", controlled},
      {"works in place on the output's gradient", Op("Relu", {"dy"}, {"dy"})},
      {"overwrites the image", Op("Relu", {"dx"}, {"x"})},
      {"overwrites what shares its storage", Op("Relu", {"dx"}, {"alias_of_alias"})},
      {"runs a net", nested},
      {"is the next gradient", Op("ConvGradient", {"x2", "w2", "dx"}, {"dw2", "db2", "dx2"})},
  };
  for (const auto& [what, op] : disturbing) {
    NetDef net =
        OnDevice({Op("Alias", {"x"}, {"alias"}), Op("Alias", {"alias"}, {"alias_of_alias"}), fork,
                  apart, reads_x, apart, op, apart});
    UseSideStreams(&net);
    ASSERT_GT(net.op_size(), 6) << what;
    EXPECT_TRUE(Forks(net.op(2))) << what;
    EXPECT_EQ(net.op(6).type(), kJoin) << what;
    EXPECT_EQ(net.op(6).input(0), "dw") << what;
    EXPECT_EQ(net.op(7).type(), op.type()) << what;
  }
  // What does not disturb it: the work of another device, and all of the above without the like.
  NetDef net = OnDevice({fork, apart, reads_x, on_the_other, apart});
  EXPECT_EQ(UseSideStreams(&net), 2);
  EXPECT_EQ(TypesOf(net), (std::vector<std::string>{"ConvGradient", "Relu", "Sum", "ConvGradient",
                                                    "Relu", kJoin, kJoin}));
  EXPECT_EQ(net.op(6).device_option().device_id(), 1);
}

TEST(SideStreamTest, TheJoinListsWhatTheWorkTouches) {
  const std::vector<std::tuple<OperatorDef, std::vector<std::string>, int>> cases = {
      {Op("ConvGradient", {"x", "w", "dy", "dx"}, {"dw", "db", "dx"}), {"dw", "db", "x", "dy"}, 2},
      {Op("NormReluConvStatsGradient", {"x", "norm", "w", "dy"}, {"dw", "g", "dnorm"}),
       {"dw", "x", "dy"},
       1},
      {Op("NormSumReluConvStatsGradient", {"x", "norm", "z", "w", "dy", "n", "dn"},
          {"dw", "g", "dnorm"}),
       {"dw", "dy", "n"},
       1},
      {Op("NormSumNormReluConvStatsGradient", {"x", "norm", "z", "znorm", "w", "dy", "n", "dn"},
          {"dw", "g", "dnorm", "dznorm"}),
       {"dw", "dy", "n"},
       1},
  };
  for (const auto& [op, touched, results] : cases) {
    NetDef net = OnDevice({op});
    EXPECT_EQ(UseSideStreams(&net), 1);
    ASSERT_EQ(net.op_size(), 2);
    const OperatorDef& join = net.op(1);
    EXPECT_EQ(std::vector<std::string>(join.input().begin(), join.input().end()), touched);
    EXPECT_EQ(std::vector<std::string>(join.output().begin(), join.output().end()),
              std::vector<std::string>(touched.begin(), touched.begin() + results));
  }
}

// Operators that lack operands stay as they are: making the net says what is wrong with them.
TEST(SideStreamTest, LeavesAloneWhatIsNoGradient) {
  for (const OperatorDef& op :
       {Op("ConvGradient", {"x", "w"}, {"dw", "db"}), Op("ConvGradient", {"x", "w", "dy"}, {"dw"}),
        Op("NormSumReluConvStatsGradient", {"x", "norm", "z", "w", "dy"}, {"dw", "g"})}) {
    NetDef net = OnDevice({op, Op("Relu", {"y"}, {"z"})}), before = net;
    EXPECT_EQ(UseSideStreams(&net), 0);
    EXPECT_EQ(net.SerializeAsString(), before.SerializeAsString());
  }
}

// A gradient of nothing but the filter goes aside only where something follows.
TEST(SideStreamTest, LeavesInLineWhatWouldBeJoinedAtOnce) {
  OperatorDef first = Op("ConvGradient", {"x", "w", "dy"}, {"dw"});
  *first.add_arg() = MakeArgument<int>("no_bias", 1);
  const OperatorDef reader = Op("Relu", {"dw"}, {"t"});
  NetDef net = OnDevice({first, reader}), before = net;
  EXPECT_EQ(UseSideStreams(&net), 0);
  EXPECT_EQ(net.SerializeAsString(), before.SerializeAsString());
  net = OnDevice({first, Op("Relu", {"dy"}, {"t"}), reader});
  EXPECT_EQ(UseSideStreams(&net), 1);
  EXPECT_EQ(TypesOf(net), (std::vector<std::string>{"ConvGradient", "Relu", kJoin, "Relu"}));
}

TEST(SideStreamTest, AsManyMayBeUnderWayAsAreAskedFor) {
  std::vector<OperatorDef> gradients;
  for (const std::string i : {"1", "2", "3", "4"}) {
    gradients.push_back(Op("ConvGradient", {"x" + i, "w" + i, "dy" + i}, {"dw" + i, "db" + i}));
    gradients.push_back(Op("Relu", {"y" + i}, {"z" + i}));
  }
  gradients.push_back(Op("Sum", {"dw3", "x1"}, {"sum"}));
  NetDef net = OnDevice(gradients);
  EXPECT_EQ(UseSideStreams(&net, 2), 4);
  std::vector<std::string> order;
  for (const OperatorDef& op : net.op()) {
    if (op.type() != "Relu") order.push_back(op.type().substr(0, 4) + " " + op.output(0));
  }
  // That of dw4 came later.
  EXPECT_EQ(order,
            (std::vector<std::string>{"Conv dw1", "Conv dw2", "Join dw1", "Conv dw3", "Join dw2",
                                      "Conv dw4", "Join dw3", "Sum sum", "Join dw4"}));
  EXPECT_THROW(UseSideStreams(&net, 0), EnforceNotMet);
}

// The gradients of a residual net, fused as the trainers do, and readers of all filter gradients.
class SideStreamNetTest : public ::testing::TestWithParam<std::tuple<ConvNormFusion, int>> {
 protected:
  SideStreamNetTest() : net_("NHWC", false), def_(net_.builder.net()) {
    FuseOperators(&def_, {FusionLevel::kAll, {}});
    FuseConvolutionsWithNorms(&def_, std::get<0>(GetParam()));
    SetArgument(def_.mutable_op(0), "no_gradient_to_input", 1);
    AddGradientOperators(&def_, {{"loss", ""}});
    FuseGradientSums(&def_);
    const NetDef backward = def_;
    for (const OperatorDef& op : backward.op()) {
      if (op.type().find("Conv") == std::string::npos || !op.is_gradient_op()) continue;
      *def_.add_op() = Op("Relu", {op.output(0)}, {op.output(0) + "_used"});
    }
    host_ = def_;
    def_.mutable_device_option()->set_device_type(CUDA);
  }

  // Bytes of the blobs of operator i that are planned.
  std::vector<MemoryPlan::Slot> Written(const MemoryPlan& plan, int i) const {
    std::vector<MemoryPlan::Slot> slots;
    for (const std::string& blob : def_.op(i).output()) {
      if (plan.slots.count(blob)) slots.push_back(plan.slots.at(blob));
    }
    return slots;
  }

  testing::ResidualNet net_;
  NetDef& def_;
  NetDef host_;
};

TEST_P(SideStreamNetTest, NothingDisturbsTheWorkBetweenForkAndJoin) {
  EXPECT_EQ(UseSideStreams(&host_), 0) << "the host has no streams";
  const int max_open = std::get<1>(GetParam());
  EXPECT_GE(UseSideStreams(&def_, max_open), 4);
  const std::vector<Span> spans = SpansOf(def_);
  int operators_between = 0;
  for (const auto& [fork, join] : spans) {
    const OperatorDef& op = def_.op(join);
    for (int i = fork + 1; i < join; ++i) {
      const OperatorDef& other = def_.op(i);
      for (int k = 0; k < op.input_size(); ++k) {
        EXPECT_FALSE(other.type() != kJoin && Has(other.output(), op.input(k))) << op.input(k);
      }
      EXPECT_FALSE(Has(other.input(), op.output(0))) << other.DebugString();
      operators_between += other.type() != kJoin && !Forks(other);
    }
    const auto open = std::count_if(spans.begin(), spans.end(), [fork = fork](const Span& span) {
      return span.fork <= fork && span.join > fork;
    });
    EXPECT_LE(open, max_open);
  }
  EXPECT_GE(operators_between, static_cast<int>(spans.size())) << "something goes on beside";
}

// Planned memory does not know of streams: that the join lists what the work touches is enough.
TEST_P(SideStreamNetTest, WhatTheWorkTouchesKeepsItsMemory) {
  std::map<std::string, TensorShape> shapes;
  for (const std::string& name : net_.ws.Blobs()) {
    shapes[name] = GetTensorShapeOfBlob(*net_.ws.GetBlob(name));
  }
  UseSideStreams(&def_, std::get<1>(GetParam()));
  const MemoryPlan plan = PlanMemory(def_, InferBlobShapesAndTypes(shapes, {&def_}), {"loss"});
  int planned = 0;
  for (const auto& [fork, join] : SpansOf(def_)) {
    for (const std::string& blob : def_.op(join).input()) {
      const auto found = plan.slots.find(blob);
      if (found == plan.slots.end()) continue;
      ++planned;
      const auto& [offset, nbytes, shape] = found->second;
      for (int i = fork + 1; i < join; ++i) {
        if (def_.op(i).type() == kJoin) continue;
        for (const MemoryPlan::Slot& slot : Written(plan, i)) {
          EXPECT_TRUE(slot.offset >= offset + nbytes || offset >= slot.offset + slot.nbytes)
              << blob << " is overwritten by operator " << i << ", " << def_.op(i).type();
        }
      }
    }
  }
  EXPECT_GT(planned, 8);
}

// Executors that go by the graph of operators keep the order, too.
TEST_P(SideStreamNetTest, TheJoinStandsBetweenTheWorkAndWhatWouldDisturbIt) {
  UseSideStreams(&def_, std::get<1>(GetParam()));
  const OperatorGraph graph = BuildOperatorGraph(def_);
  const auto comes_behind = [&graph](int later, int earlier) {
    std::set<int> seen = {later};
    std::vector<int> open = {later};
    while (!open.empty()) {
      const int op = open.back();
      open.pop_back();
      for (const int parent : graph.parents[op]) {
        if (seen.insert(parent).second) open.push_back(parent);
      }
    }
    return seen.count(earlier) != 0;
  };
  int disturbing = 0;
  for (const auto& [fork, join] : SpansOf(def_)) {
    EXPECT_TRUE(comes_behind(join, fork));
    for (int i = join + 1; i < def_.op_size(); ++i) {
      bool disturbs = Has(def_.op(i).input(), def_.op(join).output(0));
      for (const std::string& blob : def_.op(join).input()) {
        disturbs = disturbs || Has(def_.op(i).output(), blob);
      }
      if (!disturbs) continue;
      ++disturbing;
      EXPECT_TRUE(comes_behind(i, join)) << def_.op(i).DebugString();
    }
  }
  EXPECT_GE(disturbing, 5) << "the readers of filter gradients";
}

INSTANTIATE_TEST_SUITE_P(Fusions, SideStreamNetTest,
                         ::testing::Combine(::testing::Values(ConvNormFusion::kNone,
                                                              ConvNormFusion::kPrologue,
                                                              ConvNormFusion::kResidual),
                                            ::testing::Values(1, 2, 100)));

}  // namespace
}  // namespace caffe2
