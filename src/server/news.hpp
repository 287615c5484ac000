// News: what a session has to tell its clients, gathered until the peer's thread comes to it. A
// program may tell faster than a client can hear: what is gathered has each thing once, and only
// what somebody wants to hear, so that it is bounded by what was subscribed to.
//
// Threads: any, under the mutex.
#pragma once

#include <list>
#include <memory>
#include <mutex>
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
  struct Gathered {
    std::list<std::string> updated;  // uris, in the order they came
    std::vector<OfCaller> of_callers;
  };

  void add_updated(const std::string& uri) {
    if (known.contains(uri)) return;
    gathered.updated.push_back(uri);
    try {
      known.insert(gathered.updated.back());
    } catch (...) {
      gathered.updated.pop_back();
      throw;
    }
  }
  void add_lists(unsigned lists, std::shared_ptr<const rpc::Identity> caller) {
    for (OfCaller& one : gathered.of_callers) {
      if (one.caller->is_same(*caller)) {
        one.lists |= lists;
        return;
      }
    }
    gathered.of_callers.push_back({std::move(caller), lists});
  }
  Gathered take() {
    const std::lock_guard lock(mutex);
    posted = false;
    known.clear();
    return std::exchange(gathered, {});
  }

  std::mutex mutex;
  Gathered gathered;
  std::set<std::string_view> known;  // into `updated`
  bool posted = false;               // the peer's thread knows of it
};

}  // namespace godwit::inline v0::detail::server
