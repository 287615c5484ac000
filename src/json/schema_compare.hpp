// JSON values compared as JSON Schema wants it: numbers by their exact value however they are
// written, objects in any order. What costs more than a moment is counted on a Meter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "godwit/base/export.hpp"
#include "godwit/base/work.hpp"
#include "godwit/json/view.hpp"

namespace godwit::inline v0::json::detail {

/// Work left. Once it is spent every question is answered "no" at once, and whoever asked must look
/// at spent() before believing the answer.
class Meter {
 public:
  explicit Meter(std::uint64_t steps) noexcept : left_(steps) {}

  bool spend(std::uint64_t steps) noexcept {
    if (steps > left_) {
      left_ = 0;
      spent_ = true;
      return false;
    }
    godwit::detail::base::count_work(steps);
    left_ -= steps;
    return !spent_;
  }
  bool spent() const noexcept { return spent_; }

 private:
  std::uint64_t left_;
  bool spent_ = false;
};

/// Negative, 0 or positive, as a is less than, equal to or more than b. Exact, but for this: an
/// integer beyond 64 bits equals a double if it rounds to it, since the double was once a text that
/// did the same. Both must be numbers.
int compare_numbers(View a, View b) noexcept;

/// True if value is a whole multiple of divisor (which is more than 0), taking doubles as the
/// shortest decimal that they stand for: 0.0075 is a multiple of 0.0001.
bool is_multiple(View value, View divisor);

/// Equal as JSON. Values nested beyond `max_nesting` are never equal and spend the meter.
bool equal(View a, View b, Meter& meter);

/// The same for values that are equal.
std::uint64_t hash(View value, Meter& meter);

/// Positions of two equal items; no pair if all differ.
struct EqualItems {
  bool found = false;
  std::size_t first = 0;
  std::size_t second = 0;
};
EqualItems find_equal_items(View array, Meter& meter);

}  // namespace godwit::inline v0::json::detail
