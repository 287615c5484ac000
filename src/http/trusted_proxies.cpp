#include "godwit/http/trusted_proxies.hpp"

#include <algorithm>

#include "godwit/io/address.hpp"

namespace godwit::inline v0::http {

namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// "192.0.2.1", "2001:db8::1", either with a port, the latter in brackets then.
std::optional<IpAddress> read_address(std::string_view text) {
  if (const auto plain = IpAddress::parse(text)) return plain;
  if (text.starts_with('[') && text.ends_with(']')) {
    const auto inside = IpAddress::parse(text.substr(1, text.size() - 2));
    return inside && !inside->is_v4() ? inside : std::nullopt;
  }
  const auto with_port = Address::parse(text);
  if (!with_port) return std::nullopt;
  const std::string_view host = with_port->host;
  return IpAddress::parse(host.substr(0, host.find('%')));  // a zone means something only here
}

}  // namespace

std::optional<IpAddress> TrustedProxies::client_of(const Request& request) const {
  std::optional<IpAddress> client = read_address(request.peer);
  const auto trusted = [&] {
    return client && std::ranges::any_of(networks, [&](const IpNetwork& network) {
             return network.contains(*client);
           });
  };
  if (!trusted()) return client;
  // Lines of one name are one list, in their order; read from its end.
  std::vector<std::string_view> lines;
  for (const Field& line : request.fields) {
    if (same_name(line.name, field)) lines.push_back(line.value);
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    for (std::string_view rest = *line;;) {
      const std::size_t comma = rest.rfind(',');
      const auto next = read_address(trimmed(comma == rest.npos ? rest : rest.substr(comma + 1)));
      if (!next) return client;
      client = next;
      if (!trusted()) return client;
      if (comma == rest.npos) break;
      rest = rest.substr(0, comma);
    }
  }
  return client;
}

}  // namespace godwit::inline v0::http
