#include "godwit/seal/aes_sealer.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace godwit::inline v0 {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view prefix = "g1.";
constexpr std::size_t key_bytes = 32;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t id_bytes = 8;
constexpr std::size_t salt_bytes = 32;
constexpr std::size_t tag_bytes = 16;
constexpr std::size_t overhead = id_bytes + salt_bytes + tag_bytes;
/// OpenSSL counts in int.
constexpr std::size_t max_context_bytes = 1 << 30;

struct Free {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// Leaves the calling thread's error queue as it was: the program may use OpenSSL too.
class ErrorQueue {
 public:
  ErrorQueue() { ERR_set_mark(); }
  ~ErrorQueue() { ERR_pop_to_mark(); }
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;
};

template <std::size_t size>
struct Secret {
  Secret() = default;
  ~Secret() { OPENSSL_cleanse(bytes.data(), size); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  std::array<std::uint8_t, size> bytes{};
};

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void random_bytes(std::span<std::uint8_t> out) {
  const ErrorQueue queue;
  if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) != 1) {
    throw std::runtime_error("OpenSSL has no random numbers");
  }
}

Owned<EVP_KDF> fetch_hkdf() {
  Owned<EVP_KDF> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  if (!kdf) throw std::runtime_error("OpenSSL has no HKDF");
  return kdf;
}

/// RFC 5869. OpenSSL takes an empty salt, but not a null pointer.
bool hkdf(EVP_KDF* kdf, Bytes secret, Bytes salt, std::string_view info,
          std::span<std::uint8_t> out) {
  const Owned<EVP_KDF_CTX> context(EVP_KDF_CTX_new(kdf));
  if (!context) return false;
  // OpenSSL only reads them.
  const auto octets = [](const char* name, Bytes bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(bytes.data()),
                                             bytes.size());
  };
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      octets(OSSL_KDF_PARAM_KEY, secret),
      octets(OSSL_KDF_PARAM_SALT, salt),
      octets(OSSL_KDF_PARAM_INFO, bytes_of(info)),
      OSSL_PARAM_construct_end(),
  };
  return EVP_KDF_derive(context.get(), out.data(), out.size(), parameters) == 1;
}

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void append_base64url(std::string& out, Bytes bytes) {
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) out += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += alphabet[bits << (6 - count) & 63];
}

constexpr std::size_t base64_size(std::size_t bytes) { return (bytes * 4 + 2) / 3; }

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/// Nothing else decodes to the same bytes: unused bits must be zero.
std::optional<std::vector<std::uint8_t>> from_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::vector<std::uint8_t> out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int digit = base64_digit(c);
    if (digit < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    out.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace

struct AesSealer::State {
  struct Key {
    SealKey key{};
    std::array<std::uint8_t, id_bytes> id{};
  };
  enum class Direction : int { open = 0, seal = 1 };

  explicit State(std::span<const SealKey> given)
      : kdf(fetch_hkdf()), cipher(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)) {
    if (!cipher) throw std::runtime_error("OpenSSL has no AES-256-GCM");
    keys.resize(given.size());  // once: growing would leave copies behind
    for (std::size_t i = 0; i < given.size(); ++i) {
      keys[i].key = given[i];
      if (!hkdf(kdf.get(), given[i].bytes, bytes_of(""), "godwit seal key id", keys[i].id)) {
        throw std::runtime_error("OpenSSL failed to make a key id");
      }
    }
  }
  ~State() {
    for (Key& key : keys) OPENSSL_cleanse(key.key.bytes.data(), key.key.bytes.size());
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// A cipher ready for the text: keyed, and with everything authenticated that comes before.
  Owned<EVP_CIPHER_CTX> begin(const Key& key, Bytes salt, std::string_view context,
                              Direction direction) const {
    Secret<key_bytes + nonce_bytes> derived;
    if (!hkdf(kdf.get(), key.key.bytes, salt, "godwit seal g1", derived.bytes)) return nullptr;
    Owned<EVP_CIPHER_CTX> aes(EVP_CIPHER_CTX_new());
    int ignored = 0;
    const auto authenticate = [&](Bytes bytes) {
      return bytes.empty() || EVP_CipherUpdate(aes.get(), nullptr, &ignored, bytes.data(),
                                               static_cast<int>(bytes.size())) == 1;
    };
    // The nonce has the 12 bytes that AES-GCM has by default.
    if (!aes ||
        EVP_CipherInit_ex2(aes.get(), cipher.get(), derived.bytes.data(),
                           derived.bytes.data() + key_bytes, static_cast<int>(direction),
                           nullptr) != 1 ||
        !authenticate(bytes_of(prefix)) || !authenticate(key.id) ||
        !authenticate(bytes_of(context))) {
      return nullptr;
    }
    return aes;
  }

  bool encrypt(std::string_view plain, std::string_view context,
               std::vector<std::uint8_t>& message) const {
    const Key& key = keys.front();
    message.resize(overhead + plain.size());
    std::copy(key.id.begin(), key.id.end(), message.begin());
    const std::span<std::uint8_t> salt(message.data() + id_bytes, salt_bytes);
    if (RAND_bytes(salt.data(), static_cast<int>(salt.size())) != 1) return false;
    const auto aes = begin(key, salt, context, Direction::seal);
    std::uint8_t* const text = salt.data() + salt.size();
    int size = 0;
    return aes &&
           (plain.empty() || EVP_CipherUpdate(aes.get(), text, &size, bytes_of(plain).data(),
                                              static_cast<int>(plain.size())) == 1) &&
           EVP_CipherFinal_ex(aes.get(), text + size, &size) == 1 &&
           EVP_CIPHER_CTX_ctrl(aes.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, text + plain.size()) ==
               1;
  }

  bool decrypt(const Key& key, std::span<std::uint8_t> message, std::string_view context,
               std::string& plain) const {
    const Bytes salt = message.subspan(id_bytes, salt_bytes);
    const Bytes text = message.subspan(id_bytes + salt_bytes, message.size() - overhead);
    const auto aes = begin(key, salt, context, Direction::open);
    plain.resize(text.size());
    auto* const out = reinterpret_cast<std::uint8_t*>(plain.data());
    int size = 0;
    return aes &&
           EVP_CIPHER_CTX_ctrl(aes.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes,
                               message.last(tag_bytes).data()) == 1 &&
           (text.empty() || EVP_CipherUpdate(aes.get(), out, &size, text.data(),
                                             static_cast<int>(text.size())) == 1) &&
           EVP_CipherFinal_ex(aes.get(), out + size, &size) == 1;
  }

  Owned<EVP_KDF> kdf;
  Owned<EVP_CIPHER> cipher;
  std::vector<Key> keys;
};

AesSealer::AesSealer() {
  SealKey key = random_key();
  state_ = std::make_unique<State>(std::span(&key, 1));
  OPENSSL_cleanse(key.bytes.data(), key.bytes.size());
}

AesSealer::AesSealer(std::vector<SealKey> keys) {
  if (keys.empty()) throw std::invalid_argument("AesSealer needs at least one key");
  state_ = std::make_unique<State>(keys);
  for (SealKey& key : keys) OPENSSL_cleanse(key.bytes.data(), key.bytes.size());
}

AesSealer::~AesSealer() = default;

SealKey AesSealer::random_key() {
  SealKey key;
  random_bytes(key.bytes);
  return key;
}

Result<SealKey> AesSealer::key_from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("=") && text.size() == base64_size(key_bytes) + 1;
  std::string digits(text.substr(0, text.size() - padding));
  std::replace(digits.begin(), digits.end(), '+', '-');
  std::replace(digits.begin(), digits.end(), '/', '_');
  auto bytes = from_base64url(digits);
  OPENSSL_cleanse(digits.data(), digits.size());
  if (!bytes || bytes->size() != key_bytes) {
    return error(
        "a key is 32 bytes in base64, which is 43 or 44 characters; make one with "
        "\"openssl rand -base64 32\"");
  }
  SealKey key;
  std::copy(bytes->begin(), bytes->end(), key.bytes.begin());
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return key;
}

Result<SealKey> AesSealer::key_from_text(std::string_view secret) {
  if (secret.size() < key_bytes) {
    return error("a secret for a key has at least 32 bytes, this one has " +
                 std::to_string(secret.size()));
  }
  const ErrorQueue queue;
  SealKey key;
  if (!hkdf(fetch_hkdf().get(), bytes_of(secret), bytes_of(""), "godwit seal key of text",
            key.bytes)) {
    return error("OpenSSL failed to make a key of a text");
  }
  return key;
}

std::string AesSealer::seal(std::string_view plain, std::string_view context) {
  if (plain.size() > max_sealed_bytes ||
      prefix.size() + base64_size(overhead + plain.size()) > max_sealed_bytes ||
      context.size() > max_context_bytes) {
    throw std::length_error("the text is too long to be sealed");
  }
  const ErrorQueue queue;
  std::vector<std::uint8_t> message;
  if (!state_->encrypt(plain, context, message)) {
    throw std::runtime_error("OpenSSL failed to seal");
  }
  std::string out(prefix);
  out.reserve(prefix.size() + base64_size(message.size()));
  append_base64url(out, message);
  return out;
}

std::optional<std::string> AesSealer::open(std::string_view sealed, std::string_view context) {
  if (sealed.size() > max_sealed_bytes || context.size() > max_context_bytes ||
      !sealed.starts_with(prefix)) {
    return std::nullopt;
  }
  auto message = from_base64url(sealed.substr(prefix.size()));
  if (!message || message->size() < overhead) return std::nullopt;
  const ErrorQueue queue;
  for (const State::Key& key : state_->keys) {
    if (!std::equal(key.id.begin(), key.id.end(), message->begin())) continue;
    std::string plain;
    if (state_->decrypt(key, *message, context, plain)) return plain;
    // GCM deciphers before it knows better; what did not authenticate is nobody's.
    OPENSSL_cleanse(plain.data(), plain.size());
  }
  return std::nullopt;
}

}  // namespace godwit::inline v0
