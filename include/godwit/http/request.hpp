// Request: what a client asked for, as the server side sees it. Views into the bytes that were
// read: good during the call that hands it over.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/peer_credentials.hpp"
#include "godwit/http/fields.hpp"

namespace godwit::inline v0::http {

struct Admitted;

struct GODWIT_API Request {
  std::string_view method{};
  /// As it stood in the request line, in origin form: "/mcp?x=1", or "*" for OPTIONS.
  std::string_view target{};
  FieldsView fields{};
  /// The whole body, without its transfer coding.
  std::string_view body{};
  /// Bytes behind the body that may be read, whatever they hold; lets the JSON parser work in
  /// place.
  std::size_t spare = 0;
  /// Who sent it, as the socket knows it: "127.0.0.1:4711". Never taken from a header.
  std::string_view peer{};
  /// The own end of the connection: "127.0.0.1:8080", or the path of a unix socket. Empty if the
  /// HTTP stack does not tell.
  std::string_view local{};
  /// Whether it came over TLS.
  bool secure = false;
  /// What the client has shown to TLS; null if nothing.
  std::shared_ptr<const PeerCertificate> certificate{};
  /// Host and Origin were looked at already and are in order (Access).
  bool access_checked = false;
  /// What was found out when the request was let in (Admission); null if nobody has decided that
  /// yet. Whoever gets such a request decides.
  const Admitted* admitted = nullptr;

  /// The target up to the query, and what follows the '?'.
  std::string_view path() const noexcept { return target.substr(0, target.find('?')); }
  std::string_view query() const noexcept {
    const std::size_t at = target.find('?');
    return at == target.npos ? std::string_view() : target.substr(at + 1);
  }
  /// Whether it goes to this path; a slash at the end makes no difference.
  bool is_at(std::string_view wanted) const noexcept;
  /// Whether the body is of this type ("application/json"), whatever its parameters. Not if it is
  /// said twice.
  bool is_type(std::string_view type) const noexcept;
};

/// A Content-Type without its parameters.
GODWIT_API std::string_view media_type(std::string_view content_type) noexcept;

}  // namespace godwit::inline v0::http
