// The epoll descriptor inside Asio's reactor, which Asio does not show.
#pragma once

#include <boost/asio/io_context.hpp>

namespace godwit::inline v0::detail::io {

int reactor_fd(boost::asio::io_context& context);

}  // namespace godwit::inline v0::detail::io
