// A page for programs that collect metrics over HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace caffe2 {

// Answers GET and HEAD of http://<address>:<port>/metrics with `text()` in Prometheus' text format,
// and nothing else. A thread of its own calls `text`. At most 16 connections are open at a time; an
// idle one is closed after ten seconds. There is no password and no TLS: anyone who reaches the
// port can read the metrics.
class MetricsServer {
 public:
  // `address` is a name or an IP address of this host; port 0 chooses a free port. Throws IoError,
  // which names both, if the port is in use (kSystem) or needs permission, or if the address does
  // not belong to this host.
  MetricsServer(const std::string& address, int port, std::function<std::string()> text);
  // Closes the port and all connections.
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  int port() const;

 private:
  struct Daemon;
  const std::function<std::string()> text_;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace caffe2
