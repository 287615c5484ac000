// SessionOrder: the sessions of one endpoint by who has them, those first that were used longest
// ago, so that the one that gives way at a bound is found without a walk.
//
// Threads: the endpoint's.
#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>

#include "endpoint_impl.hpp"
#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession;

class SessionOrder {
 public:
  using Sessions = std::list<HttpSession*>;

  /// All lists begin with the one used longest ago. Sessions that turn out to be busy when one is
  /// looked for are put aside until they are used again, and not looked at twice.
  struct Client {
    Sessions light;
    Sessions heavy;  // those that keep many bytes
    Sessions aside;
  };

  /// A session, counted as long as this lives.
  class Place {
   public:
    Place(Endpoint::Impl& endpoint, const IpAddress& client, HttpSession* session);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    /// Now it is the one that was used last.
    void used() noexcept {
      if (mine_) move_to(heavy_bytes_ > 0 ? mine_->heavy : mine_->light);
    }
    /// What it keeps now.
    void keeps(std::size_t bytes) noexcept;
    /// It may be looked at again if it was put aside.
    void still_idle() noexcept {
      if (mine_ && in_ == &mine_->aside) used();
    }

   private:
    friend class SessionOrder;
    void move_to(Sessions& list) noexcept {
      list.splice(list.end(), *std::exchange(in_, &list), at_);
    }

    Endpoint::Impl& endpoint_;
    const IpAddress client_;
    Client* mine_ = nullptr;  // null if it is never looked for
    Sessions* in_ = nullptr;
    Sessions::iterator at_;
    std::size_t heavy_bytes_ = 0;  // as they are counted; 0 if they are few
  };

  /// The idle session of this client that was used longest ago; null if there is none.
  HttpSession* oldest_idle(const IpAddress& client) noexcept;
  /// The same among those that keep many bytes.
  HttpSession* oldest_heavy(const IpAddress& client) noexcept;

 private:
  static HttpSession* first_idle(Client& of, Sessions& among) noexcept;

  std::unordered_map<IpAddress, Client> clients_;
};

}  // namespace godwit::inline v0::detail::web
