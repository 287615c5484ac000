#include "encode.hpp"

#include "godwit/rpc/error_code.hpp"

namespace godwit::inline v0::rpc::detail {

void write_error(json::Writer& writer, const Error& error) {
  writer.begin_object();
  writer.key("code");
  writer.value(error.code);
  writer.key("message");
  writer.value(error.message);
  if (!error.data.empty()) {
    writer.key("data");
    writer.raw(error.data);
  }
  writer.end_object();
}

std::optional<Error> batch_problem(json::View array, const Rules& rules, const Limits& limits) {
  if (!rules.batch) {
    return invalid_request("batches are not part of this protocol; send one message at a time");
  }
  if (array.size() == 0) return invalid_request("an empty batch");
  if (array.size() > limits.batch_entries) {
    return invalid_request("a batch of " + std::to_string(array.size()) + " entries, more than " +
                           std::to_string(limits.batch_entries));
  }
  return std::nullopt;
}

}  // namespace godwit::inline v0::rpc::detail
