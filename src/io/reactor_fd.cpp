#include "io/reactor_fd.hpp"

#include <boost/asio/detail/epoll_reactor.hpp>

namespace godwit::inline v0::detail::io {

namespace {

// Access checks do not apply to the arguments of an explicit instantiation ([temp.spec]/6), so this
// reads a private member without any undefined behaviour. A release of Asio that renames the member
// stops the build here, and nowhere else.
template <int boost::asio::detail::epoll_reactor::* Member>
struct Reveal {
  friend int epoll_fd(const boost::asio::detail::epoll_reactor& reactor) { return reactor.*Member; }
};
int epoll_fd(const boost::asio::detail::epoll_reactor& reactor);
template struct Reveal<&boost::asio::detail::epoll_reactor::epoll_fd_>;

}  // namespace

int reactor_fd(boost::asio::io_context& context) {
  auto& reactor = boost::asio::use_service<boost::asio::detail::epoll_reactor>(context);
  reactor.init_task();  // timers and descriptors start it too; starting it twice does nothing
  return epoll_fd(reactor);
}

}  // namespace godwit::inline v0::detail::io
