// SPDX-License-Identifier: Apache-2.0
// The compiler: what a tool's JSON Schema says of its arguments, as invariants.
//
// Each leaf property gives its bounds: minimum, maximum, pattern, enum, const, minLength, maxLength. What a schema composes
// (anyOf, $ref, items, ...) is passed over with a remark. An invariant that somebody wrote on the same path replaces all that
// the schema says of it. An absent value passes: what is required is not among these.
#include <algorithm>
#include <array>

#include "contract/compiler.h"
#include "contract/facts.h"
#include "contract/reading.h"

namespace baton::contract {
namespace {

constexpr std::array<std::string_view, 8> kComposing = {"anyOf", "oneOf", "allOf",       "not",
                                                        "$ref",  "items", "prefixItems", "if"};
constexpr std::size_t kDepthMax = 32;

struct Keyword {
  std::string_view name;
  Op op;
  json::Kind takes;
};
constexpr std::array<Keyword, 7> kKeywords = {{{"minimum", Op::Gte, json::Kind::Number},
                                               {"maximum", Op::Lte, json::Kind::Number},
                                               {"pattern", Op::Regex, json::Kind::String},
                                               {"enum", Op::OneOf, json::Kind::Array},
                                               {"const", Op::Equals, json::Kind::Null},  // anything
                                               {"minLength", Op::LengthGte, json::Kind::Number},
                                               {"maxLength", Op::LengthLte, json::Kind::Number}}};

class Deriver {
 public:
  Deriver(Compiler& compiler, ToolId id, json::Node root)
      : compiler_(compiler), findings_(compiler.findings), tool_(compiler.plan.tools[id]), root_(root) {
    findings_.in(compiler.contracts[id].file);
  }

  void derive(json::Node schema) {
    for (const json::Node path : root_["schema_derived_exclude"].elements()) {
      auto at = path_at(findings_, path);
      if (!at) continue;
      excluded_.push_back({std::move(*at), path, false});
    }
    const bool on = compiler_.plan.schema_derived && flag_in(root_, "schema_derived", true);  // either switches it off
    written_ = tool_.arguments.size();
    if (schema.is_object()) {
      tool_.schema = std::make_shared<const json::Value>(json::Value::copy(schema));
      walk(schema, "$", on, 0);
    }
    for (const Excluded& one : excluded_)
      if (!one.matched) findings_.add(Code::SCHEMA_EXCLUDE_UNMATCHED, one.place, {{"path", one.at.text}});
  }

 private:
  struct Excluded {
    PathAt at;
    json::Node place;
    bool matched;
  };

  // `path`: as JSONPath, always in the form ['name'].
  void walk(json::Node schema, const std::string& path, bool on, std::size_t depth) {
    if (depth > kDepthMax) return skipped(path, "its depth");
    for (const std::string_view name : kComposing)
      if (schema[name] && on) skipped(path, name);
    for (const json::Member property : schema["properties"].members()) {
      if (!property.value.is_object()) continue;
      std::string below = path + "['";
      for (const char c : property.name()) (c == '\'' || c == '\\' ? below += '\\' : below) += c;
      below += "']";
      const auto compiled = json::Path::compile(below);
      if (!compiled) {
        if (on) skipped(below, "its name");
        continue;
      }
      const bool excluded = is_excluded(*compiled);  // asked in any case: it notes what it matched
      // At this path rules see what Baton derived (facts.h). The client's member of that name is refused at the hook.
      if (reads_fact(tool_.name, *compiled)) {
        if (on && !excluded) skipped(compiled->text(), "properties");
        continue;
      }
      const bool here = on && !excluded;
      if (property.value["properties"].is_object()) walk(property.value, below, here, depth + 1);
      else {
        for (const std::string_view name : kComposing)
          if (property.value[name] && here) skipped(compiled->text(), name);
        if (here) leaf(property.value, *compiled);
      }
    }
  }

  bool is_excluded(const json::Path& path) {
    bool out = false;
    for (Excluded& one : excluded_) {
      const auto& steps = one.at.path.steps();
      if (steps.size() > path.steps().size() || !std::equal(steps.begin(), steps.end(), path.steps().begin())) continue;
      one.matched = out = true;
    }
    return out;
  }

  void leaf(json::Node schema, const json::Path& path) {
    const auto operand_of = [&](const Keyword& keyword) {
      const json::Node operand = schema[keyword.name];
      return keyword.takes == json::Kind::Null || operand.is(keyword.takes) ? operand : json::Node();
    };
    std::string keywords;
    for (const Keyword& keyword : kKeywords)
      if (operand_of(keyword)) keywords.append(keywords.empty() ? "" : ", ").append(keyword.name);
    if (keywords.empty()) return;
    // What was written on a path counts alone there.
    const bool overridden =
        std::any_of(tool_.arguments.begin(), tool_.arguments.begin() + static_cast<std::ptrdiff_t>(written_),
                    [&](const Invariant& one) { return one.at.path == path; });
    if (overridden) {
      findings_.add(report(Code::schema_bound_overridden, {}, {{"path", path.text()}, {"keywords", keywords}}));
      return;
    }
    Invariant out{{path, path.text()}, {}};
    out.origin = Origin::Schema;
    for (const Keyword& keyword : kKeywords) {
      const json::Node operand = operand_of(keyword);
      if (!operand) continue;
      Test test{keyword.op, json::Value::copy(operand)};
      if (operand.is_number() && keyword.op != Op::Equals)
        test.number = json::Decimal::from_number(operand.number_text());
      if (keyword.op == Op::Regex) {
        bool unsupported = false;
        std::string problem;
        test.regex = compile_regex(operand.string(), unsupported, problem);
        if (!test.regex) {
          findings_.add(report(Code::SCHEMA_PATTERN_UNSUPPORTED, {}, {{"path", out.at.text}, {"problem", problem}}));
          continue;
        }
      }
      out.tests.push_back(std::move(test));
    }
    if (!out.tests.empty()) tool_.arguments.push_back(std::move(out));
  }

  void skipped(const std::string& path, std::string_view what) {
    findings_.add(report(Code::schema_part_skipped, {}, {{"path", path}, {"part", what}}));
  }

  Compiler& compiler_;
  Findings& findings_;
  Tool& tool_;
  const json::Node root_;
  std::vector<Excluded> excluded_;
  std::size_t written_ = 0;
};

}  // namespace

void Compiler::derive_invariants(ToolId id) {
  const auto found = schemas.find(plan.tools[id].name);
  if (found != schemas.end() && found->second.output.is_object())
    plan.tools[id].output_schema = std::make_shared<const json::Value>(json::Value::copy(found->second.output));
  Deriver(*this, id, contracts[id].root()).derive(found == schemas.end() ? json::Node() : found->second.schema);
}

// --- tools.json -------------------------------------------------------------------------------------------------------------------

namespace {

// {"name", "inputSchema"} (MCP), {"name", "input_schema"} (Anthropic), {"type": "function", "function": {"name", "parameters"}}
// (OpenAI's chat), {"type": "function", "name", "parameters"} (OpenAI's responses).
std::optional<std::pair<std::string, ToolSchema>> definition_of(json::Node entry) {
  if (!entry.is_object()) return std::nullopt;
  const json::Node body = entry["function"].is_object() ? entry["function"] : entry;
  if (!body["name"].is_string()) return std::nullopt;
  ToolSchema out;
  for (const std::string_view name : {"inputSchema", "input_schema", "parameters"})
    if (body[name].is_object()) out.schema = body[name];
  out.output = body["outputSchema"];
  out.description = text_in(body, "description");
  out.annotations = body["annotations"];
  return std::pair(std::string(body["name"].string()), out);
}

}  // namespace

std::vector<std::pair<std::string, ToolSchema>> read_tool_definitions(Findings& findings, json::Node root) {
  // {"tools": [...]}, {"result": {"tools": [...]}}, or the list itself.
  json::Node list = root;
  if (list["result"].is_object()) list = list["result"];
  if (list["tools"]) list = list["tools"];
  std::vector<std::pair<std::string, ToolSchema>> out;
  if (!list.is_array()) {
    findings.add(Code::TOOLS_FILE, root, {{"problem", "holds no list of tools"}});
    return out;
  }
  for (const json::Node entry : list.elements()) {
    auto definition = definition_of(entry);
    if (!definition) {
      findings.add(Code::TOOLS_FILE, entry, {{"problem", "holds something that is no tool definition"}});
    } else if (std::ranges::any_of(out, [&](const auto& one) { return one.first == definition->first; })) {
      findings.add(Code::TOOLS_FILE, entry, {{"problem", "defines the tool `" + definition->first + "` twice"}});
    } else {
      out.push_back(std::move(*definition));
    }
  }
  return out;
}

}  // namespace baton::contract
