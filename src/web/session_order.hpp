// SessionOrder: the sessions of one endpoint by who has them, those first that were used longest
// ago, so that the one that gives way at a bound is found without a walk.
//
// Threads: the endpoint's.
#pragma once

#include <list>
#include <unordered_map>

#include "endpoint_impl.hpp"
#include "godwit/io/ip_address.hpp"

namespace godwit::inline v0::detail::web {

class HttpSession;

class SessionOrder {
 public:
  /// Both lists begin with the one used longest ago. Sessions that turn out to be busy when one is
  /// looked for are put aside until they are used again, and not looked at twice.
  struct Client {
    std::list<HttpSession*> waiting;
    std::list<HttpSession*> aside;
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
      if (!mine_) return;
      mine_->waiting.splice(mine_->waiting.end(), aside_ ? mine_->aside : mine_->waiting, at_);
      aside_ = false;
    }
    /// It may be looked at again if it was put aside.
    void still_idle() noexcept {
      if (aside_) used();
    }

   private:
    friend class SessionOrder;
    Endpoint::Impl& endpoint_;
    const IpAddress client_;
    Client* mine_ = nullptr;  // null if it is never looked for
    std::list<HttpSession*>::iterator at_;
    bool aside_ = false;
  };

  /// The idle session of this client that was used longest ago; null if there is none.
  HttpSession* oldest_idle(const IpAddress& client) noexcept;

 private:
  std::unordered_map<IpAddress, Client> clients_;
};

}  // namespace godwit::inline v0::detail::web
