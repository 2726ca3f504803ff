// SPDX-License-Identifier: Apache-2.0
// The tools of the servers behind a conversation: what each is called on either side, how it was defined when it was first seen,
// and which of them the client has been shown.
//
// Names. Towards the client a tool has its own name when there is one server, and is `server__tool` when there are several: clients allow
// few characters. Prompts are named as tools are. What the node calls a tool depends on the contracts (contract/tools_lock.h).
//
// Names do not depend on which tools the servers have now, nor on which servers run: another server's new tool changes no name.
//
// Pins. The first definition of a tool that is seen is the one for the session: its parts (contract::kDefinitionParts), each by the digest of
// its canonical form. A later one that differs blocks the tool's calls until the session ends, because
// the contract was written about the first. A new session pins anew.
//
// The lock. Where the pack has a tools.lock.json, definitions are held to that one instead: what differs from it, at any time in the
// session, is blocked. So is a tool whose texts are suspicious (mcp/wording.h), where the pack says so. Texts that the lock approves word for
// word are not scanned; all others are, also those in `_meta` and `icons`, which no lock has.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "contract/tools_lock.h"
#include "json/document.h"
#include "mcp/header_value.h"

namespace baton::mcp {

class Catalogue {
 public:
  // How many tools of all servers are pinned at most; calls of one beyond it are refused.
  static constexpr std::size_t kToolsMax = 8192;

  // `servers`: their names, in order. With one its name is not used.
  explicit Catalogue(std::vector<std::string> servers);

  std::size_t server_count() const { return servers_.size(); }
  const std::string& server_name(std::size_t server) const { return servers_[server]; }

  std::string client_name(std::size_t server, std::string_view tool) const;
  std::string full_name(std::size_t server, std::string_view tool) const;  // server/tool
  struct Owner {
    std::size_t server = 0;
    std::string tool;  // as its server calls it
  };
  // Of a name as the client says it; nothing when no server has that prefix.
  std::optional<Owner> owner(std::string_view client_name) const;

  // What definitions are held to beside the first one. Before any is seen.
  struct Held {
    std::shared_ptr<const contract::ToolsLock> lock = {};  // null: there is none
    bool wording_may_change = false;                       // of what is in the lock
    bool suspicious_is_withheld = false;                   // of what no lock approves word for word
  };
  void hold_to(Held held) { held_ = std::move(held); }
  const contract::ToolsLock* lock() const { return held_.lock.get(); }

  // A definition was seen. Definitions that are no objects with a name are ignored. Returns lines for the log: what differs from the
  // lock, and suspicious texts, each once in a session.
  std::vector<std::string> see(std::size_t server, json::Node definition);
  // A server's instructions were seen: may the client have them? Lines for the log are added to `notes`.
  bool may_have_instructions(std::size_t server, std::string_view text, std::vector<std::string>& notes);

  // The same of a prompt, a resource or a template of a list: no lock has those.
  bool may_list(std::size_t server, json::Node element, std::vector<std::string>& notes);
  // The same of another value that a server says: `serverInfo/title`, the `_meta` of a list.
  bool may_say(std::size_t server, std::string_view place, json::Node value, std::vector<std::string>& notes);
  // The definition of a tool has a member that differs from one of the protocol only in case: the tool is withheld, and has no pin.
  void note_respelled(std::size_t server, std::string_view tool, std::string_view member);
  // A member that the protocol does not have there is left out. `whose`: a definition, or an answer.
  void note_unknown(std::size_t server, std::string_view whose, std::string_view member,
                    std::vector<std::string>& notes);

  // Why a tool may not be called or listed, whatever its contract says; nothing: nothing is against it.
  struct Against {
    enum class Why { Changed, NotApproved, Suspicious } why = Why::Changed;
    std::string what;                  // for the model: no word of the server's
    std::vector<std::string> members;  // that changed
  };
  std::optional<Against> against(std::size_t server, std::string_view tool) const;
  // Members in which the definition of a tool now differs from the first one, sorted; empty: none.
  std::vector<std::string> changed(std::size_t server, std::string_view tool) const;
  bool is_pinned(std::size_t server, std::string_view tool) const;
  bool is_full() const { return pins_.size() >= kToolsMax; }

  // What an HTTP transport says about arguments: a property that the first definition marks with `x-mcp-header` has its value in
  // `Mcp-Param-<that>`, as base64 where a header cannot have it as it is. `arguments` may be no node.
  ParameterHeaders headers(std::size_t server, std::string_view tool, json::Node arguments) const;
  // What is wrong with the headers that came with such a call; empty: they say what its arguments do. Headers that the tool does not
  // know are nobody's business here.
  std::string header_mismatch(std::size_t server, std::string_view tool, json::Node arguments,
                              const ParameterHeaders& given) const;
  // An argument that the first definition does not have, and whose name differs from one that it has only in case: a server that ignores
  // case reads it as the one that a contract was written about. Empty: there is none.
  std::string respelled_argument(std::size_t server, std::string_view tool, json::Node arguments) const;
  struct ArgumentHeader {
    std::vector<std::string> path;  // of members, from the arguments on
    std::string header;             // without Mcp-Param-
  };

  // By the names of the client: it has been shown this one.
  void show(std::string_view client_name) { shown_.emplace(client_name); }
  bool was_shown(std::string_view client_name) const { return shown_.find(client_name) != shown_.end(); }

 private:
  static constexpr std::size_t kParts = contract::kDefinitionParts.size();
  // The properties of a schema, and theirs. Of a list they are those of its elements.
  struct Properties {
    std::map<std::string, Properties, std::less<>> below;
    std::set<std::string> without_case;
    std::vector<Properties> others;  // none or one: of the properties that have no name in the schema
  };
  static void find_properties(json::Node root, Properties& out);
  static std::string respelled_among(const Properties& known, json::Node arguments);
  struct Pin {
    std::array<Sha256, kParts> first;
    std::uint8_t changed = 0;  // a bit for each part
    std::vector<ArgumentHeader> headers;
    Properties properties = {};
    std::optional<Against> against = {};  // because of the lock, or of its texts
    std::set<std::string> noted = {};     // lines that were given for the log
  };
  void hold_to_lock(Pin& pin, std::size_t server, json::Node definition, const contract::Definition& parts,
                    std::vector<std::string>& notes) const;
  void scan_texts(Pin& pin, std::size_t server, json::Node definition, std::span<const std::string_view> parts,
                  std::vector<std::string>& notes) const;
  void note_once(std::string line, std::vector<std::string>& notes);
  using Key = std::pair<std::size_t, std::string>;

  std::vector<std::string> servers_;
  Held held_;
  std::set<std::string> noted_;  // about instructions, prompts and resources
  std::map<Key, Pin> pins_;
  std::map<Key, std::string> respelled_;  // tools that are withheld for such a member: which it is
  std::set<std::string, std::less<>> shown_;
};

}  // namespace baton::mcp
