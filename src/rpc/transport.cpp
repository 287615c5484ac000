#include "godwit/rpc/transport.hpp"

#include "godwit/rpc/message.hpp"

namespace godwit::inline v0::rpc {

Receiver::~Receiver() = default;
void Receiver::on_failure(const Id& id, const Error& error) {
  on_message(serialize(make_error(id, error)), 0);
}
void Receiver::on_held(const Id&, bool) {}
void Receiver::on_parsed(json::View message) { on_message(message.source(), 0); }

Output::~Output() = default;
Transport::~Transport() = default;
std::shared_ptr<const Facts> Transport::facts() const { return nullptr; }

bool Output::refuse(const Error&) { return false; }
bool Output::has_fields() const noexcept { return false; }
void Output::unanswered(Route) {}
bool Output::give_up(Route) noexcept { return false; }
void Output::let_go(Route) {}

void MessageSink::finish(const Outbound& outbound) {
  // The receiver of the message may cause the next one to be written here: give it its own copy of
  // the buffer and take the memory back afterwards.
  std::string message = std::move(buffer_);
  buffer_.clear();
  send_(std::string_view(message).substr(outbound.begin));
  if (buffer_.empty()) {
    message.clear();
    buffer_ = std::move(message);
  }
}

}  // namespace godwit::inline v0::rpc
