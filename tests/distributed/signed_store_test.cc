#include "distributed/signed_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/usage_error.h"
#include "caffe2/core/workspace.h"
#include "distributed/file_store_handler.h"
#include "distributed/gloo_communicator.h"
#include "distributed/memory_store_handler.h"
#include "tests/distributed/run_membership_test_util.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

constexpr char kSecret[] = "0123456789abcdef";

class SignedStoreTest : public ::testing::Test {
 protected:
  void ExpectRefused(const std::string& key, const std::string& why) {
    const auto read = [&] { signed_("run")->TryGet(key); };
    EXPECT_HAS(ErrorOf(read), MakeString("the value of key run/", key, " ", why));
    EXPECT_HAS(ErrorOf(read), "memory");  // the store
    try {
      read();
    } catch (const std::exception& error) {
      EXPECT_EQ(ExitCodeOf(error), ExitCode::kNotPermitted);
    }
  }

  const StoreFactory plain_ = MemoryStores();
  const StoreFactory signed_ = SignedStores(plain_, kSecret);
};

// The signature by Python: hmac.new(b"0123456789abcdef", b"7:run/keyvvalue", "sha256").
TEST_F(SignedStoreTest, SignsKeyAndValueWithHmacSha256) {
  signed_("run")->Set("key", "value");
  EXPECT_EQ(plain_("run")->Get("key"),
            "hmac-sha256 248bf227ef1b25afa8ba2f03d8e049051d03ad6f35c2822a2415df0e572638f0 vvalue");
}

TEST_F(SignedStoreTest, RefusesValuesThatNobodySigned) {
  plain_("run")->Set("key", "value");
  ExpectRefused("key", "is not signed");
  plain_("run")->Put("key", "hmac-sha256 short");
  ExpectRefused("key", "is not signed");
  plain_("run")->Put("key", "hmac-sha256 " + std::string(64, '0') + " vvalue");
  ExpectRefused("key", "has a wrong signature");
}

TEST_F(SignedStoreTest, RefusesChangedAndMovedValuesAndOtherSecrets) {
  signed_("run")->Set("key", "value");
  const std::string text = plain_("run")->Get("key");
  plain_("run")->Set("other", text);
  ExpectRefused("other", "has a wrong signature");
  plain_("ru")->Set("n/key", text);
  EXPECT_HAS(ErrorOf([&] { signed_("ru")->TryGet("n/key"); }), "has a wrong signature");
  for (size_t i = 12; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    plain_("run")->Put("key", changed);
    if (i != kSignatureBytes - 2) ExpectRefused("key", "has a wrong signature");  // the blank
  }
  SignedStores(plain_, "0123456789abcdeF")("run")->Put("key", "value");
  ExpectRefused("key", "has a wrong signature");
}

TEST_F(SignedStoreTest, RefusesForgedCounters) {
  auto store = signed_("run");
  EXPECT_EQ(store->Add("count", 2), 2);
  EXPECT_EQ(store->Add("count", 3), 5);
  plain_("run")->Put("count+3", "1000");
  EXPECT_HAS(ErrorOf([&] { store->Add("count", 1); }), "key run/count+3 is not signed");
  EXPECT_HAS(ErrorOf([&] { store->TryGet("count"); }), "key run/count+3 is not signed");
  store->Set("value", "7");
  EXPECT_HAS(ErrorOf([&] { store->Add("value", 1); }), "key run/value is not a counter");
}

// Gloo must not connect to an address that somebody else put there.
TEST_F(SignedStoreTest, AForgedAddressIsNotDialled) {
  plain_("run")->Set("world/1", "host=a pid=1 boot=b 127.0.0.1|1|-1|1 -");
  CommunicatorOptions options;
  options.size = 2;
  options.name = "world";
  options.timeout = milliseconds(5000);
  EXPECT_HAS(ErrorOf([&] { ConnectGloo(signed_("run").get(), options); }),
             "key run/world/1 is not signed");
}

TEST_F(SignedStoreTest, AShardWithoutTheSecretIsToldWhy) {
  std::vector<std::string> errors(2);
  RunThreads(2, [&](int shard) {
    RunOptions options = Options(2, shard);
    options.join_timeout = milliseconds(3000);
    errors[shard] = ErrorOf([&] { RunMembership::Join(shard == 0 ? signed_ : plain_, options); });
  });
  const bool told = errors[0].find("--secret_file") != std::string::npos ||
                    errors[1].find("--secret_file") != std::string::npos;
  EXPECT_TRUE(told) << errors[0] << "\n" << errors[1];
}

// As Python scripts make their stores: the secret comes from the environment, never from the net.
TEST(SignedStoreOperatorTest, SignsWithTheSecretOfTheEnvironment) {
  TemporaryDirectory directory;
  const std::string secret = directory.path() + "/secret";
  std::ofstream(secret) << kSecret << "\n";
  chmod(secret.c_str(), 0600);
  OperatorDef create;
  create.set_type("FileStoreHandlerCreate");
  create.add_output("store");
  *create.add_arg() = MakeArgument("path", directory.path());
  *create.add_arg() = MakeArgument("prefix", std::string("run"));
  setenv("CAFFE2_SECRET_FILE", secret.c_str(), 1);
  Workspace ws;
  ws.RunOperatorOnce(create);
  unsetenv("CAFFE2_SECRET_FILE");
  StoreHandler* store = ws.GetBlob("store")->Get<std::unique_ptr<StoreHandler>>().get();
  store->Set("key", "value");
  EXPECT_EQ(store->Get("key"), "value");
  const StoreFactory plain = FileStores(directory.path());
  EXPECT_HAS(plain("run")->Get("key"), "hmac-sha256 ");
  plain("run")->Put("key", "forged");
  EXPECT_HAS(ErrorOf([&] { store->Get("key"); }), "the value of key run/key is not signed");

  *create.add_arg() = MakeArgument("secret_file", secret);
  EXPECT_HAS(ErrorOf([&] { ws.RunOperatorOnce(create); }), "argument secret_file");
}

TEST(FindStoreSecretTest, ReadsPrivateFilesOnly) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/secret";
  std::ofstream(path) << kSecret << "\nsecond line\n";
  chmod(path.c_str(), 0600);
  EXPECT_EQ(FindStoreSecret(path), kSecret);
  setenv("CAFFE2_SECRET_FILE", path.c_str(), 1);
  EXPECT_EQ(FindStoreSecret(), kSecret);
  unsetenv("CAFFE2_SECRET_FILE");
  EXPECT_EQ(FindStoreSecret(), "");
  chmod(path.c_str(), 0604);
  EXPECT_HAS(ErrorOf([&] { FindStoreSecret(path); }), "chmod 600");
  chmod(path.c_str(), 0600);
  std::ofstream(path) << "short";
  EXPECT_HAS(ErrorOf([&] { FindStoreSecret(path); }), "5 bytes; it needs 16");
  EXPECT_HAS(ErrorOf([&] { FindStoreSecret(directory.path() + "/none"); }),
             "cannot read the secret file");
}

}  // namespace
}  // namespace caffe2::testing
