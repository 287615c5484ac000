// What the two sides of a WebSocket say in HTTP before it is one (RFC 6455 section 4).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "godwit/base/error.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/url.hpp"

namespace godwit::inline v0::detail::transport {

/// 16 bytes from the system in Base64.
std::string websocket_key();
/// What a server answers to that key.
std::string websocket_accept(std::string_view key);

/// The first of ours that the client offers; empty if there is none.
std::string chosen_protocol(const http::Request& request, std::span<const std::string> ours);

/// The whole answer that accepts a handshake.
std::string handshake_answer(const http::Request& request, std::string_view protocol);
/// The whole request for one.
std::string handshake_request(const http::Url& url, std::string_view key,
                              std::span<const std::string> protocols, const http::Fields& more);
/// The server answered something else than 101.
Error not_switched(int status);
/// Why the answer does not accept the handshake.
std::optional<Error> handshake_refused(int status, http::FieldsView fields, std::string_view key,
                                       std::span<const std::string> protocols);

}  // namespace godwit::inline v0::detail::transport
