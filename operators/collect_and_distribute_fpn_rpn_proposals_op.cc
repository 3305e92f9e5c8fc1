// CollectAndDistributeFpnRpnProposals: proposals of a feature pyramid's levels, joined and given to
// the levels that fit their size (Lin et al., CVPR 2017).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators/boxes.h"
#include "operators/row_copier.h"

namespace caffe2 {
namespace {

constexpr int64_t kRoiSize = 5;  // image, x1, y1, x2, y2

// Levels [least, most].
struct Levels {
  Levels(const OperatorBase& op, const std::string& kind)
      : least(op.GetSingleArgument<int>(kind + "_min_level", 2)),
        most(op.GetSingleArgument<int>(kind + "_max_level", kind == "rpn" ? 6 : 5)) {
    CAFFE_ENFORCE(least <= most && int64_t{most} - least < (1 << 20), kind, "_min_level is ", least,
                  ", ", kind, "_max_level ", most);
  }
  int count() const { return most - least + 1; }
  int least, most;
};

class CollectAndDistributeOp final : public Operator<CPUContext> {
 public:
  CollectAndDistributeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        rpn_(*this, "rpn"),
        roi_(*this, "roi"),
        canonical_scale_(GetSingleArgument<int>("roi_canonical_scale", 224)),
        canonical_level_(GetSingleArgument<int>("roi_canonical_level", 4)),
        limit_(GetSingleArgument<int>("rpn_post_nms_topN", 2000)) {
    CAFFE_ENFORCE_EQ(InputSize(), 2 * rpn_.count(), "inputs, two for each RPN level");
    CAFFE_ENFORCE_EQ(OutputSize(), roi_.count() + 2, "outputs, one for each RoI level, and two");
    CAFFE_ENFORCE_GT(canonical_scale_, 0, "the argument roi_canonical_scale");
  }

  bool RunOnDevice() override {
    Collect();
    const std::vector<int64_t> order =
        SortByScore(static_cast<int64_t>(scores_.size()), scores_.data(), limit_);
    const auto n = static_cast<int64_t>(order.size());
    RowCopier best(rois_, n, Output(0));
    for (const int64_t i : order) best.Append(i);

    // The rois that each level gets, and where in the outputs of the levels each one lies.
    std::vector<std::vector<int64_t>> of_level(roi_.count());
    const float* roi = Output(0)->data<float>();
    for (int64_t i = 0; i < n; ++i) of_level[LevelOf(roi + i * kRoiSize) - roi_.least].push_back(i);
    Tensor* restore = Output(OutputSize() - 1);
    restore->Resize(n);
    int* place = restore->mutable_data<int>();
    int next = 0;
    for (int level = 0; level < roi_.count(); ++level) {
      RowCopier rows(*Output(0), static_cast<int64_t>(of_level[level].size()), Output(level + 1));
      for (const int64_t i : of_level[level]) {
        rows.Append(i);
        place[i] = next++;
      }
    }
    return true;
  }

 private:
  void Collect() {
    scores_.clear();
    int64_t total = 0;
    for (int level = 0; level < rpn_.count(); ++level) {
      const Tensor &rois = Input(level), &scores = Input(rpn_.count() + level);
      CAFFE_ENFORCE(rois.dim() == 2 && rois.size(1) == kRoiSize, "rois ", level, " ",
                    ShapeString(rois.sizes()), " must be n x 5");
      CAFFE_ENFORCE_EQ(scores.numel(), rois.size(0), "scores ", level, ", one for each roi");
      const float* score = scores.data<float>();
      scores_.insert(scores_.end(), score, score + scores.numel());
      total += rois.size(0);
    }
    rois_.Resize(total, kRoiSize);
    float* to = rois_.mutable_data<float>();
    for (int level = 0; level < rpn_.count(); ++level) {
      to = std::copy_n(Input(level).data<float>(), Input(level).numel(), to);
    }
  }
  // floor(canonical level + log2(side / canonical side)), for the side of a square of its area.
  int LevelOf(const float* roi) const {
    const float area = BoxMeasure().area({roi[1], roi[2], roi[3], roi[4]});
    CAFFE_ENFORCE(area >= 0, "the area of a roi is ", area);
    const float side = std::sqrt(area) / static_cast<float>(canonical_scale_);
    const float level = std::floor(static_cast<float>(canonical_level_) + std::log2(side + 1e-6f));
    return static_cast<int>(
        std::clamp(level, static_cast<float>(roi_.least), static_cast<float>(roi_.most)));
  }

  Levels rpn_, roi_;
  int canonical_scale_, canonical_level_, limit_;
  Tensor rois_{CPU};
  std::vector<float> scores_;
};

}  // namespace

REGISTER_CPU_OPERATOR(CollectAndDistributeFpnRpnProposals, CollectAndDistributeOp);
OPERATOR_SCHEMA(CollectAndDistributeFpnRpnProposals)
    .NumInputs([](int n) { return n > 0 && n % 2 == 0; })
    .NumOutputs([](int n) { return n >= 3; })
    .SetDoc(
        "Joins the proposals of all levels of a feature pyramid, keeps the best, and gives each to "
        "the level that fits its size: roi_canonical_level for a side of roi_canonical_scale, one "
        "more for twice that. How many each gets is known at run time only.")
    .Arg("rpn_min_level", "(int, default 2) The first level of the inputs.")
    .Arg("rpn_max_level", "(int, default 6) The last one.")
    .Arg("roi_min_level", "(int, default 2) The first level of the outputs.")
    .Arg("roi_max_level", "(int, default 5) The last one.")
    .Arg("rpn_post_nms_topN", "(int, default 2000) How many of all are kept; 0: all.")
    .Arg("roi_canonical_scale", "(int > 0, default 224) The side, in pixels, at a known level.")
    .Arg("roi_canonical_level", "(int, default 4) That level.")
    .Input(0, "rpn_rois",
           "Float n x 5: image index, x1, y1, x2, y2 of the proposals of the first level, as "
           "GenerateProposals makes them. Those of the other levels follow, then their scores, "
           "level by level.")
    .Output(0, "rois", "The proposals that are kept, best first.")
    .Output(1, "rois_fpn", "Those that the first level gets; the other levels follow.")
    .Output(2, "rois_idx_restore",
            "The last output, int32: for each proposal its row in the outputs of all levels, put "
            "one behind the other.");
SHOULD_NOT_DO_GRADIENT(CollectAndDistributeFpnRpnProposals);

}  // namespace caffe2
