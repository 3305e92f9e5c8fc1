#include "distributed/redis_tls.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "caffe2/core/exit_code.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// A server with a certificate for 127.0.0.1, signed by an authority of the test's own.
class RedisTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Authority("ca");
    Certificate("server", "IP:127.0.0.1");
    Certificate("client", "DNS:client");
    if (failed_) GTEST_SKIP() << "openssl is not installed";
  }

  std::string File(const std::string& name) const { return directory_.path() + "/" + name; }

  void Shell(const std::string& command) {
    const std::string all = "cd " + directory_.path() + " && (" + command + ") >/dev/null 2>&1";
    failed_ = failed_ || std::system(all.c_str()) != 0;
  }
  void Authority(const std::string& name) {
    Shell("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=" + name + " -keyout " +
          name + ".key -out " + name + ".pem");
  }
  void Certificate(const std::string& name, const std::string& subject, int days = 2) {
    std::ofstream(File(name + ".ext")) << "subjectAltName=" << subject << "\n";
    Shell("openssl req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name +
          ".key -out " + name + ".csr && openssl x509 -req -in " + name +
          ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days " + std::to_string(days) +
          " -extfile " + name + ".ext -out " + name + ".pem");
  }

  // Listens with TLS on the port of the options, which trust the authority.
  std::unique_ptr<PrivateRedis> Start(const std::string& certificate, bool asks_for_certificates) {
    const int tls_port = FreePort();
    auto redis = std::make_unique<PrivateRedis>(std::vector<std::string>{
        "--tls-port", std::to_string(tls_port), "--tls-cert-file", File(certificate + ".pem"),
        "--tls-key-file", File(certificate + ".key"), "--tls-ca-cert-file", File("ca.pem"),
        "--tls-auth-clients", asks_for_certificates ? "yes" : "no"});
    options_ = redis->options();
    plain_port_ = options_.port;
    options_.port = tls_port;
    options_.tls = true;
    options_.ca_file = File("ca.pem");
    return redis;
  }

  std::string ErrorOfUse(ExitCode expected) const {
    try {
      NewRedisStore(options_, "run")->Set("key", "value");
    } catch (const std::exception& error) {
      EXPECT_EQ(ExitCodeOf(error), expected) << error.what();
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  RedisOptions options_;
  int plain_port_ = 0;
  bool failed_ = false;
};

TEST_F(RedisTlsTest, StoresThroughTls) {
  const auto redis = Start("server", false);
  REQUIRE_REDIS(*redis);
  const std::string large(StoreHandler::kMaxValueBytes, '\xff');
  auto store = NewRedisStore(options_, "run");
  store->Set("key", large);
  EXPECT_EQ(store->Get("key"), large);
  EXPECT_EQ(store->Add("count", 3), 3);
  RedisOptions plain = options_;
  plain.tls = false;
  plain.port = plain_port_;
  EXPECT_EQ(NewRedisStore(plain, "run")->Get("key"), large);  // the same server
}

TEST_F(RedisTlsTest, RefusesServersThatTheAuthorityDoesNotVouchFor) {
  Authority("other");
  const auto redis = Start("server", false);
  REQUIRE_REDIS(*redis);
  options_.ca_file = File("other.pem");
  EXPECT_HAS(ErrorOfUse(ExitCode::kNotPermitted), "the server's certificate is refused");
  options_.ca_file = "";  // the system's authorities
  EXPECT_HAS(ErrorOfUse(ExitCode::kNotPermitted), "--redis_ca_file");
  options_.ca_file = File("none.pem");
  EXPECT_HAS(ErrorOfUse(ExitCode::kNoInput), File("none.pem"));
}

TEST_F(RedisTlsTest, RefusesACertificateOfAnotherHost) {
  Certificate("elsewhere", "IP:127.0.0.2");
  const auto redis = Start("elsewhere", false);
  REQUIRE_REDIS(*redis);
  EXPECT_HAS(ErrorOfUse(ExitCode::kNotPermitted),
             "IP address mismatch; --redis_host must be a name");
}

TEST_F(RedisTlsTest, RefusesACertificateThatHasExpired) {
  Certificate("expired", "IP:127.0.0.1", -1);
  const auto redis = Start("expired", false);
  REQUIRE_REDIS(*redis);
  EXPECT_HAS(ErrorOfUse(ExitCode::kNotPermitted),
             "certificate has expired; renew it on the server");
}

TEST_F(RedisTlsTest, ShowsItsOwnCertificateToAServerThatAsks) {
  const auto redis = Start("server", true);
  REQUIRE_REDIS(*redis);
  EXPECT_HAS(ErrorOfUse(ExitCode::kNotPermitted), "give --redis_cert_file and --redis_key_file");
  options_.cert_file = File("client.pem");
  options_.key_file = File("client.key");
  EXPECT_EQ(ErrorOfUse(ExitCode::kDone), "no error");
}

TEST_F(RedisTlsTest, APortWithTlsIsNamedToThoseWhoDoNotSpeakIt) {
  const auto redis = Start("server", false);
  REQUIRE_REDIS(*redis);
  options_.tls = false;
  EXPECT_HAS(ErrorOfUse(ExitCode::kStoreUnreachable), "give --redis_tls");
}

TEST_F(RedisTlsTest, APortWithoutTlsIsRefusedAtOnce) {
  const auto redis = Start("server", false);
  REQUIRE_REDIS(*redis);
  options_.port = plain_port_;
  try {  // only what is not refused is tried again for an hour
    OpenStore(RedisStores(options_), "run", Deadline(std::chrono::hours(1)), nullptr);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(ExitCodeOf(error), ExitCode::kStoreUnreachable);
    EXPECT_HAS(std::string(error.what()), "the server speaks no TLS on this port");
  }
}

}  // namespace
}  // namespace caffe2::testing
