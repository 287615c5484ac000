// Asks: what one request has asked, been answered and done so far. Kept in memory while a stateful
// client is being asked; sealed into the request state where each round is a request of its own.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "effects.hpp"
#include "godwit/base/log.hpp"
#include "godwit/base/random.hpp"
#include "godwit/base/result.hpp"
#include "godwit/json/value.hpp"
#include "godwit/mcp/sealer.hpp"
#include "godwit/server/context.hpp"
#include "godwit/server/input_required.hpp"
#include "mcp/era/operation.hpp"

namespace godwit::inline v0::detail::server {

/// A question in the words of the wire.
struct WireQuestion {
  std::string key;
  mcp::Operation operation{};
  std::string params;  // JSON; empty if it was not kept
  /// Tells questions apart. Not a secret and not a proof: a handler that asks something else under
  /// the same key is what it finds.
  std::string digest;
};

/// Why this is no answer to the question; nothing if it is one.
std::optional<std::string> misfit_of(const WireQuestion& question, std::string_view answer);

void log_misfit(const Log& log, std::string_view key, std::string_view why);

/// A short name for a text; equal for equal texts.
std::string digest_of(std::string_view text);
/// JSON with members in one order, so that the same value always has the same text.
std::string canonical(json::View value);

struct Asks {
  struct Answered {
    std::string digest{};                        // empty: it came before it was asked
    std::string text{};                          // JSON
    std::optional<Error> error{};                // the client could not answer
    mutable std::optional<json::Value> value{};  // of the text, once somebody wanted it
  };

  std::string chain;
  unsigned round = 0;
  std::map<std::string, Answered, std::less<>> answers;
  std::map<std::string, std::string, std::less<>> done;  // effects of once(), as JSON
  OwnEffects effects;                                    // those that are under way
  std::string own_state;                                 // of the explicit style
  bool is_explicit = false;  // the handler keeps its own state: nothing is replayed

  // Of the present run of the handler.
  std::vector<WireQuestion> pending;
  std::string misfit;       // why the first of them is asked again, in the explicit style
  WireQuestion last_asked;  // the one whose answer was given out last
  std::set<std::string, std::less<>> used;
  std::size_t known = 0;     // answers of earlier rounds
  std::size_t consumed = 0;  // of which the handler has come past
  std::size_t passed = 0;    // calls of once() that it has come past
  std::size_t to_pass = 0;   // before it is where the ledger held it up
  bool suspended = false;
  bool grouping = false;

  /// Of a request that has not asked anything yet.
  static Asks begin() {
    Asks asks;
    asks.chain = random_hex();
    return asks;
  }
  /// Before the handler runs again.
  void begin_run() {
    pending.clear();
    used.clear();
    known = answers.size();
    consumed = 0;
    passed = 0;
    suspended = false;
    grouping = false;
  }
  /// On the way back to where it was: what happens here was told before.
  bool replaying() const noexcept { return passed < to_pass || (!is_explicit && consumed < known); }

  /// JSON of all that must survive until the answers come, with its expiry. Of questions it holds
  /// what is needed to ask them again, in the explicit style; but a prompt for the model, which may
  /// be a whole conversation, would make the state too large.
  std::string save(std::int64_t expires) const;
  /// The reverse. The error says why the state cannot be used.
  static Result<Asks> load(std::string_view text, std::int64_t now);
  /// Bytes of the questions in the state.
  std::size_t question_bytes() const noexcept;
  /// Bytes of the answers of a stateful client.
  std::size_t answer_bytes() const noexcept;
  /// Takes the answers to what was pending. Those to other questions are ignored; on the first
  /// round, where nothing was asked yet, all are taken.
  void take(json::View responses, bool first_round);
  /// Of the explicit style, whose handler is given the answers as they came: forgets those that do
  /// not fit what was pending, and gives the questions that are to be asked again.
  std::vector<WireQuestion> take_misfits(const Log& log);
};

}  // namespace godwit::inline v0::detail::server
