#include "train/observe/metrics_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>

#include "caffe2/core/exit_code.h"
#include "distributed/peer_sockets.h"
#include "distributed/tcp_port.h"

namespace caffe2 {
namespace {

constexpr char kLoopback[] = "127.0.0.1";

Socket Connect(int port) {
  Socket made(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(made.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return made;
}

// What the server answers to the bytes, until it closes the connection.
std::string Ask(int port, const std::string& request) {
  const Socket connection = Connect(port);
  EXPECT_EQ(send(connection.fd(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char part[4096];
  for (ssize_t n; (n = recv(connection.fd(), part, sizeof part, 0)) > 0;) {
    answer.append(part, static_cast<size_t>(n));
  }
  return answer;
}

std::string Request(const std::string& method, const std::string& path) {
  return method + " " + path + " HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
}

std::string Body(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
std::string FirstLine(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

TEST(MetricsServerTest, EachRequestGetsTheTextOfItsTime) {
  std::atomic<int> count{0};
  MetricsServer server(kLoopback, 0, [&] { return MakeString("metric ", ++count, "\n"); });
  for (int i = 1; i < 4; ++i) {
    const std::string answer = Ask(server.port(), Request("GET", "/metrics"));
    EXPECT_EQ(FirstLine(answer), "HTTP/1.1 200 OK");
    EXPECT_NE(answer.find("text/plain; version=0.0.4"), std::string::npos) << answer;
    EXPECT_EQ(Body(answer), MakeString("metric ", i, "\n"));
  }
  EXPECT_EQ(Body(Ask(server.port(), Request("HEAD", "/metrics"))), "");
}

TEST(MetricsServerTest, OtherPathsAndMethodsAreRefused) {
  MetricsServer server(kLoopback, 0, [] { return std::string("secret"); });
  for (const char* path : {"/", "/metricsx", "/../metrics"}) {
    const std::string answer = Ask(server.port(), Request("GET", path));
    EXPECT_EQ(FirstLine(answer), "HTTP/1.1 404 Not Found");
    EXPECT_EQ(answer.find("secret"), std::string::npos);
  }
  const std::string post =
      Ask(server.port(),
          "POST /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(FirstLine(post), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(Ask(server.port(), "this is not HTTP\r\n\r\n").find("secret"), std::string::npos);
}

TEST(MetricsServerTest, EndsWithConnectionsThatSayNothing) {
  int port = 0;
  Socket idle;
  {
    MetricsServer server(kLoopback, 0, [] { return std::string("text\n"); });
    port = server.port();
    idle = Connect(port);
    EXPECT_EQ(Body(Ask(port, Request("GET", "/metrics"))), "text\n");
  }
  char byte;
  EXPECT_LE(recv(idle.fd(), &byte, 1, 0), 0);
  EXPECT_FALSE(AcceptsConnections(kLoopback, port, milliseconds(1000)));
}

TEST(MetricsServerTest, APortThatIsInUseIsNamed) {
  const PeerListener taken(kLoopback, PortRange());
  try {
    MetricsServer server(kLoopback, taken.port(), [] { return std::string(); });
    FAIL() << "no error";
  } catch (const IoError& error) {
    EXPECT_EQ(ExitCodeOf(error), ExitCode::kSystem);
    EXPECT_NE(std::string(error.what()).find(MakeString(kLoopback, ":", taken.port(), ": another")),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(MetricsServer("192.0.2.1", taken.port(), [] { return std::string(); }), IoError);
}

}  // namespace
}  // namespace caffe2
