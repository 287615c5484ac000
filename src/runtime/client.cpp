#include "godwit/runtime/client.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "client_state.hpp"

namespace godwit::inline v0 {

namespace {

Error bad_url(std::string_view url, std::string_view why) {
  return rpc::invalid_params("cannot connect to " + json::quote(url.substr(0, 200)) + ": " +
                             std::string(why));
}

Result<http::Fields> fields_of(const ClientOptions& options) {
  http::Fields fields;
  for (const auto& [name, value] : options.headers) {
    if (!http::is_token(name) || !http::is_field_value(value)) {
      return error("the header " + json::quote(name) + " cannot be sent");
    }
    fields.add(name, value);
  }
  return fields;
}

/// Nothing where the program leaves it to the system.
Result<std::optional<TlsContext>> tls_of(const ClientOptions& options) {
  if (options.tls == ClientTls{}) return std::optional<TlsContext>();
  Result<TlsContext> context = TlsContext::client({.ca_file = options.tls.ca_file,
                                                   .certificate_file = options.tls.certificate_file,
                                                   .key_file = options.tls.key_file,
                                                   .protocols = {"http/1.1"}});
  if (!context) return std::move(context).error();
  return std::optional(*std::move(context));
}

template <class T>
using Taker = Function<void(Result<T>)>;

}  // namespace

Client::Client(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

Client::~Client() {
  if (state_) state_->close();
}

Client::Client(Client&&) noexcept = default;

Client& Client::operator=(Client&& other) noexcept {
  if (this != &other) {
    if (state_) state_->close();
    state_ = std::move(other.state_);
  }
  return *this;
}

// Beginning.

Result<Client> Client::open(std::shared_ptr<State> state) {
  try {
    state->run_thread();
  } catch (const std::system_error& e) {
    return error(std::string("there is no thread for the client: ") + e.what());
  }
  Client client(std::move(state));  // joins the thread if it cannot be used
  const auto nothing = [](ClientSession&, Taker<void> done) { done({}); };
  if (Result<void> ready = client.state_->wait<void>(nothing); !ready) {
    return std::move(ready).error();
  }
  return client;
}

Result<Client> Client::open_again(std::shared_ptr<State> state) {
  state->reopens = true;
  return open(std::move(state));
}

Result<Client> Client::spawn(std::vector<std::string> argv, ClientOptions options) {
  ProcessOptions process;
  process.argv = std::move(argv);
  return spawn(std::move(process), std::move(options));
}

Result<Client> Client::spawn(ProcessOptions process, ClientOptions options) {
  if (process.argv.empty()) return rpc::invalid_params("spawn() needs the name of a program");
  // Shared, because a restart needs it again and a Function cannot be copied.
  const auto template_ = std::make_shared<ProcessOptions>(std::move(process));
  const Limits limits = options.limits;
  return open_again(std::make_shared<State>(
      std::move(options), [template_, limits](State& target, OnConnected done) {
        ProcessOptions mine;
        mine.argv = template_->argv;
        mine.environment = template_->environment;
        mine.inherit = template_->inherit;
        mine.directory = template_->directory;
        mine.close_grace = template_->close_grace;
        mine.term_grace = template_->term_grace;
        mine.stderr_tail = template_->stderr_tail;
        if (template_->on_stderr) {
          mine.on_stderr = [template_](std::string_view line) { template_->on_stderr(line); };
        }
        auto made = CommandTransport::spawn(target.loop, std::move(mine), Framing::newline, limits);
        if (!made) return done(std::move(made).error());
        target.command = made->get();
        done(std::unique_ptr<rpc::Transport>(*std::move(made)));
      }));
}

Result<Client> Client::connect(TransportFactory factory, ClientOptions options) {
  return open(std::make_shared<State>(
      std::move(options), [factory = std::move(factory)](State& state, OnConnected done) {
        done(factory(state.loop));
      }));
}

Result<Client> Client::connect(std::string_view url, ClientOptions options) {
  const SocketOptions socket{.limits = options.limits, .log = options.log};
  constexpr std::string_view tcp = "tcp://";
  constexpr std::string_view unix_ = "unix://";
  if (url.starts_with(tcp)) {
    const auto address = Address::parse(url.substr(tcp.size()));
    if (!address) return bad_url(url, address.error().message);
    return open_again(std::make_shared<State>(
        std::move(options), [address = *address, socket](State& state, OnConnected done) {
          state.connector.emplace(connect_tcp(state.loop, address, std::move(done), socket));
        }));
  }
  if (url.starts_with(unix_)) {
    const std::string path(url.substr(unix_.size()));
    if (!path.starts_with('/')) return bad_url(url, "write unix:///path, with an absolute path");
    return open_again(
        std::make_shared<State>(std::move(options), [path, socket](State& state, OnConnected done) {
          state.connector.emplace(connect_unix(state.loop, path, std::move(done), socket));
        }));
  }
  if (url.starts_with("http://") || url.starts_with("https://")) {
    return connect_http(url, std::move(options));
  }
  if (url.starts_with("ws://") || url.starts_with("wss://")) {
    const auto parsed = http::Url::parse(url);
    if (!parsed) return bad_url(url, parsed.error().message);
    const auto fields = fields_of(options);
    if (!fields) return bad_url(url, fields.error().message);
    const auto tls = tls_of(options);
    if (!tls) return tls.error();
    const WebSocketConnectOptions ws{.websocket = {.limits = options.limits},
                                     .fields = *fields,
                                     .authorizer = options.authorizer,
                                     .connect = {.tls = *tls}};
    return open_again(std::make_shared<State>(
        std::move(options), [to = *parsed, ws](State& state, OnConnected done) {
          state.websocket.emplace(connect_websocket(state.loop, to, std::move(done), ws));
        }));
  }
  return bad_url(url,
                 "write http://host/path, ws://host/path, tcp://host:port or unix:///path; a "
                 "program is started "
                 "with spawn()");
}

Result<Client> Client::connect_http(std::string_view url, ClientOptions options) {
  HttpTransportOptions http;
  const auto parsed = http::Url::parse(url);
  if (!parsed) return bad_url(url, parsed.error().message);
  http.url = *parsed;
  Result<http::Fields> fields = fields_of(options);
  if (!fields) return bad_url(url, fields.error().message);
  http.headers = *std::move(fields);
  http.authorizer = options.authorizer;
  const auto tls = tls_of(options);
  if (!tls) return tls.error();
  http.tls = *tls;
  http.limits = options.limits;
  // What is too much for the session is refused where it is known whose answer it is.
  http.limits.sse_event_bytes =
      std::min(options.limits.sse_event_bytes, options.limits.message_bytes_in);
  http.log = options.log;
  // There is no process that would have to be started: the next call just begins anew.
  options.restart = true;
  return connect(
      [http = std::move(http)](Loop& loop) -> Result<std::unique_ptr<rpc::Transport>> {
        return std::unique_ptr<rpc::Transport>(HttpTransport::make(loop, http));
      },
      std::move(options));
}

// The server.

Verdict Client::verdict() const { return state_->known(); }
Implementation Client::server_info() const { return state_->known().server; }
ServerCapabilities Client::server_capabilities() const { return state_->known().capabilities; }
std::string Client::instructions() const { return state_->known().instructions; }
std::string Client::revision() const { return state_->known().revision; }

// Calls.

Result<ToolResult> Client::call_tool(std::string_view tool, RawJson arguments,
                                     RequestOptions options) {
  return state_->wait<ToolResult>(
      [tool = std::string(tool), arguments = std::move(arguments), options = std::move(options)](
          ClientSession& session, Taker<ToolResult> done) {
        session.call_tool(tool, arguments, std::move(done), options);
      });
}

Result<ToolResult> Client::send_tool(std::string_view tool, std::string arguments,
                                     RequestOptions options) {
  return state_->wait<ToolResult>(
      [tool = std::string(tool),
       arguments = std::make_shared<const std::string>(std::move(arguments)),
       options = std::move(options)](ClientSession& session, Taker<ToolResult> done) {
        session.send_tool(tool, arguments, std::move(done), options);
      });
}

Result<std::vector<Tool>> Client::list_tools(RequestOptions options) {
  return state_->wait<std::vector<Tool>>(
      [options = std::move(options)](ClientSession& session, Taker<std::vector<Tool>> done) {
        session.list_tools(std::move(done), options);
      });
}

Result<std::vector<Resource>> Client::list_resources(RequestOptions options) {
  return state_->wait<std::vector<Resource>>(
      [options = std::move(options)](ClientSession& session, Taker<std::vector<Resource>> done) {
        session.list_resources(std::move(done), options);
      });
}

Result<std::vector<ResourceTemplate>> Client::list_resource_templates(RequestOptions options) {
  return state_->wait<std::vector<ResourceTemplate>>(
      [options = std::move(options)](ClientSession& session,
                                     Taker<std::vector<ResourceTemplate>> done) {
        session.list_resource_templates(std::move(done), options);
      });
}

Result<std::vector<Prompt>> Client::list_prompts(RequestOptions options) {
  return state_->wait<std::vector<Prompt>>(
      [options = std::move(options)](ClientSession& session, Taker<std::vector<Prompt>> done) {
        session.list_prompts(std::move(done), options);
      });
}

Result<ReadResult> Client::read(std::string_view uri, RequestOptions options) {
  return state_->wait<ReadResult>([uri = std::string(uri), options = std::move(options)](
                                      ClientSession& session, Taker<ReadResult> done) {
    session.read_resource(uri, std::move(done), options);
  });
}

Result<PromptResult> Client::prompt(std::string_view name,
                                    std::map<std::string, std::string> arguments,
                                    RequestOptions options) {
  return state_->wait<PromptResult>(
      [name = std::string(name), arguments = std::move(arguments), options = std::move(options)](
          ClientSession& session, Taker<PromptResult> done) {
        session.get_prompt(name, arguments, std::move(done), options);
      });
}

Result<Completion> Client::complete(CompletionReference reference, CompletionArgument argument,
                                    CompletionContext context, RequestOptions options) {
  return state_->wait<Completion>([reference = std::move(reference), argument = std::move(argument),
                                   context = std::move(context), options = std::move(options)](
                                      ClientSession& session, Taker<Completion> done) {
    session.complete(reference, argument, std::move(done), context, options);
  });
}

Result<void> Client::ping(RequestOptions options) {
  return state_->wait<void>(
      [options = std::move(options)](ClientSession& session, Taker<void> done) {
        session.ping(std::move(done), options);
      });
}

Result<void> Client::set_log_level(LoggingLevel level) {
  return state_->wait<void>([level](ClientSession& session, Taker<void> done) {
    session.set_log_level(level, std::move(done));
  });
}

Result<void> Client::set_roots(std::vector<Root> roots) {
  return state_->wait<void>(
      [state = state_.get(), roots = std::move(roots)](ClientSession& session, Taker<void> done) {
        if (state->options.roots) state->options.roots = roots;  // for a restart
        done(session.set_roots(roots));
      });
}

Result<RawJson> Client::request(std::string_view method, RawJson params, RequestOptions options) {
  return state_->wait<RawJson>(
      [method = std::string(method), params = std::move(params), options = std::move(options)](
          ClientSession& session, Taker<RawJson> done) {
        session.request(method, params, std::move(done), options);
      });
}

Result<void> Client::notify(std::string_view method, RawJson params) {
  return state_->wait<void>(
      [method = std::string(method), params = std::move(params)](
          ClientSession& session, Taker<void> done) { done(session.notify(method, params)); });
}

Result<Listen> Client::listen(SubscriptionFilter filter, ListenCallbacks callbacks) {
  auto entry = std::make_shared<State::Renewable>();
  entry->filter = std::move(filter);
  entry->callbacks = std::move(callbacks);
  State* state = state_.get();
  const Result<void> agreed = state->wait<void>([state, entry](ClientSession&, Taker<void> done) {
    state->add_listen(entry, std::move(done));
  });
  if (!agreed) return agreed.error();
  return Listen([weak = std::weak_ptr(state_), unwanted = entry->unwanted] {
    *unwanted = true;
    if (const auto alive = weak.lock()) alive->listens_unwanted.signal();
  });
}

void Client::call_tool_async(std::string_view tool, RawJson arguments,
                             Function<void(Result<ToolResult>)> done, RequestOptions options) {
  auto begin = [tool = std::string(tool), arguments = std::move(arguments),
                options = std::move(options)](ClientSession& session, Taker<ToolResult> taker) {
    session.call_tool(tool, arguments, std::move(taker), options);
  };
  state_->post_call<ToolResult>(std::move(begin), std::move(done));
}

void Client::send_tool_async(std::string_view tool, std::string arguments,
                             Function<void(Result<ToolResult>)> done, RequestOptions options) {
  auto begin = [tool = std::string(tool),
                arguments = std::make_shared<const std::string>(std::move(arguments)),
                options = std::move(options)](ClientSession& session, Taker<ToolResult> taker) {
    session.send_tool(tool, arguments, std::move(taker), options);
  };
  state_->post_call<ToolResult>(std::move(begin), std::move(done));
}

void Client::with_session(Function<void(Result<ClientSession*>)> work) {
  State* const state = state_.get();
  auto run = [state, work = std::make_shared<State::Work>(std::move(work))](
                 Result<ClientSession*> session) {
    state->guarded("work with the session threw", *work, std::move(session));
  };
  auto begin = [run](ClientSession& session, Taker<void> done) {
    run(&session);
    done({});
  };
  state->post_call<void>(std::move(begin), [run](Result<void> outcome) {
    if (!outcome) run(std::move(outcome).error());
  });
}

}  // namespace godwit::inline v0
