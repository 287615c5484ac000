// News: what a session has to tell its clients, gathered until the peer's thread comes to it. A
// program may tell faster than a client can hear: what is gathered has each thing once, and only
// what somebody wants to hear, so that it is bounded by what was subscribed to.
//
// Threads: any, under the mutex that its session says.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "godwit/rpc/identity.hpp"

namespace godwit::inline v0::detail::server {

struct News {
  struct OfCaller {
    std::shared_ptr<const rpc::Identity> caller;
    unsigned lists = 0;
  };

  void add_updated(const std::string& uri) {
    if (known.contains(uri)) return;
    updated.push_back(uri);
    try {
      known.insert(updated.back());
    } catch (...) {
      updated.pop_back();
      throw;
    }
  }
  void add_lists(unsigned lists, std::shared_ptr<const rpc::Identity> caller) {
    for (OfCaller& one : of_callers) {
      if (one.caller->is_same(*caller)) {
        one.lists |= lists;
        return;
      }
    }
    of_callers.push_back({std::move(caller), lists});
  }

  std::list<std::string> updated;    // uris, in the order they came
  std::set<std::string_view> known;  // the same
  std::vector<OfCaller> of_callers;
  bool posted = false;  // the peer's thread knows of it
};

}  // namespace godwit::inline v0::detail::server
