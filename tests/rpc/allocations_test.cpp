// Counts heap allocations: a plain typed call costs none in the steady state. Replaces operator new
// and delete in all forms, hence a program of its own that is not built with sanitizers.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "godwit/json/document.hpp"
#include "godwit/rpc/peer.hpp"

namespace {

std::size_t allocations = 0;  // the test has one thread

void* counted(std::size_t size, std::size_t alignment = 0) noexcept {
  ++allocations;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
void* counted_or_throw(std::size_t size, std::size_t alignment = 0) {
  if (void* memory = counted(size, alignment)) return memory;
  throw std::bad_alloc();
}
// Not inlined: g++ would see free() of what operator new gave, and warn.
[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace

void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give_back(memory);
}

namespace godwit::inline v0::rpc {
namespace {

struct Order {
  std::int64_t number{};
  double price{};
  std::string_view name{};
  std::string_view note{};
  bool urgent{};
};

/// Writes into the same buffer over and over, as a transport does.
class Reused final : public Output {
 public:
  std::string& output() override { return buffer_; }
  void finish_message(std::size_t begin) override {
    last = begin;
    size = buffer_.size() - begin;
    ++messages;
    if (!keep) buffer_.clear();
  }
  void flush() override {}
  std::string_view text() const { return std::string_view(buffer_).substr(last, size); }

  bool keep = false;
  std::size_t last = 0;
  std::size_t size = 0;
  std::size_t messages = 0;

 private:
  std::string buffer_;
};

/// Allocations of 10,000 calls after a few to warm up.
std::size_t count(std::shared_ptr<const Router> router, std::string message) {
  Reused out;
  Peer peer(out, std::move(router));
  const std::size_t size = message.size();
  message.append(json::Document::padding, ' ');
  const std::string_view text = std::string_view(message).substr(0, size);
  for (int i = 0; i < 10; ++i) peer.on_message(text, json::Document::padding);
  const std::size_t before = allocations;
  const std::size_t answered = out.messages;
  for (int i = 0; i < 10'000; ++i) peer.on_message(text, json::Document::padding);
  const std::size_t made = allocations - before;
  EXPECT_EQ(out.messages - answered, 10'000u);
  out.keep = true;
  peer.on_message(text, json::Document::padding);
  EXPECT_NE(out.text().find("\"result\":"), std::string_view::npos) << out.text();
  return made;
}

std::string order(std::string_view id, std::string_view method = "order") {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{"number":123456789,"price":17.25,"name":"a name that is longer than what a )"
         R"(string holds without memory of its own","note":"line one\nline two \u00e9","urgent":true}})";
}

TEST(Allocations, AreCounted) {
  const std::size_t before = allocations;
  delete new int(1);
  auto aligned = std::make_unique<std::max_align_t[]>(100);
  EXPECT_EQ(allocations - before, 2u);
}

TEST(Allocations, NoneForAPlainTypedCall) {
  auto router = std::make_shared<Router>();
  router->on("order", [](Order in) {
    ++in.number;
    return in;
  });
  EXPECT_EQ(count(router, order("1")), 0u);
  EXPECT_EQ(count(router, order("18446744073709551615")), 0u);
}

TEST(Allocations, NoneForStringIds) {
  auto router = std::make_shared<Router>();
  router->on("order", [](const Order& in) { return in; });
  EXPECT_EQ(count(router, order(R"("3f1e8a4c-6c1e-4b55-9d0a-7f6f2f0b7d11-and-some-more")")), 0u);
}

TEST(Allocations, NoneWithAThousandMethods) {
  auto router = std::make_shared<Router>();
  for (int i = 0; i < 1000; ++i) {
    router->on("a/method/with/a/rather/long/name/" + std::to_string(i),
               [](Order in) { return in; });
  }
  EXPECT_EQ(count(router, order("1", "a/method/with/a/rather/long/name/777")), 0u);
}

TEST(Allocations, NoneForNamedAndPositionalArguments) {
  auto router = std::make_shared<Router>();
  router->on("add", {"a", "b"}, [](int a, double b) { return a + b; });
  EXPECT_EQ(count(router, R"({"jsonrpc":"2.0","id":1,"method":"add","params":[1,2.5]})"), 0u);
  EXPECT_EQ(count(router, R"({"jsonrpc":"2.0","id":1,"method":"add","params":{"b":1,"a":2}})"), 0u);
}

TEST(Allocations, NoneForContextResultsAndUnknownMembers) {
  auto router = std::make_shared<Router>();
  router->on("order", [](Context& cx, Order in) -> Result<Order> {
    in.urgent = cx.is_notification();
    return in;
  });
  std::string message = order("1");
  message.insert(1, R"("trace":"abc","other":[1,2,3],)");
  EXPECT_EQ(count(router, message), 0u);
}

}  // namespace
}  // namespace godwit::inline v0::rpc
