// What travels in notifications: log levels and lines, progress, and which changes a client wants
// to hear of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/json/raw_json.hpp"
#include "godwit/rpc/meta.hpp"

namespace godwit::inline v0 {

/// By rising severity, as in syslog.
enum class LoggingLevel : std::uint8_t {
  debug,
  info,
  notice,
  warning,
  error,
  critical,
  alert,
  emergency
};

struct LoggingMessage {
  LoggingLevel level = LoggingLevel::info;
  std::optional<std::string> logger{};
  RawJson data{};

  bool operator==(const LoggingMessage&) const = default;
};

struct Progress {
  rpc::ProgressToken progressToken{};
  double progress = 0;
  std::optional<double> total{};
  std::optional<std::string> message{};

  bool operator==(const Progress&) const = default;
};

/// The changes a client listens for.
struct SubscriptionFilter {
  std::optional<bool> toolsListChanged{};
  std::optional<bool> promptsListChanged{};
  std::optional<bool> resourcesListChanged{};
  std::optional<std::vector<std::string>> resourceSubscriptions{};

  bool operator==(const SubscriptionFilter&) const = default;
};

}  // namespace godwit::inline v0
