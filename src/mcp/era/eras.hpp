// Eras: the codecs that a program speaks, and which one a message is served in. A codec stands in
// one of two lists: of those that a handshake agrees on, and of those whose requests stand alone.
//
// Immutable; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "codec.hpp"
#include "godwit/base/export.hpp"
#include "messages.hpp"
#include "operation.hpp"

namespace godwit::inline v0::mcp {

class GODWIT_API Eras {
 public:
  /// Those of the library.
  static const Eras& built_in() noexcept;
  /// Each list from its oldest, none empty, and no more than `most` together. They must outlive
  /// this.
  Eras(std::span<const Codec* const> by_handshake, std::span<const Codec* const> alone) noexcept;
  static constexpr std::size_t most = 16;

  /// Of all, newest first.
  std::span<const std::string_view> revisions() const noexcept {
    return std::span(revisions_).first(by_handshake_.size() + alone_.size());
  }

  /// Those that a handshake agrees on, and those whose requests stand alone; oldest first.
  std::span<const Codec* const> by_handshake() const noexcept { return by_handshake_; }
  std::span<const Codec* const> alone() const noexcept { return alone_; }

  // By their names; null if there is none of that name.

  const Codec* find(std::string_view revision) const noexcept;
  const Codec* by_handshake(std::string_view revision) const noexcept;
  const Codec* alone(std::string_view revision) const noexcept;
  /// The newest of these.
  const Codec* best_by_handshake(std::span<const std::string> revisions) const noexcept;
  const Codec* best_alone(std::span<const std::string> revisions) const noexcept;

  const Codec& newest_by_handshake() const noexcept { return *by_handshake_.back(); }
  const Codec& newest_alone() const noexcept { return *alone_.back(); }
  /// What a handshake leads to with one who wants this revision.
  const Codec& negotiate(std::string_view wanted) const noexcept;

  // Messages of clients.

  /// By what the message itself says; without that by what was agreed on, null if nothing was.
  Admission admit(Incoming& message, const Codec* agreed) const;
  /// The codec of a message that was not refused.
  const Codec& codec_of(const RequestFacts& facts, const Codec* agreed) const noexcept;
  /// Whether any of them has a method of this name for servers.
  bool know(std::string_view method) const noexcept;

 private:
  Admission admit_alone(Incoming& message) const;
  Admission admit_unknown(Incoming& message) const;

  // Nothing is allocated: the first who asks may be one who cannot fail.
  const std::span<const Codec* const> by_handshake_;
  const std::span<const Codec* const> alone_;
  std::array<std::string_view, most> revisions_{};
};

/// The revision that a message names in its _meta, which is then all that decides how it is served;
/// absent if it names none.
GODWIT_API json::View named_revision(json::View meta) noexcept;

/// The subscription that a notification with these params belongs to, in the eras that name one;
/// absent if none is named.
GODWIT_API json::View subscription_of(json::View params) noexcept;

}  // namespace godwit::inline v0::mcp
