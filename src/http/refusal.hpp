// Refusal: why a message is not read any further. A plain value.
#pragma once

#include <string>

namespace godwit::inline v0::http {

struct Refusal {
  /// What a server answers.
  int status = 0;
  std::string why{};
};

}  // namespace godwit::inline v0::http
