#include "godwit/http/request_authorizer.hpp"

namespace godwit::inline v0::http {

RequestAuthorizer::~RequestAuthorizer() = default;

void RequestAuthorizer::on_response(const AuthorizerRequest&, int, FieldsView) {}

void RequestAuthorizer::on_refused(const AuthorizerRequest&, const AuthorizerRefusal&,
                                   AuthorizerReply<AfterRefusal> reply) {
  reply(AfterRefusal::fail);
}

}  // namespace godwit::inline v0::http
