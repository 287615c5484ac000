// Umbrella of the http module.
#pragma once

#include "godwit/http/access.hpp"
#include "godwit/http/exchange.hpp"
#include "godwit/http/fields.hpp"
#include "godwit/http/http_client.hpp"
#include "godwit/http/http_server.hpp"
#include "godwit/http/proxies.hpp"
#include "godwit/http/request.hpp"
#include "godwit/http/request_authorizer.hpp"
#include "godwit/http/request_parser.hpp"
#include "godwit/http/response.hpp"
#include "godwit/http/response_parser.hpp"
#include "godwit/http/sse_decoder.hpp"
#include "godwit/http/sse_event.hpp"
#include "godwit/http/trusted_proxies.hpp"
#include "godwit/http/url.hpp"
