// CollectAndDistributeFpnRpnProposals, and its halves CollectRpnProposals and
// DistributeFpnProposals: join the proposals of all levels of a feature pyramid and assign them to
// the levels that fit their size (Lin et al., CVPR 2017).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators/common/cpu_only.h"
#include "operators/common/row_copier.h"
#include "operators/detection/boxes.h"

namespace caffe2 {
namespace {

constexpr int64_t kRoiSize = 5;  // image, x1, y1, x2, y2

// Levels [min, max].
struct Levels {
  Levels(const OperatorBase& op, const std::string& kind)
      : min(op.GetSingleArgument<int>(kind + "_min_level", 2)),
        max(op.GetSingleArgument<int>(kind + "_max_level", kind == "rpn" ? 6 : 5)) {
    CAFFE_ENFORCE(min <= max && int64_t{max} - min < (1 << 20), "argument ", kind, "_min_level (",
                  min, ") must be at most ", kind, "_max_level (", max,
                  "), and less than 2^20 levels below it");
  }
  int count() const { return max - min + 1; }
  int min, max;
};

// Joins the proposals of all levels and keeps the best.
class Collector {
 public:
  explicit Collector(const OperatorBase& op)
      : levels_(op, "rpn"), limit_(op.GetSingleArgument<int>("rpn_post_nms_topN", 2000)) {
    CAFFE_ENFORCE(op.InputSize() == 2 * levels_.count(), "there must be ", 2 * levels_.count(),
                  " inputs, two for each RPN level; found ", op.InputSize());
  }

  void Collect(const OperatorBase& op, Tensor* best) {
    Join(op);
    const std::vector<int64_t> order =
        SortByScore(static_cast<int64_t>(scores_.size()), scores_.data(), limit_);
    RowCopier rows(rois_, static_cast<int64_t>(order.size()), best);
    for (const int64_t i : order) rows.Append(i);
  }

 private:
  void Join(const OperatorBase& op) {
    scores_.clear();
    int64_t total = 0;
    for (int level = 0; level < levels_.count(); ++level) {
      const auto &rois = op.Input<Tensor>(level),
                 &scores = op.Input<Tensor>(levels_.count() + level);
      CAFFE_ENFORCE(rois.dim() == 2 && rois.size(1) == kRoiSize, "the rois of level ", level,
                    " must be n x 5, found shape ", ShapeString(rois.sizes()));
      CAFFE_ENFORCE(scores.numel() == rois.size(0), "level ", level,
                    " must have one score for each of the ", rois.size(0), " rois, found ",
                    scores.numel());
      const float* score = scores.data<float>();
      scores_.insert(scores_.end(), score, score + scores.numel());
      total += rois.size(0);
    }
    rois_.Resize(total, kRoiSize);
    float* to = rois_.mutable_data<float>();
    for (int level = 0; level < levels_.count(); ++level) {
      const auto& rois = op.Input<Tensor>(level);
      to = std::copy_n(rois.data<float>(), rois.numel(), to);
    }
  }

  Levels levels_;
  int limit_;
  Tensor rois_{CPU};
  std::vector<float> scores_;
};

// Assigns each proposal to the level that fits its size.
class Distributor {
 public:
  explicit Distributor(const OperatorBase& op)
      : levels_(op, "roi"),
        canonical_scale_(op.GetSingleArgument<int>("roi_canonical_scale", 224)),
        canonical_level_(op.GetSingleArgument<int>("roi_canonical_level", 4)) {
    CAFFE_ENFORCE(canonical_scale_ > 0, "argument roi_canonical_scale must be positive, found ",
                  canonical_scale_);
  }
  int levels() const { return levels_.count(); }

  // Writes the proposals of each level to outputs `first`, first + 1, ..., and then, for each of
  // `rois`, its row in the joined outputs of all levels.
  void Distribute(const Tensor& rois, int first, Operator<CPUContext>* op) const {
    CAFFE_ENFORCE(rois.dim() == 2 && rois.size(1) == kRoiSize, "rois must be n x 5, found shape ",
                  ShapeString(rois.sizes()));
    const int64_t n = rois.size(0);
    std::vector<std::vector<int64_t>> of_level(levels());
    const float* roi = rois.data<float>();
    for (int64_t i = 0; i < n; ++i) {
      of_level[LevelOf(roi + i * kRoiSize) - levels_.min].push_back(i);
    }
    Tensor* restore = op->Output(first + levels());
    restore->Resize(n);
    int* place = restore->mutable_data<int>();
    int next = 0;
    for (int level = 0; level < levels(); ++level) {
      RowCopier rows(rois, static_cast<int64_t>(of_level[level].size()), op->Output(first + level));
      for (const int64_t i : of_level[level]) {
        rows.Append(i);
        place[i] = next++;
      }
    }
  }

 private:
  // floor(canonical level + log2(side / canonical side)), for the side of a square of its area.
  int LevelOf(const float* roi) const {
    const float area = BoxMeasure().area({roi[1], roi[2], roi[3], roi[4]});
    CAFFE_ENFORCE(area >= 0, "the area of a roi must not be negative, found ", area);
    const float side = std::sqrt(area) / static_cast<float>(canonical_scale_);
    const float level = std::floor(static_cast<float>(canonical_level_) + std::log2(side + 1e-6f));
    return static_cast<int>(
        std::clamp(level, static_cast<float>(levels_.min), static_cast<float>(levels_.max)));
  }

  Levels levels_;
  int canonical_scale_, canonical_level_;
};

class CollectAndDistributeOp final : public Operator<CPUContext> {
 public:
  CollectAndDistributeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), collector_(*this), distributor_(*this) {
    CAFFE_ENFORCE(OutputSize() == distributor_.levels() + 2, "there must be ",
                  distributor_.levels() + 2,
                  " outputs, one for each RoI level and two more; found ", OutputSize());
  }
  bool RunOnDevice() override {
    collector_.Collect(*this, Output(0));
    distributor_.Distribute(*Output(0), 1, this);
    return true;
  }

 private:
  Collector collector_;
  Distributor distributor_;
};

class CollectOp final : public Operator<CPUContext> {
 public:
  CollectOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), collector_(*this) {}
  bool RunOnDevice() override {
    collector_.Collect(*this, Output(0));
    return true;
  }

 private:
  Collector collector_;
};

class DistributeOp final : public Operator<CPUContext> {
 public:
  DistributeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), distributor_(*this) {
    CAFFE_ENFORCE(OutputSize() == distributor_.levels() + 1, "there must be ",
                  distributor_.levels() + 1,
                  " outputs, one for each RoI level and one more; found ", OutputSize());
  }
  bool RunOnDevice() override {
    distributor_.Distribute(Input(0), 0, this);
    return true;
  }

 private:
  Distributor distributor_;
};

void DescribeCollect(OpSchema& schema) {
  schema.NumInputs([](int n) { return n > 0 && n % 2 == 0; })
      .Arg<int>("rpn_min_level", "(default 2) The first level of the inputs.")
      .Arg<int>("rpn_max_level", "(default 6) The last one.")
      .Arg<int>("rpn_post_nms_topN", "(default 2000) The most proposals kept; 0: all.")
      .Input(0, "rpn_rois",
             "Float n x 5: image index, x1, y1, x2, y2 of the proposals of the first level, as "
             "GenerateProposals makes them. The proposals of the other levels follow, then all "
             "scores, level by level.")
      .Output(0, "rois", "The proposals that are kept, best first.");
}

// `first`: the output of the first level.
void DescribeDistribute(OpSchema& schema, int first) {
  schema.Arg<int>("roi_min_level", "(default 2) The first level of the outputs.")
      .Arg<int>("roi_max_level", "(default 5) The last one.")
      .Arg<int>("roi_canonical_scale", "(> 0, default 224) The side, in pixels, at a known level.")
      .Arg<int>("roi_canonical_level", "(default 4) That level.")
      .Output(first, "rois_fpn", "The proposals of the first level; the other levels follow.")
      .Output(first + 1, "rois_idx_restore",
              "The last output, int32: for each proposal its row in the outputs of all levels, put "
              "one after another.");
}

}  // namespace

REGISTER_CPU_OPERATOR(CollectAndDistributeFpnRpnProposals, CollectAndDistributeOp);
REGISTER_CPU_OPERATOR(CollectRpnProposals, CollectOp);
REGISTER_CPU_OPERATOR(DistributeFpnProposals, DistributeOp);
OPERATOR_SCHEMA(CollectAndDistributeFpnRpnProposals)
    .FillUsing(DescribeCollect)
    .NumOutputs([](int n) { return n >= 3; })
    .FillUsing([](OpSchema& schema) { DescribeDistribute(schema, 1); })
    .SetDoc(
        "Joins the proposals of all levels of a feature pyramid, keeps the best, and assigns each "
        "to the level that fits its size: roi_canonical_level for a side of roi_canonical_scale, "
        "one more for twice that. Their numbers are known at run time only.")
    .CpuOnly(cpu_only::kBoxes);
OPERATOR_SCHEMA(CollectRpnProposals)
    .FillUsing(DescribeCollect)
    .NumOutputs(1)
    .SetDoc(
        "Joins the proposals of all levels of a feature pyramid and keeps the best. How many there "
        "are is known at run time only.")
    .CpuOnly(cpu_only::kBoxes);
OPERATOR_SCHEMA(DistributeFpnProposals)
    .NumInputs(1)
    .NumOutputs([](int n) { return n >= 2; })
    .FillUsing([](OpSchema& schema) { DescribeDistribute(schema, 0); })
    .SetDoc(
        "Assigns each proposal to the level of a feature pyramid that fits its size: "
        "roi_canonical_level for a side of roi_canonical_scale, one more for twice that. Their "
        "numbers are known at run time only.")
    .Input(0, "rois", "Float n x 5: image index, x1, y1, x2, y2 of the proposals.")
    .CpuOnly(cpu_only::kBoxes);
SHOULD_NOT_DO_GRADIENT(CollectAndDistributeFpnRpnProposals);
SHOULD_NOT_DO_GRADIENT(CollectRpnProposals);
SHOULD_NOT_DO_GRADIENT(DistributeFpnProposals);

}  // namespace caffe2
