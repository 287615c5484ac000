#include "godwit/http/sse_event.hpp"

#include <algorithm>
#include <stdexcept>

namespace godwit::inline v0::http {

namespace {

void check_line(std::string_view text, const char* what) {
  if (text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos) return;
  throw std::invalid_argument(std::string("godwit: the ") + what +
                              " of an event holds a line break or NUL");
}

void write_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += '\n';
}

}  // namespace

void write_event(std::string& out, const SseEvent& event) {
  check_line(event.event, "type");
  if (event.id) check_line(*event.id, "id");
  if (!event.event.empty()) write_line(out, "event", event.event);
  if (event.id) write_line(out, "id", *event.id);
  if (event.retry) write_line(out, "retry", std::to_string(*event.retry));
  // Also if there is no data: readers skip an event without a line of it.
  std::string_view data = event.data;
  for (;;) {
    const std::size_t end = std::min(data.find_first_of("\r\n"), data.size());
    write_line(out, "data", data.substr(0, end));
    if (end == data.size()) break;
    data.remove_prefix(data.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  out += '\n';
}

void write_comment(std::string& out) { out += ":\n\n"; }

}  // namespace godwit::inline v0::http
