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

// Compiled rules never change: whoever has the hash has the same.
class Compiled {
 public:
  std::shared_ptr<const session::Rules> find(const std::string& pack) {
    const std::lock_guard lock(mutex_);
    const auto found = rules_.find(pack);
    return found == rules_.end() ? nullptr : found->second;
  }
  void keep(const std::string& pack, std::shared_ptr<const session::Rules> rules) {
    const std::lock_guard lock(mutex_);
    if (rules_.size() >= kCompiledMax) rules_.erase(rules_.begin());
    rules_.insert_or_assign(pack, std::move(rules));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const session::Rules>> rules_;
};

Compiled& compiled() {
  static Compiled all;
  return all;
}

}  // namespace

std::string pack_text(const contract::PackSource& pack) {
  Value out = Value::object();
  Value contracts = Value::array();
  for (const contract::SourceFile& file : pack.contracts) contracts.push(file_value(file));
  out.set("contracts", std::move(contracts));
  if (pack.session) out.set("session", file_value(*pack.session));
  if (pack.tools) out.set("tools", file_value(*pack.tools));
  if (!pack.golden.empty()) {
    Value golden = Value::object();
    for (const auto& [name, text] : pack.golden) golden.set(name, text);
    out.set("golden", std::move(golden));
  }
  return json::write(out);
}

std::optional<contract::PackSource> read_pack_text(std::string_view text) {
  const auto document = json::parse(text);
  if (!document || !document->root()["contracts"].is_array()) return std::nullopt;
  const json::Node root = document->root();
  contract::PackSource out;
  for (const json::Node node : root["contracts"].elements()) {
    auto file = read_file(node);
    if (!file) return std::nullopt;
    out.contracts.push_back(std::move(*file));
  }
  if (root["session"] && !(out.session = read_file(root["session"]))) return std::nullopt;
  if (root["tools"] && !(out.tools = read_file(root["tools"]))) return std::nullopt;
  for (const json::Member member : root["golden"].members())
    if (member.value.is_string()) out.golden.emplace(member.name(), member.value.string());
  return out;
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

Result<std::shared_ptr<const session::Rules>> rules_of(const std::string& pack, const GetRow& get) {
  if (auto known = compiled().find(pack)) {
    return known;
  }
  std::string text;
  for (std::int64_t part = 0; part < kPartsMax; ++part) {
    const auto row = get(tables::kPackParts, {pack, part});
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) break;
    text += text_at(**row, 2);
  }
  if (text.empty()) return nullptr;
  const auto source = read_pack_text(text);
  if (!source) return failure("reading the pack " + pack, "what is kept of it is no pack");
  const contract::Compiled made = contract::compile(*source);
  if (!made.plan || made.plan->hash != pack)
    return failure("reading the pack " + pack, "what is kept of it does not compile to what its hash says");
  auto rules = session::make_rules(made.plan);
  compiled().keep(pack, rules);
  return rules;
}

}  // namespace baton::runtime
