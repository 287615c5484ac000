#include "godwit/transport/socket.hpp"

#include <utility>

#include "godwit/transport/stream_transport.hpp"

namespace godwit::inline v0 {

namespace {

Listener::OnAccept wrap(Loop& loop, OnTransport on_transport, const SocketOptions& options) {
  return [&loop, call = std::move(on_transport), framing = options.framing, limits = options.limits,
          room = options.room](Stream stream) mutable {
    const std::string peer = stream.peer();
    auto transport = std::make_unique<StreamTransport>(loop, std::move(stream), framing, limits);
    transport->share_room(room);
    call(std::move(transport), peer);
  };
}

Connector::OnConnect wrap(Loop& loop, OnConnected done, const SocketOptions& options) {
  return [&loop, call = std::move(done), framing = options.framing,
          limits = options.limits](Result<Stream> stream) mutable {
    if (!stream) return call(std::move(stream).error());
    call(std::make_unique<StreamTransport>(loop, std::move(*stream), framing, limits));
  };
}

ListenerOptions listener_options(const SocketOptions& options) {
  return {.connections = options.limits.connections,
          .make_room = options.make_room,
          .per_address = options.limits.connections_per_address,
          .loopback_exempt = options.loopback_exempt,
          .log = options.log};
}

}  // namespace

Result<Listener> listen_tcp(Loop& loop, const Address& address, OnTransport on_transport,
                            const SocketOptions& options) {
  return Listener::tcp(loop, address, wrap(loop, std::move(on_transport), options),
                       listener_options(options));
}

Result<Listener> listen_unix(Loop& loop, const std::string& path, OnTransport on_transport,
                             const SocketOptions& options) {
  return Listener::unix_socket(loop, path, wrap(loop, std::move(on_transport), options),
                               listener_options(options));
}

Connector connect_tcp(Loop& loop, const Address& address, OnConnected done,
                      const SocketOptions& options) {
  Connector connector(loop);
  connector.tcp(address, wrap(loop, std::move(done), options), options.connect_timeout);
  return connector;
}

Connector connect_unix(Loop& loop, const std::string& path, OnConnected done,
                       const SocketOptions& options) {
  Connector connector(loop);
  connector.unix_socket(path, wrap(loop, std::move(done), options), options.connect_timeout);
  return connector;
}

}  // namespace godwit::inline v0
