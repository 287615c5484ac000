#include "godwit/rpc/transport.hpp"

#include "godwit/rpc/message.hpp"

namespace godwit::inline v0::rpc {

Receiver::~Receiver() = default;
void Receiver::on_failure(const Id& id, const Error& error) {
  on_message(serialize(make_error(id, error)), 0);
}

Output::~Output() = default;
Transport::~Transport() = default;

void Output::finish_answer(std::size_t begin, const Error*) { finish_message(begin); }
void Output::set_fields(const MessageFields&) {}
bool Output::refuse(const Error&) { return false; }
Route Output::route() const noexcept { return 0; }
void Output::set_route(Route) {}
void Output::unanswered(Route) {}
bool Output::give_up(Route) noexcept { return false; }
void Output::let_go(Route) {}

void MessageSink::finish_message(std::size_t begin) {
  // The receiver of the message may cause the next one to be written here: give it its own copy of
  // the buffer and take the memory back afterwards.
  std::string message = std::move(buffer_);
  buffer_.clear();
  send_(std::string_view(message).substr(begin));
  if (buffer_.empty()) {
    message.clear();
    buffer_ = std::move(message);
  }
}

}  // namespace godwit::inline v0::rpc
