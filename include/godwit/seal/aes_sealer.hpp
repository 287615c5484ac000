// AesSealer: AES-256-GCM on OpenSSL 3. Owns its keys and wipes them when it dies. Any thread.
//
// A sealed text is "g1." and the base64url, without padding, of
//
//   key id (8 bytes) | salt (32) | ciphertext (as long as the plain text) | tag (16)
//
// Each text has a key and nonce of its own, HKDF-SHA256 of the configured key and the random salt,
// so that no number of texts wears a key out. The prefix, the key id and the context are
// authenticated with the text.
//
// To replace a key, put the new one first and keep the old one behind it for as long as texts
// sealed with it may come back. Processes that share their clients must share their keys; one
// process alone needs none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/export.hpp"
#include "godwit/base/result.hpp"
#include "godwit/mcp/sealer.hpp"

namespace godwit::inline v0 {

struct SealKey {
  std::array<std::uint8_t, 32> bytes{};
};

class GODWIT_API AesSealer final : public Sealer {
 public:
  /// Longer sealed texts are not opened, and not made: they travel inside messages.
  static constexpr std::size_t max_sealed_bytes = 1 << 20;

  /// With a random key: what it seals, no other process opens, nor this one after a restart.
  AesSealer();
  /// The first key seals, all of them open. Throws std::invalid_argument if there is none.
  explicit AesSealer(std::vector<SealKey> keys);
  ~AesSealer() override;
  AesSealer(const AesSealer&) = delete;
  AesSealer& operator=(const AesSealer&) = delete;

  /// From the system's random numbers. Throws std::runtime_error if there are none to be had.
  static SealKey random_key();
  /// 32 bytes as base64 or base64url, with or without padding: `openssl rand -base64 32`.
  static Result<SealKey> key_from_base64(std::string_view text);
  /// A key made of a secret text of at least 32 bytes. The text must be random: a guessable one
  /// can be guessed from a sealed text.
  static Result<SealKey> key_from_text(std::string_view secret);

  /// Throws std::length_error if the result would be longer than max_sealed_bytes, and
  /// std::runtime_error if OpenSSL fails.
  std::string seal(std::string_view plain, std::string_view context) override;
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace godwit::inline v0
