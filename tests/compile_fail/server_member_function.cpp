// expect: a member function needs its object
#include <godwit/server/server.hpp>

struct Weather {
  std::string forecast() { return "sunny"; }
};

void offer(godwit::Server& server) { server.tool("forecast", "", &Weather::forecast); }
