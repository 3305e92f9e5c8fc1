// BoxWithNMSLimit: selects the detections of each image from scored boxes of all classes.
#include <algorithm>
#include <cmath>

#include "operators/common/cpu_only.h"
#include "operators/common/indices.h"
#include "operators/detection/boxes.h"

namespace caffe2 {
namespace {

// A box that is kept: its class, its row within the image, and its score.
struct Detection {
  int64_t class_id = 0, row = 0;
  float score = 0;
};

class BoxWithNMSLimitOp final : public Operator<CPUContext> {
 public:
  BoxWithNMSLimitOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        rotated_(GetSingleArgument<bool>("rotated", false)),
        min_score_(GetSingleArgument<float>("score_thresh", 0.05f)),
        threshold_(GetSingleArgument<float>("nms", 0.3f)),
        limit_(GetSingleArgument<int>("detections_per_im", 100)),
        soft_(GetSingleArgument<bool>("soft_nms_enabled", false)),
        one_box_(GetSingleArgument<bool>("cls_agnostic_bbox_reg", false)),
        background_first_(GetSingleArgument<bool>("input_boxes_include_bg_cls", true)),
        count_background_(GetSingleArgument<bool>("output_classes_include_bg_cls", true)) {
    const auto method = GetSingleArgument<std::string>("soft_nms_method", "linear");
    CAFFE_ENFORCE(method == "linear" || method == "gaussian",
                  "argument soft_nms_method must be linear or gaussian, found ", method);
    suppression_.gaussian = method == "gaussian";
    suppression_.sigma = GetSingleArgument<float>("soft_nms_sigma", 0.5f);
    suppression_.threshold = threshold_;
    suppression_.min_score = GetSingleArgument<float>("soft_nms_min_score_thres", 0.001f);
    CAFFE_ENFORCE(suppression_.sigma > 0, "argument soft_nms_sigma must be positive, found ",
                  suppression_.sigma);
    measure_.one = GetSingleArgument<bool>("legacy_plus_one", true) ? 1.f : 0.f;
    CAFFE_ENFORCE(OutputSize() != 5, "there are 3, 4 or 6 outputs, not 5");
  }

  bool RunOnDevice() override {
    CheckShapes();
    const std::vector<int64_t> splits = ReadSplits();
    std::vector<std::vector<Detection>> images;
    int64_t total = 0, first = 0;
    for (const int64_t rows : splits) {
      images.push_back(Detect(first, rows));
      total += static_cast<int64_t>(images.back().size());
      first += rows;
    }
    WriteDetections(images, splits, total);
    if (OutputSize() > 3) {
      Output(3)->Resize(static_cast<int64_t>(images.size()));
      float* counts = Output(3)->mutable_data<float>();
      for (const auto& image : images) *counts++ = static_cast<float>(image.size());
    }
    if (OutputSize() > 4) WriteKept(images, total);
    return true;
  }

 private:
  // Class 0 is the background. If the boxes have no background, its scores are the last column.
  int64_t ScoreColumn(int64_t class_id) const { return class_id - (background_first_ ? 0 : 1); }
  int64_t BoxColumn(int64_t class_id) const { return one_box_ ? 0 : ScoreColumn(class_id); }
  // The number of values of a box.
  int64_t box_size() const { return rotated_ ? RotatedBoxTransform::kSize : BoxTransform::kSize; }

  static void CheckMatrix(const Tensor& X, const char* name) {
    const bool matrix = X.dim() == 2 || (X.dim() == 4 && X.size(2) == 1 && X.size(3) == 1);
    CAFFE_ENFORCE(matrix, name, " must be a matrix, found shape ", ShapeString(X.sizes()));
  }
  void CheckShapes() {
    const Tensor &scores = Input(0), &boxes = Input(1);
    CheckMatrix(scores, "scores");
    CheckMatrix(boxes, "boxes");
    classes_ = scores.size(1);
    CAFFE_ENFORCE(classes_ > 0, "scores must have at least one class, found ", classes_);
    const int64_t columns = BoxColumn(classes_ - 1) + 1;
    CAFFE_ENFORCE(boxes.size(0) == scores.size(0) && boxes.size(1) == columns * box_size(),
                  "boxes must be N x ", columns * box_size(),
                  " for N rows of scores: boxes has shape ", ShapeString(boxes.sizes()),
                  ", scores ", ShapeString(scores.sizes()));
  }
  // The number of rows of each image.
  std::vector<int64_t> ReadSplits() const {
    const int64_t rows = Input(0).size(0);
    if (InputSize() < 3) return {rows};
    const Tensor& input = Input(2);
    CAFFE_ENFORCE(input.dim() == 1, "batch_splits must be one-dimensional, found shape ",
                  ShapeString(input.sizes()));
    std::vector<int64_t> splits;
    if (input.IsType<float>()) {
      for (const float* n = input.data<float>(); n != input.data<float>() + input.numel(); ++n) {
        CAFFE_ENFORCE(*n >= 0 && *n <= static_cast<float>(rows),
                      "an element of batch_splits must be from 0 to ", rows,
                      ", the rows of scores; found ", *n);
        splits.push_back(static_cast<int64_t>(*n));
      }
    } else {
      splits = ReadIntegers(input, "batch_splits");
    }
    int64_t sum = 0;
    for (const int64_t n : splits) {
      CAFFE_ENFORCE(n >= 0 && n <= rows - sum, "batch_splits must add up to the ", rows,
                    " rows of scores, found ", n, " after ", sum);
      sum += n;
    }
    CAFFE_ENFORCE(sum == rows, "batch_splits must add up to the ", rows,
                  " rows of scores, but add up to ", sum);
    return splits;
  }

  // The boxes of a class in rows [first, first + rows), converted by `read`.
  template <class BoxReader>
  auto ReadBoxes(int64_t class_id, int64_t first, int64_t rows, const BoxReader& read) const {
    const int64_t stride = Input(1).size(1);
    const float* box = Input(1).data<float>() + first * stride + BoxColumn(class_id) * box_size();
    std::vector<decltype(read(box))> boxes;
    for (int64_t i = 0; i < rows; ++i, box += stride) boxes.push_back(read(box));
    return boxes;
  }
  OverlapFunction Overlaps(int64_t class_id, int64_t first, int64_t rows) const {
    if (rotated_) {
      return [boxes = ReadBoxes(class_id, first, rows, RotatedBoxTransform::Read)](
                 int64_t i, int64_t k) { return RotatedOverlap(boxes[i], boxes[k]); };
    }
    return [measure = measure_, boxes = ReadBoxes(class_id, first, rows, BoxTransform::Read)](
               int64_t i, int64_t k) { return measure.overlap(boxes[i], boxes[k]); };
  }

  // The detections in rows [first, first + rows), class by class; in each, best first.
  std::vector<Detection> Detect(int64_t first, int64_t rows) const {
    const float* scores = Input(0).data<float>() + first * classes_;
    std::vector<Detection> found;
    for (int64_t c = 1; c < classes_; ++c) {
      std::vector<float> column(rows);
      for (int64_t i = 0; i < rows; ++i) column[i] = scores[i * classes_ + ScoreColumn(c)];
      std::vector<int64_t> order = SortByScore(rows, column.data(), 0);
      std::erase_if(order, [&](int64_t i) { return column[i] <= min_score_; });
      if (order.empty()) continue;
      const OverlapFunction overlap = Overlaps(c, first, rows);
      const std::vector<int64_t> kept = soft_
                                            ? suppression_.Run(order, overlap, &column)
                                            : SuppressOverlaps(order, threshold_, limit_, overlap);
      for (const int64_t row : kept) found.push_back({c, row, column[row]});
    }
    if (limit_ > 0 && static_cast<int64_t>(found.size()) > limit_) KeepBest(&found);
    return found;
  }
  void KeepBest(std::vector<Detection>* found) const {
    std::stable_sort(found->begin(), found->end(),
                     [](const Detection& a, const Detection& b) { return a.score > b.score; });
    found->resize(limit_);
    std::stable_sort(found->begin(), found->end(), [](const Detection& a, const Detection& b) {
      return a.class_id < b.class_id;
    });
  }

  void WriteDetections(const std::vector<std::vector<Detection>>& images,
                       const std::vector<int64_t>& splits, int64_t total) {
    Output(0)->Resize(total);
    Output(1)->Resize(total, box_size());
    Output(2)->Resize(total);
    float *score = Output(0)->mutable_data<float>(), *box = Output(1)->mutable_data<float>();
    float* class_id = Output(2)->mutable_data<float>();
    const int64_t stride = Input(1).size(1);
    const float* boxes = Input(1).data<float>();
    for (size_t i = 0; i < images.size(); ++i) {
      for (const Detection& found : images[i]) {
        *score++ = found.score;
        *class_id++ = static_cast<float>(found.class_id - (count_background_ ? 0 : 1));
        box = std::copy_n(boxes + found.row * stride + BoxColumn(found.class_id) * box_size(),
                          box_size(), box);
      }
      boxes += splits[i] * stride;
    }
  }
  void WriteKept(const std::vector<std::vector<Detection>>& images, int64_t total) {
    Output(4)->Resize(total);
    Output(5)->Resize(static_cast<int64_t>(images.size()), classes_);
    int *kept = Output(4)->mutable_data<int>(), *counts = Output(5)->mutable_data<int>();
    std::fill_n(counts, Output(5)->numel(), 0);
    for (const auto& image : images) {
      for (const Detection& found : image) {
        *kept++ = static_cast<int>(found.row);
        ++counts[found.class_id];
      }
      counts += classes_;
    }
  }

  bool rotated_;
  float min_score_, threshold_;
  int64_t limit_;
  bool soft_, one_box_, background_first_, count_background_;
  SoftSuppression suppression_;
  BoxMeasure measure_;
  int64_t classes_ = 0;
};

}  // namespace

REGISTER_CPU_OPERATOR(BoxWithNMSLimit, BoxWithNMSLimitOp);
OPERATOR_SCHEMA(BoxWithNMSLimit)
    .NumInputs(2, 3)
    .NumOutputs(3, 6)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
      const int64_t images = in.size() > 2 && in[2].dims_size() > 0 ? in[2].dims(0) : 1;
      if (out.size() > 3) out[3] = CreateTensorShape({images}, TensorProto::FLOAT);
      if (out.size() > 5 && in[0].dims_size() > 1) {
        out[5] = CreateTensorShape({images, in[0].dims(1)}, TensorProto::INT32);
      }
      return out;
    })
    .SetDoc(
        "For each class but the background, drops boxes with low scores and boxes that overlap "
        "with better ones of their class; then keeps the best boxes of each image. The number of "
        "boxes that are left is known at run time only.")
    .Arg<float>("score_thresh", "(default 0.05) Scores must be above it.")
    .Arg<float>("nms", "(default 0.3) Two boxes overlap if intersection over union is above it.")
    .Arg<int>("detections_per_im", "(default 100) The most detections of an image; 0: all.")
    .Arg<bool>("soft_nms_enabled",
               "(default 0) 1: boxes that overlap lose score instead of being dropped (Bodla et "
               "al., ICCV 2017).")
    .ArgOneOf("soft_nms_method", {"linear", "gaussian"},
              "(default linear) linear: the score times 1 - overlap; gaussian: times e^(-overlap^2 "
              "/ sigma).")
    .Arg<float>("soft_nms_sigma", "(> 0, default 0.5) The sigma of gaussian.")
    .Arg<float>("soft_nms_min_score_thres", "(default 0.001) Boxes with lower scores are dropped.")
    .Arg<bool>("rotated",
               "(default 0) 1: boxes are x and y of the centre, width, height and angle in degrees "
               "counter-clockwise.")
    .Arg<bool>("cls_agnostic_bbox_reg", "(default 0) 1: one box for all classes.")
    .Arg<bool>("input_boxes_include_bg_cls",
               "(default 1) 1: the background is column 0. 0: boxes have no background, and it is "
               "the last column of the scores.")
    .Arg<bool>("output_classes_include_bg_cls",
               "(default 1) 1: classes count from 1, because the background is 0. 0: from 0.")
    .Arg<bool>("legacy_plus_one", "(default 1) 1: boxes are x2 - x1 + 1 wide. 0: x2 - x1.")
    .Input(0, "scores", "Float N x C.")
    .Input(1, "boxes",
           "Float N x 4C: x1, y1, x2, y2 for each class; N x 4(C - 1) if "
           "input_boxes_include_bg_cls is 0, N x 4 if cls_agnostic_bbox_reg is 1. Rotated: 5 "
           "numbers for each box.")
    .Input(2, "batch_splits",
           "Optional, float, int32 or int64: the number of rows of each image. Default: one image.")
    .Output(0, "scores", "Float n: the scores of the detections, by image and class.")
    .Output(1, "boxes", "Float n x 4: their boxes. Rotated: n x 5.")
    .Output(2, "classes", "Float n: their classes.")
    .Output(3, "batch_splits", "Optional float: the number of detections of each image.")
    .Output(4, "keeps", "Optional int32 n: their rows, counted within the image.")
    .Output(5, "keeps_size", "Optional int32, images x C: the number of detections by class.")
    .CpuOnly(cpu_only::kBoxes);
SHOULD_NOT_DO_GRADIENT(BoxWithNMSLimit);

}  // namespace caffe2
