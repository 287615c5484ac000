#include "godwit/web/metrics.hpp"

#include <algorithm>

#include "godwit/mcp/service.hpp"
#include "mcp/era/eras.hpp"

namespace godwit::inline v0 {

namespace {

/// Upper bounds in seconds, without the last, which has none.
constexpr std::array<double, 6> bounds = {0.0001, 0.001, 0.01, 0.1, 1, 10};
constexpr std::array<std::string_view, 7> bound_names = {"0.0001", "0.001", "0.01", "0.1",
                                                         "1",      "10",    "+Inf"};
/// Whoever calls makes up names of methods. Those that do not exist are counted as one.
constexpr std::string_view unknown = "unknown";

bool is_of_protocol(std::string_view method) { return mcp::Eras::built_in().know(method); }

/// The value of a label: any text, in which three characters are escaped.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out += '"';
}

void line(std::string& out, std::string_view name, std::string_view labels,
          std::string_view value) {
  out.append("godwit_").append(name).append(labels).append(" ").append(value).append("\n");
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP godwit_").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE godwit_").append(name).append(" ").append(type).append("\n");
}

}  // namespace

rpc::Middleware Metrics::middleware() {
  return {.before = [this](rpc::Context& context) -> Result<void> {
            const std::string_view method = context.method();
            if (is_of_protocol(method)) return {};
            Service::Session* const session = Service::session_of(context);
            if (session && session->has_method(method)) learn(method);
            return {};
          },
          .after =
              [this](rpc::Outcome& outcome) {
                count(outcome.method(), outcome.error() != nullptr, outcome.took());
              }};
}

void Metrics::learn(std::string_view method) {
  const std::lock_guard lock(mutex_);
  if (methods_.find(method) == methods_.end()) methods_.try_emplace(std::string(method));
}

void Metrics::count(std::string_view method, bool failed, Duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const std::lock_guard lock(mutex_);
  auto found = methods_.find(method);
  if (found == methods_.end()) {
    found = methods_.try_emplace(std::string(is_of_protocol(method) ? method : unknown)).first;
  }
  Series& series = found->second;
  ++(failed ? series.failed : series.good);
  series.seconds += seconds;
  std::size_t bucket = 0;
  while (bucket < bounds.size() && seconds > bounds[bucket]) ++bucket;
  ++series.within[bucket];
}

void Metrics::set(std::size_t part, const Part& numbers) {
  const std::lock_guard lock(mutex_);
  parts_[part] = numbers;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  head(out, "requests_total", "counter", "Requests and notifications, by method and outcome.");
  for (const auto& [method, series] : methods_) {
    const std::string label = "{method=" + quoted(method) + ",outcome=";
    line(out, "requests_total", label + "\"ok\"}", std::to_string(series.good));
    line(out, "requests_total", label + "\"error\"}", std::to_string(series.failed));
  }
  head(out, "request_seconds", "histogram", "From the arrival of a request to its answer.");
  for (const auto& [method, series] : methods_) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
      sum += series.within[i];
      line(out, "request_seconds_bucket",
           "{method=" + quoted(method) + ",le=\"" + std::string(bound_names[i]) + "\"}",
           std::to_string(sum));
    }
    const std::string label = "{method=" + quoted(method) + "}";
    line(out, "request_seconds_sum", label, std::to_string(series.seconds));
    line(out, "request_seconds_count", label, std::to_string(sum));
  }
  Part all;
  for (const auto& [number, part] : parts_) {
    all.sessions += part.sessions;
    all.open_exchanges += part.open_exchanges;
    all.bytes_in += part.bytes_in;
    all.bytes_out += part.bytes_out;
  }
  head(out, "sessions", "gauge", "Stateful clients that have a session.");
  line(out, "sessions", "", std::to_string(all.sessions));
  head(out, "open_exchanges", "gauge", "HTTP requests and streams that are open.");
  line(out, "open_exchanges", "", std::to_string(all.open_exchanges));
  head(out, "received_bytes_total", "counter", "Bytes of messages received.");
  line(out, "received_bytes_total", "", std::to_string(all.bytes_in));
  head(out, "sent_bytes_total", "counter", "Bytes of messages sent.");
  line(out, "sent_bytes_total", "", std::to_string(all.bytes_out));
  return out;
}

}  // namespace godwit::inline v0
