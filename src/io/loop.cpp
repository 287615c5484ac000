#include "godwit/io/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "godwit/base/misuse.hpp"
#include "io/loop_core.hpp"
#include "io/reactor_fd.hpp"

namespace godwit::inline v0 {

namespace detail::io {

LoopCore& core(Loop& loop) noexcept { return *loop.core_; }

void LoopCore::signal() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is at its top, and then it is readable already.
  [[maybe_unused]] const auto written = ::write(wake.get(), &one, sizeof one);
}

void LoopCore::quiet() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake.get(), &count, sizeof count);
}

// The order matters: a stop() between the two lines is seen by the second or stops the context.
bool LoopCore::begin() noexcept {
  context.restart();
  return !stop.exchange(false);
}

}  // namespace detail::io

namespace {

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "godwit: Loop::fd");
}

}  // namespace

Loop::Loop() : core_(std::make_unique<detail::io::LoopCore>()) {}
Loop::~Loop() {
  if (!on_loop_thread()) return;
  detail::base::misuse(
      "a Loop was destroyed inside one of its own callbacks; call stop() there, and destroy it "
      "when "
      "run() has returned");
}

std::size_t Loop::run() {
  if (!core_->begin()) return 0;
  const std::size_t count = core_->context.run();
  core_->stop.store(false);
  return count;
}

void Loop::run(const Log& log) noexcept {
  for (;;) {
    try {
      run();
      return;
    } catch (...) {
      log.caught("a callback of the loop threw");
    }
  }
}

std::size_t Loop::run_for(Duration duration) {
  if (!core_->begin()) return 0;
  const std::size_t count = core_->context.run_for(duration);
  core_->stop.store(false);
  return count;
}

std::size_t Loop::poll() {
  if (core_->foreign.load(std::memory_order_acquire)) core_->quiet();
  // Without work Asio would return before it looks at its descriptors, and they would stay
  // readable.
  const Work work(*this);
  if (!core_->begin()) return 0;
  try {
    const std::size_t count = core_->context.poll();
    core_->stop.store(false);
    return count;
  } catch (...) {
    core_->touch();  // callbacks may be waiting behind the one that threw
    throw;
  }
}

void Loop::stop() noexcept {
  core_->stop.store(true);
  core_->context.stop();
}

void Loop::post(Function<void()> work) {
  boost::asio::post(core_->context, std::move(work));
  core_->touch();
}

int Loop::fd() {
  detail::io::LoopCore& core = *core_;
  if (!core.outer) {
    Descriptor outer(::epoll_create1(EPOLL_CLOEXEC));
    Descriptor wake(
        ::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));  // 1: something may be waiting already
    if (!outer || !wake)
      throw std::system_error(errno, std::generic_category(), "godwit: Loop::fd");
    watch(outer.get(), wake.get());
    watch(outer.get(), detail::io::reactor_fd(core.context));
    core.wake = std::move(wake);
    core.outer = std::move(outer);
    core.foreign.store(true, std::memory_order_release);
  }
  return core.outer.get();
}

bool Loop::on_loop_thread() const noexcept {
  return core_->context.get_executor().running_in_this_thread();
}

Loop::Work::Work(Loop& loop) : core_(&detail::io::core(loop)) {
  core_->context.get_executor().on_work_started();
}
Loop::Work::~Work() {
  if (core_) core_->context.get_executor().on_work_finished();
}
Loop::Work::Work(Work&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
Loop::Work& Loop::Work::operator=(Work&& other) noexcept {
  std::swap(core_, other.core_);
  return *this;
}

}  // namespace godwit::inline v0
