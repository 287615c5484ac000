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
  SsePart part;
  write_event_part(out, event, part, std::string::npos);
}

bool write_event_part(std::string& out, const SseEvent& event, SsePart& part, std::size_t most) {
  if (!part.begun) {
    check_line(event.event, "type");
    if (event.id) check_line(*event.id, "id");
    if (!event.event.empty()) write_line(out, "event", event.event);
    if (event.id) write_line(out, "id", *event.id);
    if (event.retry) write_line(out, "retry", std::to_string(*event.retry));
    part.begun = true;
  }
  do {
    // Also if there is no data: readers skip an event without a line of it.
    if (!part.in_line) out += "data: ";
    part.in_line = true;
    const std::string_view rest = event.data.substr(part.offset);
    const std::string_view piece = rest.substr(0, most - std::min(most, out.size()));
    const std::size_t end = std::min(piece.find_first_of("\r\n"), piece.size());
    out += piece.substr(0, end);
    part.offset += end;
    if (end < piece.size()) {
      out += '\n';
      part.offset += rest.substr(end).starts_with("\r\n") ? 2u : 1u;
      part.in_line = false;
    } else if (end == rest.size()) {
      out += "\n\n";
      return true;
    }
  } while (out.size() < most);
  return false;
}

void write_comment(std::string& out) { out += ":\n\n"; }

}  // namespace godwit::inline v0::http
