// Facts: what is known about a message beside its text: who sent it, the header fields that came
// with it, the connection it came by. The message itself has no say in any of it.
//
// Whoever hands a message to a Peer lends it the facts for that call; the views in them are good
// as long. What outlives the call, or goes to another thread, has a copy made by keep().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "godwit/base/export.hpp"
#include "godwit/base/header_field.hpp"
#include "godwit/base/peer_credentials.hpp"
#include "godwit/rpc/identity.hpp"

namespace godwit::inline v0::rpc {

/// The header fields that came with a message. Those that carry secrets are not shown:
/// Authorization, Proxy-Authorization, Cookie and DPoP.
class GODWIT_API HeaderFields {
 public:
  HeaderFields() = default;
  explicit HeaderFields(std::span<const HeaderField> fields) noexcept : fields_(fields) {}

  /// The value of the field of this name; nothing if it is not there, or twice, which would say two
  /// things.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  /// Calls `each` with every one, in the order they came.
  template <class F>
  void for_each(F&& each) const {
    for (const HeaderField& field : fields_) {
      if (!is_secret(field.name)) each(field);
    }
  }
  static bool is_secret(std::string_view name) noexcept;

 private:
  std::span<const HeaderField> fields_{};
};

struct Facts {
  /// Who sent it; null if nobody has verified that.
  std::shared_ptr<const Identity> identity{};
  /// None where the transport has no place for them.
  HeaderFields fields{};
  /// The other end as the system knows it: "127.0.0.1:4711"; empty where there is no such thing.
  std::string_view peer{};
  /// The own end, which on a server tells the listener: "127.0.0.1:8080", the path of a unix
  /// socket.
  std::string_view local{};
  /// Whether it came over TLS.
  bool secure = false;
  /// What the other end has shown to TLS; null if nothing.
  std::shared_ptr<const PeerCertificate> certificate{};
  /// The process at the other end of a unix socket.
  std::optional<PeerProcess> process{};
};

/// A copy that owns what it shows.
GODWIT_API std::shared_ptr<const Facts> keep(const Facts& facts);
/// Of a message about which nothing is known.
GODWIT_API const Facts& no_facts() noexcept;

}  // namespace godwit::inline v0::rpc
