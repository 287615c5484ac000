// Umbrella of the seal module.
#pragma once

#include "godwit/seal/aes_sealer.hpp"
