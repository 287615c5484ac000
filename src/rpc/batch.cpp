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
                        Error{.code = code::cancelled,
                              .message = "the batch was never sent",
                              .cause = Cause::cancelled},
                        Log());
  }
}

void Batch::add_request(Peer::Outgoing& request, Peer::RawDone done, const CallOptions& options) {
  calls_.push_back({.number = request.number_,
                    .id = std::move(request.id_),
                    .method = std::string(request.method_),
                    .done = std::move(done),
                    .options = options});
  add_notification(request);
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
    for (Waiting& call : calls) detail::finish_call(call.done, call.method, *error, log);
    return;
  }
  std::vector<Id> ids;
  ids.reserve(calls.size());
  for (Waiting& call : calls) {
    ids.push_back(call.id);
    peer_->await(call.number, std::move(call.id), std::move(call.method), std::move(call.done),
                 call.options);
  }
  std::string& out = peer_->output_.output();
  const std::size_t begin = out.size();
  out.push_back('[');
  out.append(text);
  peer_->impl_->send({.begin = begin, .kind = Outbound::Kind::batch, .ids = ids});
}

}  // namespace godwit::inline v0::rpc
