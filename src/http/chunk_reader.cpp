#include "http/chunk_reader.hpp"

#include <algorithm>
#include <utility>

#include "http/syntax.hpp"

namespace godwit::inline v0::http {

namespace {

/// The value of a hexadecimal digit, or 16.
unsigned hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

}  // namespace

void ChunkReader::reset() noexcept {
  state_ = State::size;
  digits_ = 0;
  left_ = total_ = 0;
  trailer_ = 0;
}

ChunkReader::Step ChunkReader::next(std::string_view& in, std::string_view& piece) {
  while (!in.empty()) {
    if (state_ == State::data) {
      piece = in.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size())));
      in.remove_prefix(piece.size());
      left_ -= piece.size();
      if (left_ == 0) state_ = State::data_cr;
      return Step::data;
    }
    const char c = in.front();
    in.remove_prefix(1);
    if (!take(c)) return Step::failed;
    if (state_ == State::end) return Step::end;
  }
  return Step::more;
}

bool ChunkReader::take(char c) {
  switch (state_) {
    case State::size:
      return take_size(c);
    case State::size_lf:
      return end_size(c);
    case State::data_cr:
    case State::data_lf:
      if (c != (state_ == State::data_cr ? '\r' : '\n')) {
        return refuse(400, "a chunk of the body is followed by the byte " + byte_name(c) +
                               " where CR LF was expected");
      }
      state_ = state_ == State::data_cr ? State::data_lf : State::size;
      digits_ = 0;
      return true;
    case State::trailer:
    case State::trailer_name:
    case State::trailer_value:
    case State::trailer_lf:
      return take_trailer(c);
    case State::end_lf:
      if (c != '\n') return refuse(400, "the end of the chunked body is not CR LF");
      state_ = State::end;
      return true;
    case State::data:
    case State::end:
      break;
  }
  return refuse(400, "there is more than the body");
}

bool ChunkReader::take_size(char c) {
  if (c == '\r' && digits_ > 0) {
    state_ = State::size_lf;
    return true;
  }
  const unsigned digit = hex_value(c);
  if (digit > 15) {
    return refuse(400, c == ';' && digits_ > 0
                           ? "a chunk has an extension behind its size; they are not taken"
                           : "the size of a chunk holds the byte " + byte_name(c) +
                                 "; expected were hexadecimal digits and CR LF");
  }
  // 16 digits fill 64 bits exactly, so nothing can overflow.
  if (digits_ == 16) return refuse(400, "the size of a chunk has more than 16 digits");
  left_ = digits_ == 0 ? digit : left_ << 4 | digit;
  ++digits_;
  return true;
}

bool ChunkReader::end_size(char c) {
  if (c != '\n') return refuse(400, "the size of a chunk does not end with CR LF");
  if (left_ == 0) {
    state_ = State::trailer;
    return true;
  }
  if (left_ > most_data_ - total_) {
    return refuse(413,
                  "the body is longer than the limit of " + std::to_string(most_data_) + " bytes");
  }
  total_ += left_;
  state_ = State::data;
  return true;
}

bool ChunkReader::take_trailer(char c) {
  if (state_ == State::trailer && c == '\r') {
    state_ = State::end_lf;
    return true;
  }
  if (++trailer_ > most_trailer_) {
    return refuse(400, "the trailers of the body are longer than the limit of " +
                           std::to_string(most_trailer_) + " bytes");
  }
  switch (state_) {
    case State::trailer:
    case State::trailer_name:
      if (is_char(c, token_char)) {
        state_ = State::trailer_name;
        return true;
      }
      if (c == ':' && state_ == State::trailer_name) {
        state_ = State::trailer_value;
        return true;
      }
      return refuse(400, "the name of a trailer holds the byte " + byte_name(c) +
                             "; expected was \"Name: value\"");
    case State::trailer_value:
      if (is_char(c, value_classes_)) return true;
      if (c == '\r') {
        state_ = State::trailer_lf;
        return true;
      }
      return refuse(400, "the value of a trailer holds the byte " + byte_name(c));
    default:
      if (c != '\n') return refuse(400, "a trailer does not end with CR LF");
      state_ = State::trailer;
      return true;
  }
}

bool ChunkReader::refuse(int status, std::string why) {
  refusal_ = {status, std::move(why)};
  return false;
}

}  // namespace godwit::inline v0::http
