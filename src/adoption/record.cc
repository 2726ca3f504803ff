// SPDX-License-Identifier: Apache-2.0
#include "adoption/record.h"

#include "base/sha256.h"

namespace baton::adoption {
namespace {

using json::Node;
using json::Value;

constexpr std::string_view kOf[] = {"settings", "pack", "secret"};

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& one : all) out.push(one);
  return out;
}

std::vector<std::string> texts(Node list) {
  std::vector<std::string> out;
  for (const Node one : list.elements())
    if (one.is_string()) out.emplace_back(one.string());
  return out;
}

std::string text(Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

}  // namespace

std::string mode_text(unsigned mode) {
  std::string out;
  for (; mode != 0; mode /= 8) out.insert(out.begin(), static_cast<char>('0' + mode % 8));
  return "0" + out;
}

unsigned mode_of(std::string_view octal) {
  unsigned out = 0;
  for (const char c : octal) out = out * 8 + (static_cast<unsigned>(c) - '0') % 8;
  return out & 07777u;
}

Value value_of(const Record& record) {
  Value out = Value::object();
  out.set("version", 1);
  out.set("id", record.id);
  out.set("client", hooks::client_name(record.client));
  out.set("project", record.options.project);
  out.set("home", record.options.home);
  out.set("store", record.options.store);
  if (!record.options.socket.empty()) out.set("socket", record.options.socket);
  if (!record.options.node_key.empty()) out.set("node_key", record.options.node_key);
  out.set("role", record.options.role);
  out.set("baton", record.options.baton);
  out.set("hook", record.options.hook);
  out.set("secrets", record.options.secrets);
  out.set("pack", record.pack);
  out.set("by", record.by);
  out.set("at", record.at);
  out.set("paths", texts(record.paths));
  out.set("servers", texts(record.servers));
  out.set("folders", texts(record.folders));
  Value tools = Value::array();
  for (const adopt::ServerTool& tool : record.options.tools) {
    Value one = Value::object();
    one.set("server", tool.server);
    one.set("name", tool.name);
    one.set("reads", tool.reads);
    tools.push(std::move(one));
  }
  out.set("tools", std::move(tools));
  Value files = Value::array();
  for (const RecordedFile& file : record.files) {
    Value one = Value::object();
    one.set("of", kOf[static_cast<std::size_t>(file.of)]);
    one.set("place", file.place);
    one.set("path", file.path);
    one.set("existed", file.existed);
    one.set("mode", mode_text(file.mode));
    one.set("before", file.before);
    one.set("after", file.after);
    files.push(std::move(one));
  }
  out.set("files", std::move(files));
  return out;
}

std::optional<Record> record_of(Node manifest) {
  Record out;
  const auto client = hooks::client_named(text(manifest["client"]));
  if (!client || !manifest["files"].is_array()) return std::nullopt;
  out.id = text(manifest["id"]);
  out.client = *client;
  out.options.project = text(manifest["project"]);
  out.options.home = text(manifest["home"]);
  out.options.store = text(manifest["store"]);
  out.options.socket = text(manifest["socket"]);
  out.options.node_key = text(manifest["node_key"]);
  out.options.role = text(manifest["role"]);
  out.options.baton = text(manifest["baton"]);
  out.options.hook = text(manifest["hook"]);
  out.options.secrets = text(manifest["secrets"]);
  out.pack = text(manifest["pack"]);
  out.by = text(manifest["by"]);
  out.at = text(manifest["at"]);
  out.paths = texts(manifest["paths"]);
  out.servers = texts(manifest["servers"]);
  out.folders = texts(manifest["folders"]);
  for (const Node one : manifest["tools"].elements())
    out.options.tools.push_back({text(one["server"]), text(one["name"]), one["reads"].is_true()});
  for (const Node one : manifest["files"].elements()) {
    RecordedFile file;
    const std::string of = text(one["of"]);
    file.of = of == kOf[1] ? Of::Pack : of == kOf[2] ? Of::Secret : Of::Settings;
    file.place = text(one["place"]);
    file.path = text(one["path"]);
    file.existed = one["existed"].is_true();
    file.mode = mode_of(text(one["mode"]));
    file.before = text(one["before"]);
    file.after = text(one["after"]);
    if (file.path.empty() || file.after.empty()) return std::nullopt;
    out.files.push_back(std::move(file));
  }
  return out;
}

std::string id_of(hooks::Client client, std::string_view project) {
  return std::string(hooks::client_name(client)) + "-" + sha256_hex(project).substr(0, 12);
}

}  // namespace baton::adoption
