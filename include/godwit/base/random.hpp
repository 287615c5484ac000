// Random numbers that nobody can guess, from the generator of the system: for ids that are as good
// as a password to whoever knows them.
//
// Any thread. Throws if the system has no such generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "godwit/base/export.hpp"

namespace godwit::inline v0 {

GODWIT_API std::uint32_t random_bits();

/// So many random bytes as hexadecimal digits, two for each. 16 bytes are enough for an id.
GODWIT_API std::string random_hex(std::size_t bytes = 16);

}  // namespace godwit::inline v0
