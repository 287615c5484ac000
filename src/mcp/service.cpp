#include "godwit/mcp/service.hpp"

#include <utility>

namespace godwit::inline v0 {

Service::~Service() = default;
Service::Session::~Session() = default;

Result<std::string> Service::Session::save() const {
  return error("sessions of this service cannot be saved");
}

std::vector<rpc::Route> Service::Session::saved_routes() const { return {}; }

Result<void> Service::Session::restore(std::string_view) {
  return error("sessions of this service cannot be restored");
}

std::function<std::shared_ptr<void>(rpc::Peer&)> Service::attaching(
    std::function<std::shared_ptr<Session>(rpc::Peer&)> make) {
  // What a Peer keeps has no type. It is a Session here, and nowhere else is it read as one.
  return [make = std::move(make)](rpc::Peer& peer) -> std::shared_ptr<void> { return make(peer); };
}

Service::Session& Service::session_of(const rpc::Peer& peer) noexcept {
  return *static_cast<Session*>(peer.user().get());
}

Service::Session* Service::session_of(const rpc::Context& call) noexcept {
  return call.user<Session>();
}

}  // namespace godwit::inline v0
