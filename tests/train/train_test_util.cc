#include "tests/train/train_test_util.h"

#include "caffe2/core/device_backend.h"
#include "caffe2/core/random.h"
#include "caffe2/proto/caffe_datum.pb.h"
#include "caffe2/utils/crc32.h"
#include "db/db.h"

namespace caffe2::testing {

void MakeImageDatabase(const std::string& path, int n, int side, int labels, uint64_t seed) {
  RandomGenerator random(seed);
  const auto database = db::CreateDB("minidb", path, db::NEW);
  const auto transaction = database->NewTransaction();
  for (int i = 0; i < n; ++i) {
    const int label = static_cast<int>(random.UniformInt(labels));
    std::string pixels(static_cast<size_t>(side) * side, '\0');
    for (char& pixel : pixels) pixel = static_cast<char>(random.UniformInt(64));
    const int row = label * side / labels;
    for (int column = 0; column < side; ++column) pixels[row * side + column] = '\xff';
    caffe::Datum datum;
    datum.set_channels(1);
    datum.set_height(side);
    datum.set_width(side);
    datum.set_data(pixels);
    datum.set_label(label);
    char key[16];
    std::snprintf(key, sizeof(key), "%08d", i);
    transaction->Put(key, datum.SerializeAsString());
  }
  transaction->Commit();
  database->Close();
}

TrainOptions SmallRun(const std::string& database, const std::string& network, int side,
                      int labels) {
  TrainOptions options;
  options.data.train_data = database;
  options.data.db_type = "minidb";
  options.data.image_scale = side;
  options.data.mirror = false;
  options.model.network = network;
  options.model.shape = {
      .image_size = side, .num_channels = 1, .num_labels = labels, .hidden = {16}};
  options.model.base_learning_rate = 0.05f;
  options.schedule.batch_size = 8;
  options.schedule.epoch_size = 80;
  options.schedule.num_epochs = 1;
  return options;
}

std::vector<float> Parameters(Trainer* trainer) {
  std::vector<float> values;
  for (const std::string& name : trainer->nets().params) {
    Tensor copy(CPU);
    const Blob* blob = trainer->workspace()->GetBlob(trainer->nets().scope + name);
    const Tensor& tensor = OnHost(blob->Get<Tensor>(), &copy);
    values.insert(values.end(), tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  return values;
}

std::string StateDigest(Trainer* trainer) {
  const TrainNets& nets = trainer->nets();
  std::vector<std::string> blobs = nets.optimizer_state;
  for (const auto& names : {nets.params, nets.ema.params, nets.AllStatistics()}) {
    for (const std::string& name : names) blobs.push_back(nets.scope + name);
  }
  uint32_t crc = 0;
  for (const std::string& name : blobs) {
    Tensor copy(CPU);
    const Tensor& tensor = OnHost(trainer->workspace()->GetBlob(name)->Get<Tensor>(), &copy);
    crc = Crc32(tensor.raw_data(), tensor.nbytes(), crc);
  }
  return MakeString(std::hex, crc);
}

}  // namespace caffe2::testing
