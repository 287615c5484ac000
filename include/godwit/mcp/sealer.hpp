// Sealer: wraps a piece of state so that it can be handed to a client and taken back, and only what
// was handed out is believed. The module `seal` has one on OpenSSL; a program can bring its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

class GODWIT_API Sealer {
 public:
  virtual ~Sealer();

  /// The plain text, encrypted and authenticated together with the context, which is not part of
  /// the result: say there what the text belongs to. The result is a short prefix that names the
  /// format, and base64url. Any thread. Throws if it cannot be done.
  virtual std::string seal(std::string_view plain, std::string_view context) = 0;

  /// What seal() was given. Nothing if the text was changed, is of another sealer or another
  /// context, or is no sealed text at all; which of these it was is not told. Any thread.
  virtual std::optional<std::string> open(std::string_view sealed, std::string_view context) = 0;
};

}  // namespace godwit::inline v0
