// SPDX-License-Identifier: Apache-2.0
#include "runtime/packs.h"

#include <map>
#include <mutex>

#include "json/parse.h"
#include "json/value.h"
#include "runtime/work_rows.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using json::Value;
namespace tables = store::tables;

constexpr std::size_t kPieceBytes = 4u << 10;  // below what goes into a blob, however its characters are escaped
constexpr std::int64_t kPartsMax = 4096;
constexpr std::size_t kCompiledMax = 256;

Value file_value(const contract::SourceFile& file) {
  Value out = Value::object();
  out.set("name", file.name);
  out.set("text", file.text);
  if (file.is_json) out.set("json", true);
  return out;
}

std::optional<contract::SourceFile> read_file(json::Node node) {
  contract::SourceFile out;
  if (!read_text(node, "name", out.name) || !read_text(node, "text", out.text)) return std::nullopt;
  out.is_json = node["json"].is_true();
  return out;
}

// What is compiled never changes: whoever has the hash has the same.
template <class What>
class Compiled {
 public:
  std::shared_ptr<const What> find(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(hash);
    return found == all_.end() ? nullptr : found->second;
  }
  void keep(const std::string& hash, std::shared_ptr<const What> made) {
    const std::lock_guard lock(mutex_);
    if (all_.size() >= kCompiledMax) all_.erase(all_.begin());
    all_.insert_or_assign(hash, std::move(made));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const What>> all_;
};

template <class What>
Compiled<What>& compiled() {
  static Compiled<What> all;
  return all;
}

// The parts one after another; empty: there are none.
Result<std::string> text_of_parts(const std::string& hash, const GetRow& get) {
  std::string text;
  for (std::int64_t part = 0; part < kPartsMax; ++part) {
    const auto row = get(tables::kPackParts, {hash, part});
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) break;
    text += text_at(**row, 2);
  }
  return text;
}

constexpr char kOfRole = '#';

}  // namespace

namespace {

Value pack_value(const contract::PackSource& pack) {
  Value out = Value::object();
  Value contracts = Value::array();
  for (const contract::SourceFile& file : pack.contracts) contracts.push(file_value(file));
  out.set("contracts", std::move(contracts));
  if (pack.session) out.set("session", file_value(*pack.session));
  if (pack.tools) out.set("tools", file_value(*pack.tools));
  if (pack.tools_lock) out.set("tools_lock", file_value(*pack.tools_lock));
  if (!pack.golden.empty()) {
    Value golden = Value::object();
    for (const auto& [name, text] : pack.golden) golden.set(name, text);
    out.set("golden", std::move(golden));
  }
  return out;
}

std::optional<contract::PackSource> read_pack(json::Node root) {
  if (!root["contracts"].is_array()) return std::nullopt;
  contract::PackSource out;
  for (const json::Node node : root["contracts"].elements()) {
    auto file = read_file(node);
    if (!file) return std::nullopt;
    out.contracts.push_back(std::move(*file));
  }
  if (root["session"] && !(out.session = read_file(root["session"]))) return std::nullopt;
  if (root["tools"] && !(out.tools = read_file(root["tools"]))) return std::nullopt;
  if (root["tools_lock"] && !(out.tools_lock = read_file(root["tools_lock"]))) return std::nullopt;
  for (const json::Member member : root["golden"].members())
    if (member.value.is_string()) out.golden.emplace(member.name(), member.value.string());
  return out;
}

}  // namespace

std::string pack_text(const contract::PackSource& pack) { return json::write(pack_value(pack)); }

std::optional<contract::PackSource> read_pack_text(std::string_view text) {
  const auto document = json::parse(text);
  return document ? read_pack(document->root()) : std::nullopt;
}

std::string workflow_text(const contract::WorkflowSource& workflow) {
  Value out = Value::object();
  out.set("workflow", file_value(workflow.workflow));
  Value packs = Value::object();
  for (const auto& [role, pack] : workflow.packs) packs.set(role, pack_value(pack));
  out.set("packs", std::move(packs));
  return json::write(out);
}

std::optional<contract::WorkflowSource> read_workflow_text(std::string_view text) {
  const auto document = json::parse(text);
  if (!document) return std::nullopt;
  const json::Node root = document->root();
  auto file = read_file(root["workflow"]);
  if (!file) return std::nullopt;
  contract::WorkflowSource out{std::move(*file), {}};
  for (const json::Member member : root["packs"].members()) {
    auto pack = read_pack(member.value);
    if (!pack) return std::nullopt;
    out.packs.emplace(member.name(), std::move(*pack));
  }
  return out;
}

std::string pack_of_role(std::string_view workflow_hash, std::string_view role) {
  return std::string(workflow_hash) + kOfRole + std::string(role);
}

std::vector<std::string> pack_pieces(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    std::size_t size = std::min(text.size(), kPieceBytes);
    // Not within a character.
    while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    out.emplace_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

Result<std::shared_ptr<const contract::WorkflowPlan>> workflow_plan_of(const std::string& hash, const GetRow& get) {
  if (auto known = compiled<contract::WorkflowPlan>().find(hash)) return known;
  const auto text = text_of_parts(hash, get);
  if (!text) return tl::make_unexpected(text.error());
  if (text->empty()) return nullptr;
  const auto source = read_workflow_text(*text);
  if (!source) return failure("reading the workflow " + hash, "what is kept of it is no workflow");
  const contract::CompiledWorkflow made = contract::compile_workflow(*source);
  if (!made.plan || made.plan->hash != hash)
    return failure("reading the workflow " + hash, "what is kept of it does not compile to what its hash says");
  compiled<contract::WorkflowPlan>().keep(hash, made.plan);
  return made.plan;
}

namespace {

Result<std::shared_ptr<const session::Rules>> rules_of_role(const std::string& hash, std::string_view role,
                                                            const GetRow& get) {
  auto workflow = workflow_plan_of(hash, get);
  if (!workflow) return tl::make_unexpected(workflow.error());
  if (*workflow == nullptr) return nullptr;
  for (const contract::WorkflowRole& one : (*workflow)->roles)
    if (one.name == role && one.plan) return session::make_rules(one.plan, *workflow);
  return nullptr;
}

Result<std::shared_ptr<const session::Rules>> rules_of_pack(const std::string& pack, const GetRow& get) {
  const auto text = text_of_parts(pack, get);
  if (!text) return tl::make_unexpected(text.error());
  if (text->empty()) return nullptr;
  const auto source = read_pack_text(*text);
  if (!source) return failure("reading the pack " + pack, "what is kept of it is no pack");
  const contract::Compiled made = contract::compile(*source);
  if (!made.plan || made.plan->hash != pack)
    return failure("reading the pack " + pack, "what is kept of it does not compile to what its hash says");
  return session::make_rules(made.plan);
}

}  // namespace

Result<std::shared_ptr<const session::Rules>> rules_of(const std::string& pack, const GetRow& get) {
  if (auto known = compiled<session::Rules>().find(pack)) return known;
  const std::size_t at = pack.find(kOfRole);
  auto rules = at == std::string::npos ? rules_of_pack(pack, get)
                                       : rules_of_role(pack.substr(0, at), std::string_view(pack).substr(at + 1), get);
  if (rules && *rules != nullptr) compiled<session::Rules>().keep(pack, *rules);
  return rules;
}

}  // namespace baton::runtime
