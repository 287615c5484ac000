// The public JSON-Schema-Test-Suite, read in place: every required test of both drafts, and the
// optional ones but for those decided otherwise below.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "godwit/json/schema.hpp"
#include "test_data.hpp"

namespace {

namespace fs = std::filesystem;
using godwit::json::Draft;
using godwit::json::Schema;
using godwit::json::SchemaOptions;
using godwit::json::Value;

struct Decided {
  std::string_view file;
  std::string_view reason;
};

// Optional tests that are answered differently, with the reason.
constexpr std::array<Decided, 2> decided{{
    {"cross-draft.json", "draft 2019-09 is not offered; a $ref to it is an error"},
    {"content.json", "contentEncoding and contentMediaType are remarks, as since draft 2019-09"},
}};

std::optional<Value> read_json(const fs::path& path) {
  auto value = godwit::json::parse(godwit::test::read_file(path));
  if (!value) {
    ADD_FAILURE() << path << ": " << value.error().message;
    return std::nullopt;
  }
  return std::move(*value);
}

class Suite {
 public:
  Suite(fs::path root, Draft draft) : draft_(draft) {
    tests_ = root / "tests" / (draft == Draft::draft7 ? "draft7" : "draft2020-12");
    for (const auto& entry : fs::recursive_directory_iterator(root / "remotes")) {
      if (entry.path().extension() != ".json") continue;
      auto value = read_json(entry.path());
      if (!value) continue;
      const std::string path = fs::relative(entry.path(), root / "remotes").generic_string();
      documents_.emplace_back("http://localhost:1234/" + path, std::move(*value));
    }
  }

  void run(const fs::path& folder, bool assert_formats) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(tests_ / folder)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    ASSERT_FALSE(files.empty());
    for (const fs::path& file : files) run_file(file, assert_formats);
  }

  int passed() const { return passed_; }
  int left_out() const { return left_out_; }

 private:
  void run_file(const fs::path& file, bool assert_formats) {
    const auto groups = read_json(file);
    if (!groups) return;
    for (const Value& group : *groups->as_array()) {
      const auto name = group["description"].get<std::string>();
      const bool skip = std::any_of(decided.begin(), decided.end(), [&](const Decided& one) {
        return one.file == file.filename().string() && file.parent_path().filename() == "optional";
      });
      const auto count = static_cast<int>(group["tests"].size());
      if (skip) {
        left_out_ += count;
        continue;
      }
      run_group(file.filename().string() + ": " + name, group, assert_formats);
    }
  }

  void run_group(const std::string& name, const Value& group, bool assert_formats) {
    const auto schema = Schema::compile(
        group["schema"],
        {.draft = draft_, .assert_formats = assert_formats, .documents = documents_});
    if (!schema) {
      ADD_FAILURE() << name << ": " << schema.error().message;
      return;
    }
    for (const Value& test : *group["tests"].as_array()) {
      const bool expected = test["valid"].get<bool>();
      const auto result = schema->validate(test["data"]);
      const bool quick = schema->valid(test["data"]);
      if (result.ok() == expected && quick == expected) {
        ++passed_;
        continue;
      }
      ADD_FAILURE() << name << ": " << test["description"].get<std::string>() << ": expected "
                    << (expected ? "valid" : "not valid") << " for "
                    << test["data"].dump().substr(0, 200) << "; validate(): \"" << result.text()
                    << "\", valid(): " << quick;
    }
  }

  Draft draft_;
  fs::path tests_;
  std::vector<std::pair<std::string, Value>> documents_;
  int passed_ = 0;
  int left_out_ = 0;
};

class SchemaSuite : public testing::TestWithParam<Draft> {};

TEST_P(SchemaSuite, Required) {
  const auto root = godwit::test::test_data("JSON-Schema-Test-Suite");
  if (!root) GTEST_SKIP() << "GODWIT_TEST_DATA has no JSON-Schema-Test-Suite";
  Suite suite(*root, GetParam());
  suite.run(".", false);
  std::cout << suite.passed() << " required tests passed\n";
}

TEST_P(SchemaSuite, Optional) {
  const auto root = godwit::test::test_data("JSON-Schema-Test-Suite");
  if (!root) GTEST_SKIP() << "GODWIT_TEST_DATA has no JSON-Schema-Test-Suite";
  Suite suite(*root, GetParam());
  suite.run("optional", false);
  std::cout << suite.passed() << " optional tests passed, " << suite.left_out()
            << " decided otherwise\n";
}

TEST_P(SchemaSuite, Formats) {
  const auto root = godwit::test::test_data("JSON-Schema-Test-Suite");
  if (!root) GTEST_SKIP() << "GODWIT_TEST_DATA has no JSON-Schema-Test-Suite";
  Suite suite(*root, GetParam());
  suite.run("optional/format", true);
  std::cout << suite.passed() << " format tests passed\n";
}

INSTANTIATE_TEST_SUITE_P(Drafts, SchemaSuite, testing::Values(Draft::draft2020_12, Draft::draft7),
                         [](const auto& one) {
                           return one.param == Draft::draft7 ? "Draft7" : "Draft2020_12";
                         });

}  // namespace
