// Work: one call of a tool, a prompt or a resource, as the handlers of the server see it. Private
// to the templates that turn functions into handlers.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/base/error.hpp"
#include "godwit/base/executor.hpp"
#include "godwit/base/export.hpp"
#include "godwit/json/decode.hpp"
#include "godwit/json/view.hpp"
#include "godwit/mcp/content.hpp"
#include "godwit/mcp/prompt.hpp"
#include "godwit/mcp/resource.hpp"
#include "godwit/mcp/tool.hpp"
#include "godwit/server/context.hpp"
#include "godwit/server/input_required.hpp"
#include "godwit/server/provider.hpp"

namespace godwit::inline v0::detail::server {

class LateWork;

class GODWIT_API Work {
 public:
  virtual ~Work();
  virtual json::View arguments() const = 0;
  /// The uri that is read; empty for tools and prompts.
  virtual std::string_view uri() const = 0;
  virtual Context& context() = 0;
  /// A buffer for the JSON of a result.
  virtual std::string& scratch() = 0;

  // Exactly one of these, or defer().

  /// A tool answers with a text, a prompt with a message of the user, a resource with its text.
  virtual void text(std::string_view text) = 0;
  /// A tool answers with a value, given as JSON.
  virtual void structured(std::string_view json) = 0;
  virtual void contents(const std::vector<Content>& contents) = 0;
  virtual void result(const ToolResult& result) = 0;
  virtual void prompt(const PromptResult& result) = 0;
  virtual void read(const ReadResult& result) = 0;
  /// Bytes of a resource.
  virtual void blob(std::string_view bytes) = 0;
  /// A provider's part of a list.
  virtual void page(const ListPage& page) = 0;
  virtual void ask(const InputRequired& questions) = 0;
  virtual void fail(Error error) = 0;
  virtual void bad_arguments(const json::DecodeFailure& failure) = 0;
  virtual void threw(std::exception_ptr exception) noexcept = 0;

  /// Takes the call off the stack. Null if it had to be refused, which has been answered then.
  virtual std::shared_ptr<LateWork> defer() = 0;
  /// Where blocking handlers run.
  virtual Executor& executor() = 0;
};

/// A call that is answered later, from any thread. Dropped unanswered, it answers internal_error.
class GODWIT_API LateWork {
 public:
  virtual ~LateWork();
  virtual Work& work() = 0;
};

/// A function that answers calls.
class GODWIT_API WorkHandler {
 public:
  virtual ~WorkHandler();
  virtual void invoke(Work& work) const = 0;
  virtual bool needs_executor() const noexcept { return false; }
};

}  // namespace godwit::inline v0::detail::server
