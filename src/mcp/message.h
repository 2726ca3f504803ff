// SPDX-License-Identifier: Apache-2.0
// One JSON-RPC message: its bytes, parsed once, and what kind it is.
//
// Messages are forwarded as their own bytes. Where something in one has to be different (an id, a name, a cursor), that part of
// the text alone is replaced: splice() takes places of the text and what comes there. Nothing else is written anew, so that
// member order, number spelling and unknown members stay as the sender had them.
//
// Line feeds and carriage returns between tokens become blanks: whatever it came by, a message is one line.
//
// A Message refers to its own `bytes`: it is not moved or copied. take_bytes() gives them away at the end, and the nodes with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "json/parse.h"

namespace baton::mcp {

// The text of a node, from its first byte to its last. A walk over the text of that node.
std::string_view text_of(json::Node node);

// How deep a JSON text nests; 0: it is neither an array nor an object.
std::size_t depth_of(std::string_view json);

// A part of a text and what comes in its place.
struct Splice {
  std::size_t at = 0;
  std::size_t size = 0;  // of what goes; 0: something is put in
  std::string text;
};
// The text with all of them done. They do not overlap; any order; several at one place come in the order given.
std::string splice(std::string_view text, std::vector<Splice> splices);

// Splices that replace a node; that set a member of an object, whether it is there or not; that take one out. An empty object is
// set one member at most.
Splice replacing(json::Node node, std::string text);
Splice setting(json::Node object, std::string_view name, std::string text);
Splice removing(json::Node object, std::string_view name);
// Takes several members out. After all splices of the same object that set something: those may begin at the same place.
std::vector<Splice> removing(json::Node object, const std::vector<std::string_view>& names);

// An id or a progress token in its one spelling; empty: it is neither a string nor a whole number.
std::string id_key(json::Node node);

// Text as a JSON string, in quotes.
std::string quoted(std::string_view text);

// A name as a reader that ignores case has it.
std::string without_case(std::string_view name);

// A member of a tool's definition whose name differs only in case from one that the protocol has; empty: there is none. Libraries of
// some languages ignore case: to them it is the other. A message with such a member, of its own or of its params, result or error, is
// Broken.
std::string_view respelled_in_definition(json::Node definition);
// Why the tool is withheld then: "its definition has a member `Description`, ...".
std::string why_respelled(std::string_view member);

// The same of a request to the client, or one of those in an answer, and its params.
std::string_view respelled_in_ask(json::Node request);

// The same of a content block, a resource, or a message of a prompt.
std::string_view respelled_in_block(json::Node block);

class Message {
 public:
  enum class Kind {
    Broken,        // not JSON, or JSON that is no message: see fault()
    Batch,         // an array that is not empty; elements are messages of their own
    Request,       // method and id
    Notification,  // method without id
    Result,        // id and result
    Error,         // id (null where there was none to tell) and error
  };

  explicit Message(std::string bytes, std::size_t bytes_max = limits::kJsonBytesMax);
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  Kind kind() const { return kind_; }
  bool is_request() const { return kind_ == Kind::Request; }
  bool is_answer() const { return kind_ == Kind::Result || kind_ == Kind::Error; }

  // The code to answer a broken one with (kParseError, kInvalidRequest) and why.
  int fault_code() const { return fault_code_; }
  const std::string& fault() const { return fault_; }

  json::Node root() const { return document_ ? document_->root() : json::Node(); }
  std::string_view method() const { return method_; }  // of a request or notification
  json::Node id() const { return id_; }  // of anything but a notification; a string or a number, or null in an error
  json::Node params() const { return params_; }  // or no node; always an object (MCP has no positional ones)
  json::Node result() const { return result_; }
  json::Node error() const { return error_; }
  json::Node meta() const { return meta_; }  // of params, or of the result

  // The id as JSON, in one spelling: what tells requests apart. `1` and `"1"` are different ids, `"a"` and `"\u0061"` are one. A
  // number is a whole number without fraction and exponent; any other is refused.
  const std::string& id_text() const { return id_text_; }
  // The progress token of a request (in _meta), or of notifications/progress (in params), in the same spelling. Empty: none.
  const std::string& progress_token() const { return progress_token_; }
  json::Node progress_token_node() const { return progress_token_node_; }

  const std::string& bytes() const { return bytes_; }
  // Gives the bytes away. Nodes and texts of this message are no longer valid.
  std::string take_bytes();

  // The texts of a batch's elements.
  std::vector<std::string> elements() const;

 private:
  void classify();
  void broken(int code, std::string why);

  std::string bytes_;
  std::optional<json::Document> document_;
  Kind kind_ = Kind::Broken;
  int fault_code_ = 0;
  std::string fault_;
  std::string id_text_, progress_token_;
  std::string_view method_;
  json::Node id_, params_, result_, error_, meta_, progress_token_node_;
};

}  // namespace baton::mcp
