// expect: godwit: this enum has values whose names are not found, because they are not from -128
#include "godwit/json/schema_of.hpp"

enum class Status { ok = 0, not_found = 404 };
struct Answer {
  Status status{};
};

int main() { return static_cast<int>(godwit::json::schema_of<Answer>().size()); }
