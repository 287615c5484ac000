#include "godwit/http/parked_request.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "fake_exchange.hpp"

namespace godwit::inline v0::http {
namespace {

using test::FakeExchange;
using test::FakeRequest;

struct Parking : testing::Test {
  void park() {
    FakeRequest from("POST", "/x");
    from.with("Host", "localhost").body("hello");
    parked.emplace(from.get(), exchange, [this] {
      ++gone;
      if (forget) parked.reset();
    });
  }
  FakeExchange exchange;
  std::optional<ParkedRequest> parked;
  int gone = 0;
  bool forget = false;
};

TEST_F(Parking, WaitsForTheAnswer) {
  park();
  ASSERT_NE(exchange.owner, nullptr);
  EXPECT_EQ(parked->request().view().body, "hello");
  EXPECT_EQ(parked->take(), &exchange);
  EXPECT_EQ(exchange.owner, nullptr);
  EXPECT_EQ(parked->take(), nullptr);
  parked.reset();
  EXPECT_TRUE(exchange.waiting()) << "it is somebody else's";
}

TEST_F(Parking, OneThatIsForgottenIsEnded) {
  park();
  parked.reset();
  EXPECT_TRUE(exchange.aborted());
  EXPECT_EQ(gone, 0);
}

TEST_F(Parking, AClientThatIsGoneIsTold) {
  park();
  exchange.go();
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(parked->take(), nullptr);
}

TEST_F(Parking, ItMayBeForgottenThen) {
  forget = true;
  park();
  exchange.go();
  EXPECT_EQ(gone, 1);
  EXPECT_FALSE(parked);
}

}  // namespace
}  // namespace godwit::inline v0::http
