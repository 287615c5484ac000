// ChunkReader: takes a chunked body (RFC 9112 7.1) apart, a byte at a time where it is not data, so
// that nothing has to be kept between two pieces. Extensions are refused; trailers are checked and
// dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/refusal.hpp"

namespace godwit::inline v0::http {

class ChunkReader {
 public:
  enum class Step : std::uint8_t { more, data, end, failed };

  /// `most_data` bytes of data altogether; `value_classes` is what the values of trailers may hold.
  ChunkReader(std::uint64_t most_data, std::size_t most_trailer, unsigned value_classes) noexcept
      : most_data_(most_data), most_trailer_(most_trailer), value_classes_(value_classes) {}

  /// Begins another body.
  void reset() noexcept;
  /// Takes bytes from the front of `in`. After `data`, `piece` is what was among them.
  Step next(std::string_view& in, std::string_view& piece);
  /// After `failed`.
  const Refusal& refusal() const noexcept { return refusal_; }

 private:
  enum class State : std::uint8_t {
    size,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer,
    trailer_name,
    trailer_value,
    trailer_lf,
    end_lf,
    end,
  };

  bool take(char c);
  bool take_size(char c);
  bool end_size(char c);
  bool take_trailer(char c);
  bool refuse(int status, std::string why);

  std::uint64_t most_data_;
  std::size_t most_trailer_;
  unsigned value_classes_;

  State state_ = State::size;
  int digits_ = 0;
  std::uint64_t left_ = 0;   // of this chunk
  std::uint64_t total_ = 0;  // data, with this chunk
  std::size_t trailer_ = 0;
  Refusal refusal_;
};

}  // namespace godwit::inline v0::http
