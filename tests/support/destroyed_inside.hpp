// The matrix of objects that are destroyed inside one of their own callbacks. Each module has a
// table of its own (destroyed_inside_test.cpp); a row is one object and one callback. What they
// find is found by the address sanitizer: a row that passes without it has only not crashed.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace godwit::test {

struct DestroyedInside {
  const char* object;
  const char* callback;
  void (*run)();
};

inline void PrintTo(const DestroyedInside& row, std::ostream* out) {
  *out << row.object << " inside " << row.callback;
}

/// "RpcServer_on_closed".
inline std::string name_of(const testing::TestParamInfo<DestroyedInside>& info) {
  std::string name = std::string(info.param.object) + "_" + info.param.callback;
  for (char& each : name) {
    if (!std::isalnum(static_cast<unsigned char>(each))) each = '_';
  }
  return name;
}

/// An object that a callback destroys. On the heap, so that the sanitizer sees whoever uses it
/// after that.
template <class T>
class Doomed {
 public:
  template <class... Args>
  T& make(Args&&... args) {
    object_ = std::make_unique<T>(std::forward<Args>(args)...);
    return *object_;
  }
  void take(std::unique_ptr<T> object) { object_ = std::move(object); }

  T* operator->() { return object_.get(); }
  T& operator*() { return *object_; }

  void destroy() {
    ++destroyed_;  // first: what is told of the end may look
    object_.reset();
  }
  /// A callback that does so, and then looks whether it is itself still there.
  auto destroyer() {
    return [this, here = std::make_shared<int>(1)](auto&&...) {
      destroy();
      EXPECT_EQ(*here, 1);
    };
  }
  /// How often that was called.
  int destroyed() const { return destroyed_; }

 private:
  std::unique_ptr<T> object_;
  int destroyed_ = 0;
};

/// Lets everything happen that can happen now.
template <class Loop>
void settle(Loop& loop) {
  for (int i = 0; i < 20; ++i) loop.poll();
}

}  // namespace godwit::test
