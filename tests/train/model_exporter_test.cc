#include "train/model_exporter.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/db/temporary_directory.h"
#include "tests/train/train_test_util.h"

namespace caffe2::testing {
namespace {

float* Parameter(Workspace* ws) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob("w"), Device{});
  tensor->Resize(int64_t{1} << 20);
  return tensor->mutable_data<float>();
}

PredictorExportMeta Meta() {
  PredictorExportMeta meta;
  meta.predict_net.set_name("predict");
  meta.parameters = {"w"};
  meta.inputs = {"data"};
  meta.outputs = {"softmax"};
  return meta;
}

// The first and the last value of the parameter in a model.
std::pair<float, float> Values(const std::string& path) {
  Workspace ws;
  LoadPredictor(path, &ws);
  const Tensor& tensor = ws.GetBlob("w")->Get<Tensor>();
  const float* data = tensor.data<float>();
  return {data[0], data[tensor.numel() - 1]};
}

TEST(ModelExporterTest, WritesTheParametersAsTheyWere) {
  const TemporaryDirectory directory;
  const std::vector<std::string> paths = {directory.Path("a.mdl"), directory.Path("b.mdl")};
  Workspace ws;
  float* w = Parameter(&ws);
  ModelExporter exporter(nullptr);
  std::fill(w, w + (1 << 20), 1.f);
  exporter.Export(Meta(), ws, paths);
  std::fill(w, w + (1 << 20), 2.f);  // training goes on
  exporter.Export(Meta(), ws, {directory.Path("c.mdl")});
  std::fill(w, w + (1 << 20), 3.f);
  exporter.Finish();
  EXPECT_EQ(exporter.TakeWritten(),
            (std::vector<std::string>{paths[0], paths[1], directory.Path("c.mdl")}));
  EXPECT_TRUE(exporter.TakeWritten().empty());
  for (const std::string& path : paths) EXPECT_EQ(Values(path), std::make_pair(1.f, 1.f));
  EXPECT_EQ(Values(directory.Path("c.mdl")), std::make_pair(2.f, 2.f));
}

TEST(ModelExporterTest, ModelsCarryTheNamesOfTheirClasses) {
  const TemporaryDirectory directory;
  TrainOptions options = SmallRun(directory.Path("none"), "mlp", 8, 2);
  EXPECT_EQ(ExportMetaOf(options, 0).application_info.count(kClassNames), 0u);
  options.data.class_names = {"cat", "dog\x1b[2J"};
  PredictorExportMeta meta = Meta();
  meta.application_info = ExportMetaOf(options, 0).application_info;
  Workspace ws;
  Parameter(&ws);
  SavePredictor(meta, &ws, {directory.Path("a.mdl")});
  const Predictor predictor = LoadPredictor(directory.Path("a.mdl"), &ws);
  EXPECT_EQ(predictor.ClassNames(), (std::vector<std::string>{"cat", "dog?[2J"}));
  EXPECT_TRUE(Predictor().ClassNames().empty());
}

TEST(ModelExporterTest, ModelsCarryTheirNetwork) {
  const TemporaryDirectory directory;
  TrainOptions options = SmallRun(directory.Path("none"), "mlp", 8, 2);
  options.model.shape.hidden = {20, 30};
  options.model.shape.small_stem = true;
  PredictorExportMeta meta = Meta();
  meta.application_info = ExportMetaOf(options, 0).application_info;
  Workspace ws;
  Parameter(&ws);
  SavePredictor(meta, &ws, {directory.Path("a.mdl")});
  const Predictor predictor = DescribePredictor(directory.Path("a.mdl"));
  EXPECT_EQ(predictor.application_info, meta.application_info);
  EXPECT_EQ(predictor.parameters, meta.parameters);
  const auto& info = predictor.application_info;
  EXPECT_EQ(info.at("network"), "mlp");
  EXPECT_EQ(info.at("hidden"), "20,30");
  EXPECT_EQ(info.at("small_stem"), "true");
  EXPECT_EQ(info.at("num_labels"), std::to_string(options.model.shape.num_labels));
  EXPECT_THROW(DescribePredictor(directory.Path("none.mdl")), IoError);
}

TEST(ModelExporterTest, AModelThatIsNotWrittenIsAnErrorOnlyAtTheEnd) {
  const TemporaryDirectory directory;
  const std::string missing = directory.Path("missing/a.mdl"), good = directory.Path("b.mdl");
  Workspace ws;
  Parameter(&ws)[0] = 1.f;
  ModelExporter exporter(nullptr);
  exporter.Export(Meta(), ws, {missing});
  exporter.Export(Meta(), ws, {good});
  exporter.Finish();
  EXPECT_EQ(exporter.TakeWritten(), std::vector<std::string>{good});
  exporter.Export(Meta(), ws, {missing});
  EXPECT_THROW(exporter.Finish(), IoError);
  exporter.Finish();  // reported once
  EXPECT_TRUE(exporter.TakeWritten().empty());
}

}  // namespace
}  // namespace caffe2::testing
