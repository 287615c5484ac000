#include "godwit/base/rollback.hpp"
#include "godwit/rpc/error_code.hpp"
#include "godwit/rpc/peer.hpp"
#include "peer_impl.hpp"
#include "pending.hpp"

namespace godwit::inline v0::rpc {

Batch::Batch(Batch&& other) noexcept
    : peer_(std::exchange(other.peer_, nullptr)),
      text_(std::move(other.text_)),
      calls_(std::move(other.calls_)),
      entries_(std::exchange(other.entries_, 0)) {
  other.calls_.clear();
}

Batch::~Batch() {
  for (Waiting& call : calls_) {
    // Without a log: the peer may be gone by now.
    detail::finish_call(call.done, call.method,
                        detail::end_of_call(code::cancelled, Cause::cancelled,
                                            [] { return "the batch was never sent"; }),
                        Log());
  }
}

void Batch::add_request(Peer::Outgoing& request, Peer::RawDone done, const CallOptions& options) {
  calls_.push_back({.number = request.number_,
                    .id = std::move(request.id_),
                    .method = std::string(request.method_),
                    .done = std::move(done),
                    .options = options});
  Rollback undo([&] { calls_.pop_back(); });
  add_notification(request);
  undo.dismiss();
}

void Batch::add_notification(Peer::Outgoing& notification) {
  notification.out_.append("},");
  notification.finished_ = true;
  ++entries_;
}

void Batch::send() {
  if (entries_ == 0) return;
  text_.back() = ']';  // over the last comma
  const PeerOptions& options = peer_->options();
  std::optional<Error> error = peer_->refusal({}, text_.size() + 1, calls_.size());
  if (!error && !peer_->rules().batch) {
    error = Error{.code = code::invalid_request,
                  .message = "batches are not part of this protocol; nothing was sent",
                  .data = {}};
  }
  if (!error && entries_ > options.limits.batch_entries) {
    // The other side would refuse it without saying which calls that were; so would we its answer.
    error = Error{.code = code::invalid_request,
                  .message = "the batch has " + std::to_string(entries_) + " entries, more than " +
                             std::to_string(options.limits.batch_entries) + ", and was not sent",
                  .data = {}};
  }
  std::vector<Waiting> calls = std::exchange(calls_, {});
  const std::string text = std::exchange(text_, {});
  entries_ = 0;
  if (error) {
    const Log log = options.log;  // a callback may destroy the peer
    if (calls.empty() && !peer_->closed()) log.error(error->message);
    for (Waiting& call : calls) {
      detail::finish_call(
          call.done, call.method,
          detail::end_of_call(error->code, error->cause, [&] { return error->message; }), log);
    }
    return;
  }
  Peer::Impl& impl = *peer_->impl_;
  const Peer::Impl::Busy busy(impl);
  Rollback unsent([&] {  // the caller gets the exception, and ~Batch ends the calls
    for (Waiting& call : calls) {
      if (auto waiting = impl.pending.take(call.number)) call.done = std::move(waiting->done);
    }
    calls_ = std::move(calls);
  });
  std::vector<Id> ids;
  ids.reserve(calls.size());
  for (Waiting& call : calls) {
    ids.push_back(call.id);
    peer_->await(call.number, call.id, call.method, call.done, call.options);
  }
  std::string& out = impl.output.output();
  const std::size_t begin = out.size();
  Rollback undo([&] { out.resize(begin); });
  out.push_back('[');
  out.append(text);
  undo.dismiss();
  impl.send({.begin = begin, .kind = Outbound::Kind::batch, .ids = ids});
  unsent.dismiss();
}

}  // namespace godwit::inline v0::rpc
