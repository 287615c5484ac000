// Umbrella of the io module.
#pragma once

#include "godwit/io/address.hpp"
#include "godwit/io/connector.hpp"
#include "godwit/io/descriptor.hpp"
#include "godwit/io/ip_address.hpp"
#include "godwit/io/listener.hpp"
#include "godwit/io/loop.hpp"
#include "godwit/io/output_buffer.hpp"
#include "godwit/io/process.hpp"
#include "godwit/io/signals.hpp"
#include "godwit/io/standard_io.hpp"
#include "godwit/io/stream.hpp"
#include "godwit/io/timer.hpp"
#include "godwit/io/tls.hpp"
