#include "default_sealer.hpp"

#include <memory>
#include <mutex>
#include <optional>

#include "godwit/seal/aes_sealer.hpp"

namespace godwit::inline v0::detail::runtime {

namespace {

/// Made when something is first sealed. Most servers never ask, and OpenSSL alone would take a
/// third of their start-up time and memory.
class LazySealer final : public Sealer {
 public:
  std::string seal(std::string_view plain, std::string_view context) override {
    return sealer().seal(plain, context);
  }
  std::optional<std::string> open(std::string_view sealed, std::string_view context) override {
    return sealer().open(sealed, context);
  }

 private:
  AesSealer& sealer() {
    std::call_once(once_, [this] { sealer_.emplace(); });
    return *sealer_;
  }

  std::once_flag once_;
  std::optional<AesSealer> sealer_;
};

}  // namespace

void ensure_sealer(Service& service) { service.set_default_sealer(std::make_shared<LazySealer>()); }

}  // namespace godwit::inline v0::detail::runtime
