// Metrics: numbers about a server for Prometheus: requests by method and outcome, how long they
// took, sessions, open streams, bytes.
//
//   auto metrics = std::make_shared<Metrics>();
//   server.use(metrics->middleware());           // before the first connection
//   options.endpoint.metrics = metrics;          // served at EndpointOptions::metrics_path
//
// Threads: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "godwit/base/clock.hpp"
#include "godwit/base/export.hpp"
#include "godwit/rpc/router.hpp"

namespace godwit::inline v0 {

class GODWIT_API Metrics {
 public:
  /// For Server::use(). Counts every call around which it runs: by the name of its method if the
  /// protocol has it or the program added it, else as "unknown". The Metrics must outlive the
  /// server.
  rpc::Middleware middleware();

  /// What one part of a server (a thread of it) has at the moment, and has moved so far.
  struct Part {
    std::size_t sessions = 0;
    std::size_t open_exchanges = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
  };
  void set(std::size_t part, const Part& numbers);

  /// In the text form of Prometheus.
  std::string text() const;

 private:
  static constexpr std::size_t buckets = 7;
  struct Series {
    std::uint64_t good = 0;
    std::uint64_t failed = 0;
    std::array<std::uint64_t, buckets> within{};  // by upper bound, each counted once
    double seconds = 0;
  };
  void learn(std::string_view method);
  void count(std::string_view method, bool failed, Duration took);

  mutable std::mutex mutex_;
  std::map<std::string, Series, std::less<>> methods_;
  std::map<std::size_t, Part> parts_;
};

}  // namespace godwit::inline v0
