// Byte scans over whole blocks. SSE2 is part of every x86-64 and NEON of every arm64; elsewhere the
// plain loops serve.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "godwit/base/export.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace godwit::inline v0::json::detail {

#if defined(__SSE2__)
inline constexpr bool has_blocks = true;
struct Block {
  __m128i bytes;
  static Block load(const char* at) noexcept {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))};
  }
  Block equal(char c) const noexcept { return {_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))}; }
  /// Bytes below 0x20.
  Block control() const noexcept {
    return {_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes)};
  }
  Block operator|(Block other) const noexcept { return {_mm_or_si128(bytes, other.bytes)}; }
  Block operator&(Block other) const noexcept { return {_mm_and_si128(bytes, other.bytes)}; }
  /// One bit per byte: its top bit.
  std::uint32_t mask() const noexcept {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
  }
};
#elif defined(__ARM_NEON)
inline constexpr bool has_blocks = true;
struct Block {
  uint8x16_t bytes;
  static Block load(const char* at) noexcept {
    return {vld1q_u8(reinterpret_cast<const std::uint8_t*>(at))};
  }
  Block equal(char c) const noexcept {
    return {vceqq_u8(bytes, vdupq_n_u8(static_cast<std::uint8_t>(c)))};
  }
  Block control() const noexcept { return {vcltq_u8(bytes, vdupq_n_u8(0x20))}; }
  Block operator|(Block other) const noexcept { return {vorrq_u8(bytes, other.bytes)}; }
  Block operator&(Block other) const noexcept { return {vandq_u8(bytes, other.bytes)}; }
  std::uint32_t mask() const noexcept {
    static const std::uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                             1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t top = vcgeq_u8(bytes, vdupq_n_u8(0x80));
    const uint8x16_t bits = vandq_u8(top, vld1q_u8(weights));
    return static_cast<std::uint32_t>(vaddv_u8(vget_low_u8(bits))) |
           static_cast<std::uint32_t>(vaddv_u8(vget_high_u8(bits))) << 8;
  }
};
#else
inline constexpr bool has_blocks = false;
struct Block {
  static Block load(const char*) noexcept { return {}; }
  Block equal(char) const noexcept { return {}; }
  Block control() const noexcept { return {}; }
  Block operator|(Block) const noexcept { return {}; }
  Block operator&(Block) const noexcept { return {}; }
  std::uint32_t mask() const noexcept { return 0; }
};
#endif

inline constexpr std::size_t block_size = 16;

/// First '"' or '\\' at or after `at`; the size if there is none.
inline std::size_t find_quote_or_backslash(std::string_view text, std::size_t at) noexcept {
  if constexpr (has_blocks) {
    for (; at + block_size <= text.size(); at += block_size) {
      const Block block = Block::load(text.data() + at);
      if (const std::uint32_t hit = (block.equal('"') | block.equal('\\')).mask()) {
        return at + static_cast<std::size_t>(std::countr_zero(hit));
      }
    }
  }
  while (at < text.size() && text[at] != '"' && text[at] != '\\') ++at;
  return at;
}

/// Bytes at the front that a JSON string takes as they are; with `beyond_ascii`, also bytes from
/// 0x80 on (for text that is known to be valid UTF-8).
inline std::size_t plain_prefix(std::string_view text, bool beyond_ascii) noexcept {
  std::size_t at = 0;
  if constexpr (has_blocks) {
    for (; at + block_size <= text.size(); at += block_size) {
      const Block block = Block::load(text.data() + at);
      const Block special = block.equal('"') | block.equal('\\') | block.control();
      // The top bit of a byte of the block itself says that it is not ASCII.
      if (const std::uint32_t hit = (beyond_ascii ? special : special | block).mask())
        return at + static_cast<std::size_t>(std::countr_zero(hit));
    }
  }
  while (at < text.size()) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x20 || (c >= 0x80 && !beyond_ascii) || c == '"' || c == '\\') break;
    ++at;
  }
  return at;
}

/// True if "-0" occurs with something behind it that ends a number. Dates and UUIDs are full of
/// "-0" and should not cost the fast path.
inline bool may_hold_negative_zero(std::string_view text) noexcept {
  const auto whole = [&](std::size_t at) {
    if (at + 2 >= text.size()) return true;
    const char next = text[at + 2];
    return next == ',' || next == '}' || next == ']' || next == ' ' || next == '\n' ||
           next == '\r' || next == '\t';
  };
  std::size_t at = 0;
  if constexpr (has_blocks) {
    const auto pair = [&](std::size_t i) {
      return Block::load(text.data() + i).equal('-') & Block::load(text.data() + i + 1).equal('0');
    };
    const auto found_in = [&](std::size_t i) {
      for (std::uint32_t hit = pair(i).mask(); hit != 0; hit &= hit - 1) {
        if (whole(i + static_cast<std::size_t>(std::countr_zero(hit)))) return true;
      }
      return false;
    };
    // Four blocks at once, in which there is rarely a minus at all.
    constexpr std::size_t stride = 4 * block_size;
    const auto minus = [&](std::size_t i) { return Block::load(text.data() + i).equal('-'); };
    for (; at + stride + 1 <= text.size(); at += stride) {
      const Block any = minus(at) | minus(at + block_size) | minus(at + 2 * block_size) |
                        minus(at + 3 * block_size);
      if (any.mask() == 0) continue;
      for (std::size_t i = at; i < at + stride; i += block_size) {
        if (found_in(i)) return true;
      }
    }
    for (; at + block_size + 1 <= text.size(); at += block_size) {
      if (found_in(at)) return true;
    }
    // The rest with some that was seen already, so that it is a block, too.
    if (text.size() > block_size) return found_in(text.size() - block_size - 1);
  }
  for (; at + 1 < text.size(); ++at) {
    if (text[at] == '-' && text[at + 1] == '0' && whole(at)) return true;
  }
  return false;
}

/// True if a run of more than `longest` number characters may be there. Looks only at every
/// `longest`-th byte: a longer run cannot hide between them.
inline bool may_hold_long_number(std::string_view text, std::size_t longest) noexcept {
  const auto numeric = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  };
  for (std::size_t probe = longest; probe < text.size(); probe += longest) {
    if (!numeric(text[probe])) continue;
    std::size_t first = probe;
    std::size_t last = probe;
    while (first > 0 && numeric(text[first - 1])) --first;
    while (last + 1 < text.size() && numeric(text[last + 1])) ++last;
    if (last - first + 1 > longest) return true;
    // Short enough. Runs do not overlap, so the total work stays linear.
  }
  return false;
}

}  // namespace godwit::inline v0::json::detail
