// A weather service: the struct is the schema, of what comes in and of what goes out.
//
//   weather [--stdio | --tcp HOST:PORT | --unix PATH]
#include <godwit/godwit.hpp>

enum class Unit { celsius, kelvin };

struct Weather {  // the struct is the schema
  std::string city{};
  std::optional<int> days{};  // optional = not in "required"
  Unit unit{};                // enum = {"type":"string","enum":["celsius","kelvin"]}

  static constexpr godwit::Field fields[] = {  // only where there is something to add
      {"city", "City to look up"},
      {.name = "days", .about = "How far ahead", .minimum = 1, .maximum = 10}};
};
struct Forecast {
  std::string text{};
  double degrees{};
};

int main(int argc, char** argv) {
  godwit::Server server{{.name = "weather", .version = "1.0.0"}};

  server.tool("forecast", "Forecast for a city", [](Weather in) {
    const double celsius = 21;
    return Forecast{.text = "sunny in " + in.city,
                    .degrees = in.unit == Unit::kelvin ? celsius + 273.15 : celsius};
  });

  return godwit::serve(server, argc, argv);
}
