// expect: a form is a flat struct
#include <godwit/server/server.hpp>

struct Place {
  std::string city{};
};
struct Form {
  Place place{};
};

void ask(godwit::Context& cx) { static_cast<void>(cx.elicit<Form>("form", "Where?")); }
