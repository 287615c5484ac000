// Umbrella of the web module: MCP over HTTP.
#pragma once

#include "godwit/web/blocking_endpoint.hpp"
#include "godwit/web/endpoint.hpp"
#include "godwit/web/http_transport.hpp"
#include "godwit/web/metrics.hpp"
#include "godwit/web/web_server.hpp"
