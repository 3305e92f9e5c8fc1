#include "caffe2/core/blob_serialization.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::map<std::string, int64_t> Sizes(const Workspace& ws) {
  const auto names = FetchValues<std::string>(ws, "names");
  const auto sizes = FetchValues<int64_t>(ws, "sizes");
  for (const char* name : {"names", "sizes"}) NoteCompared(ws, name);  // by each caller
  std::map<std::string, int64_t> result;
  for (size_t i = 0; i < names.size(); ++i) result[names[i]] = sizes[i];
  return result;
}

TEST(EstimateAllBlobSizesOpTest, BlobsOfTheWorkspaceAndOptions) {
  Workspace parent;
  Workspace ws(&parent);
  Feed<float>(&parent, "of_parent", {2}, {1, 2});
  Feed<float>(&ws, "rounded", {1000}, std::vector<float>(1000, 1.f));
  Feed<int64_t>(&ws, "long", {1000}, std::vector<int64_t>(1000, -1));
  ws.CreateBlob("counter")->GetMutable<int>();
  SerializationOptions options;
  options.add_options()->set_blob_name_regex("rounded");
  options.mutable_options(0)->set_float_format(BlobSerializationOptions::FLOAT_BFLOAT16);
  options.mutable_options(0)->set_chunk_size(100);
  const auto args = [&](int include_shared) {
    return std::vector<Argument>{MakeArgument<int>("include_shared", include_shared),
                                 MakeArgument<std::string>("options", options.SerializeAsString())};
  };
  RunOp(&ws, Op("EstimateAllBlobSizes", {}, {"names", "sizes"}, args(1)), true);
  const std::map<std::string, int64_t> expected = {
      {"of_parent", 59 + 8}, {"rounded", 10 * 57 + 2000}, {"long", 54 + 8000},
      {"counter", 0},        {"names", 55 + 6 * 50},      {"sizes", 55 + 6 * 8}};
  EXPECT_EQ(Sizes(ws), expected);
  // The estimate is near what is written.
  size_t written = 0;
  SerializeBlob(
      *ws.GetBlob("rounded"), "rounded",
      [&written](const std::string&, const std::string& value) { written += value.size(); },
      options.options(0));
  EXPECT_NEAR(static_cast<double>(written), 10 * 57 + 2000, 300);
  RunOp(&ws, Op("EstimateAllBlobSizes", {}, {"names", "sizes"}, args(0)), true);
  EXPECT_EQ(Sizes(ws).count("of_parent"), 0u);
}

}  // namespace
}  // namespace caffe2::testing
