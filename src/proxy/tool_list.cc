// SPDX-License-Identifier: Apache-2.0
#include "proxy/tool_list.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>

#include "mcp/answers.h"
#include "mcp/message.h"
#include "mcp/outline.h"
#include "proxy/back.h"
#include "proxy/driver.h"

namespace baton::proxy {
namespace {

constexpr std::size_t kPagesMax = 1000;
constexpr std::string_view kClient = R"({"name":"baton","version":"1"})";

class Reading final : public BackListener {
 public:
  Reading(Shared& shared, const ServerOptions& server) : shared_(shared), timer_(shared.context) {
    back_ = make_back(shared, server, 0, *this);
  }

  Result<std::string> run(std::chrono::milliseconds timeout) {
    timer_.expires_after(timeout);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) finish("it did not answer in time");
    });
    back_->start();
    legacy_ = mcp::find_revision("2025-11-25");
    modern_ = mcp::find_revision("2026-07-28");
    ask("initialize", R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":)" + std::string(kClient) + "}",
        nullptr);
    shared_.context.run();
    back_.reset();
    if (!problem_.empty()) return failure("reading the tools of " + shared_.options.servers[0].name, problem_);
    return R"({"tools":[)" + tools_ + "]" + (instructions_.empty() ? "" : R"(,"instructions":)" + instructions_) + "}";
  }

  void message(std::size_t, std::string bytes, mcp::Ticket) override {
    const mcp::Message heard(std::move(bytes));
    if (heard.kind() == mcp::Message::Kind::Request) {
      // Nothing that it may ask for is here.
      const std::string answer = heard.method() == "ping"
                                     ? mcp::result_message(heard.id_text(), "{}")
                                     : mcp::error_message(heard.id_text(), mcp::kMethodNotFound, "Method not found");
      return back_->send({.bytes = answer, .revision = spoken()});
    }
    if (is_over_) return;
    if (heard.kind() == mcp::Message::Kind::Broken || heard.kind() == mcp::Message::Kind::Batch) {
      const std::vector<mcp::Outline> said = outlines_in(heard);
      if (std::ranges::any_of(said, [this](const mcp::Outline& one) { return answers(one); }))
        finish("its answer to `" + method_ +
               "` cannot be read: " + (heard.fault().empty() ? "it is a batch" : heard.fault()));
      return;
    }
    if (heard.id_text() != std::to_string(id_) || !heard.is_answer()) return;
    const bool ok = heard.kind() == mcp::Message::Kind::Result;
    if (method_ == "initialize" && !ok) return use_modern();
    if (method_ == "server/discover") {
      if (ok) keep_instructions(heard.result());
      return list({});
    }
    if (!ok)
      return finish(heard.error()["message"].is_string() ? std::string(heard.error()["message"].string())
                                                         : "it answered with an error");
    if (method_ == "initialize") {
      keep_instructions(heard.result());
      const json::Node version = heard.result()["protocolVersion"];
      if (version.is_string())
        if (const mcp::Revision* agreed = mcp::find_revision(version.string())) legacy_ = agreed;
      back_->send({.bytes = mcp::notification("notifications/initialized"),
                   .method = "notifications/initialized",
                   .revision = legacy_});
      return list({});
    }
    page(heard);
  }
  void oversized(std::size_t, std::string_view, std::string_view, mcp::Ticket) override {
    finish("an answer is too large");
  }
  void attempt_failed(std::size_t, mcp::Ticket, mcp::AttemptFailure failure) override {
    // A modern server refuses what has no version of its own.
    if (method_ == "initialize" && failure.error_class == "client_error") return use_modern();
    if (method_ == "server/discover" && failure.error_class == "client_error") return list({});
    finish(failure.message);
  }
  void gone(std::size_t, std::string why, bool) override { finish("it " + why); }
  void back(std::size_t) override {}
  void drained(std::size_t) override {}
  void ended(std::size_t) override { shared_.context.stop(); }

 private:
  // Was this the answer to the request that is open? One without an id, or a piece of one, can be no other's.
  bool answers(const mcp::Outline& said) const {
    if (said.is_after_text && !(said.has_version && said.is_answer)) return false;  // a line of a log
    if (said.has_method && !said.is_answer) return false;
    std::vector<std::string> ids;
    for (const std::string& text : said.ids)
      if (std::string id = mcp::id_as_read(text); !id.empty()) ids.push_back(std::move(id));
    if (!ids.empty()) return said.is_answer && std::ranges::find(ids, std::to_string(id_)) != ids.end();
    return said.has_answer_object || (said.has_version && said.is_answer);
  }
  const mcp::Revision* spoken() const { return is_modern_ ? modern_ : legacy_; }

  void ask(std::string_view method, std::string params, const mcp::Revision* revision) {
    method_ = method;
    ++id_;
    back_->send({.bytes = mcp::request(std::to_string(id_), method, params),
                 .ticket = id_,
                 .method = std::string(method),
                 .revision = revision});
  }
  // What it says of itself comes first; a server that does not know the question has no instructions.
  void use_modern() {
    is_modern_ = true;
    ask("server/discover", "{" + with_meta({}) + "}", spoken());
  }
  void keep_instructions(json::Node result) {
    if (result["instructions"].is_string()) instructions_ = mcp::text_of(result["instructions"]);
  }
  void list(std::string_view cursor) {
    std::string members;
    if (!cursor.empty()) members = R"("cursor":)" + mcp::quoted(cursor);
    ask("tools/list", "{" + with_meta(std::move(members)) + "}", spoken());
  }
  std::string with_meta(std::string members) const {
    if (is_modern_) {
      members += (members.empty() ? "" : ",") + (R"("_meta":{)" + mcp::quoted(mcp::kMetaProtocolVersion) + ":") +
                 mcp::quoted(modern_->name) + "," + mcp::quoted(mcp::kMetaClientInfo) + ":" + std::string(kClient) +
                 "," + mcp::quoted(mcp::kMetaClientCapabilities) + ":{}}";
    }
    return members;
  }
  void page(const mcp::Message& heard) {
    const json::Node tools = heard.result()["tools"];
    if (!tools.is_array()) return finish("its answer to `tools/list` has no list `tools`");
    for (const json::Node tool : tools.elements()) (tools_ += tools_.empty() ? "" : ",") += mcp::text_of(tool);
    const json::Node cursor = heard.result()["nextCursor"];
    if (!cursor.is_string()) return finish({});
    if (++pages_ >= kPagesMax || tools_.size() > shared_.options.server_bytes_max)
      return finish("its list does not end");
    list(cursor.string());
  }
  void finish(std::string problem) {
    if (std::exchange(is_over_, true)) return;
    problem_ = std::move(problem);
    timer_.cancel();
    back_->end();
  }

  Shared& shared_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Back> back_;
  const mcp::Revision *legacy_ = nullptr, *modern_ = nullptr;
  bool is_modern_ = false, is_over_ = false;
  std::string method_, tools_, instructions_, problem_;
  mcp::Ticket id_ = 0;
  std::size_t pages_ = 0;
};

}  // namespace

Result<std::string> read_tools(Clock& clock, Random& random, const ServerOptions& server,
                               std::chrono::milliseconds timeout, const std::function<void(std::string_view)>& report) {
  boost::asio::io_context context(1);
  Options options;
  options.servers = {server};
  auto nobody = net::AsyncClient::make(context, {});  // no node is asked
  if (!nobody) return tl::make_unexpected(nobody.error());
  Shared shared{context, clock, random, options, **nobody, {}, report};
  return Reading(shared, options.servers[0]).run(timeout);
}

}  // namespace baton::proxy
