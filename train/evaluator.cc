#include "train/evaluator.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "caffe2/core/device_backend.h"
#include "db/db_reader.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

int64_t Rank(const float* scores, int64_t labels, int32_t label) {
  int64_t better = 0;
  for (int64_t j = 0; j < labels; ++j) {
    // Written so that a score that is not a number never counts as correct.
    better += j < label ? !(scores[j] < scores[label]) : !(scores[j] <= scores[label]);
  }
  return better;
}

void SumOverShards(TestSums* sums, ShardRun* run) {
  std::vector<double> parts = {static_cast<double>(sums->images), sums->loss,
                               static_cast<double>(sums->top1), static_cast<double>(sums->top5)};
  run->Sum(&parts);
  *sums = {static_cast<int64_t>(parts[0]), parts[1], static_cast<int64_t>(parts[2]),
           static_cast<int64_t>(parts[3])};
}

}  // namespace

void AddRows(const Tensor& softmax, const Tensor& label, int64_t rows, TestSums* sums) {
  CAFFE_ENFORCE(softmax.dim() == 2 && rows <= softmax.size(0),
                "the scores of a test batch must be a matrix with a row for each of ", rows,
                " images, found shape ", ShapeString(softmax.sizes()));
  const int64_t labels = softmax.size(1);
  const float* scores = softmax.data<float>();
  const int32_t* expected = label.data<int32_t>();
  for (int64_t i = 0; i < rows; ++i, scores += labels) {
    const int32_t wanted = expected[i];
    CAFFE_ENFORCE(wanted >= 0 && wanted < labels, "the label of a test image must be from 0 to ",
                  labels - 1, ", found ", wanted);
    const int64_t rank = Rank(scores, labels, wanted);
    sums->top1 += rank < 1;
    sums->top5 += rank < 5;
    sums->loss -= std::log(std::max(scores[wanted], 1e-20f));
  }
  sums->images += rows;
}

Evaluator::Evaluator(const TrainOptions& options, RecordKind kind, ModelView* view, ShardRun* run)
    : options_(options), view_(view), run_(run), nets_(BuildTestNets(options, kind)) {
  Workspace* ws = view->workspace();
  view->Refresh();  // the net needs its inputs
  ws->RunNetOnce(nets_.init);
  ws->CreateNet(nets_.net);
  records_ = Reader()->NumRecords();
  const int64_t limit = options.schedule.test_epoch_size;
  if (limit > 0) records_ = std::min(records_, limit);
  const auto& worst = options.output.worst_images;
  const std::string text = run->Broadcast(worst ? std::to_string(*worst) : "");
  if (!text.empty()) worst_images_ = std::stoi(text);
}

db::DBReader* Evaluator::Reader() const {
  return view_->workspace()
      ->GetBlob(kTestReader)
      ->GetMutable<std::unique_ptr<db::DBReader>>()
      ->get();
}

int64_t Evaluator::RecordsOfShard() const {
  const int64_t first = run_->shard_id(), step = run_->num_shards();
  return first < records_ ? (records_ - first + step - 1) / step : 0;
}

void Evaluator::NotePredictions(const Tensor& softmax, const Tensor& label, int64_t rows,
                                int64_t first, TestPredictions* predictions) const {
  const int64_t labels = softmax.size(1);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t record = (first + i) * run_->num_shards() + run_->shard_id();
    predictions->Add(record, label.data<int32_t>()[i], softmax.data<float>() + i * labels, labels);
  }
}

std::shared_ptr<const TestPredictions> Evaluator::GatherPredictions(const TestPredictions& own) {
  auto all = std::make_shared<TestPredictions>(*worst_images_);
  for (const std::string& part : run_->Gather(own.Encode())) all->Merge(part);
  if (!run_->IsWriter()) return nullptr;
  for (WrongImage& image : *all->mutable_worst()) {
    db::Record record;
    Reader()->ReadRecord(image.record, &record);
    image.key = record.key;
    image.record = Reader()->IndexInDatabase(image.record);
  }
  return all;
}

TestReport Evaluator::Run() {
  const auto start = Clock::now();
  Workspace* ws = view_->workspace();
  view_->Refresh();
  // Start at the shard's first record; drop the records that the last test has read ahead.
  Reader()->Restore(0);
  TestSums sums;
  TestPredictions predictions(worst_images_.value_or(0));
  const int64_t records = RecordsOfShard();
  while (sums.images < records) {
    ws->RunNet(nets_.net.name());
    // The last batch also has records that are counted already.
    const int64_t rows = std::min(options_.schedule.batch_size, records - sums.images);
    Tensor softmax_copy(CPU), label_copy(CPU);
    const Tensor& softmax = OnHost(ws->GetBlob(nets_.softmax)->Get<Tensor>(), &softmax_copy);
    const Tensor& label = OnHost(ws->GetBlob(nets_.label)->Get<Tensor>(), &label_copy);
    const int64_t first = sums.images;
    AddRows(softmax, label, rows, &sums);
    if (worst_images_) NotePredictions(softmax, label, rows, first, &predictions);
  }
  SumOverShards(&sums, run_);
  TestReport report;
  report.images = sums.images;
  const auto images = static_cast<double>(std::max<int64_t>(sums.images, 1));
  report.loss = sums.loss / images;
  report.accuracy = static_cast<double>(sums.top1) / images;
  report.accuracy_top5 = static_cast<double>(sums.top5) / images;
  if (worst_images_) report.predictions = GatherPredictions(predictions);
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace caffe2
