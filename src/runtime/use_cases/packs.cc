// SPDX-License-Identifier: Apache-2.0
// Packs: an operator makes one usable by its hash, for a role. Its files are recorded, so that what a session was held to is known for
// ever; never is a pack used because it lies on a disk.
#include "runtime/packs.h"

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/activation.h"
#include "secrets/detector.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

constexpr std::size_t kFolderBytesMax = 4096;
constexpr std::size_t kPiecesOfPart = 4;  // pieces have 4 KiB: a part fits into an entry however they are escaped

}  // namespace

Result<void> activate(Act& act, const Activation& asked) {
  // What is there already is not recorded again.
  const auto known = act.unit.get(tables::kPackParts, {asked.hash, std::int64_t{0}});
  if (!known) return tl::make_unexpected(known.error());
  const std::size_t parts = (asked.pieces.size() + kPiecesOfPart - 1) / kPiecesOfPart;
  if (!*known)
    for (std::size_t part = 0; part < parts; ++part) {
      Value payload = Value::object();
      payload.set("pack", asked.hash);
      payload.set("part", part);
      Value texts = Value::array();
      std::vector<std::string> pointers = {"/pack"};
      for (std::size_t i = part * kPiecesOfPart; i < std::min(asked.pieces.size(), (part + 1) * kPiecesOfPart); ++i) {
        pointers.push_back("/texts/" + std::to_string(texts.elements().size()));  // looked through as whole files
        texts.push(asked.pieces[i]);
      }
      payload.set("texts", std::move(texts));
      payload.set("at", format_time(act.now));
      if (auto done = act.append(std::string(kPacksStream), kPackPart, std::move(payload), Act::Is::Beside,
                                 {pointers.begin(), pointers.end()});
          !done)
        return done;
    }
  Value payload = Value::object();
  payload.set("pack", asked.hash);
  payload.set("parts", parts);
  payload.set("role", asked.role);
  payload.set("agent", asked.agent);
  if (!asked.folder.empty()) payload.set("folder", asked.folder);
  if (asked.holds_texts) payload.set("holds_texts", true);
  payload.set("at", format_time(act.now));
  if (auto done = act.append(std::string(kPacksStream), kPackActivated, std::move(payload), Act::Is::Main, {"/pack"});
      !done)
    return done;
  act.answer.body.set("pack", asked.hash);
  act.answer.body.set("agent", asked.agent);
  act.answer.body.set("role", asked.role);
  act.answer.created = !*known;
  return {};
}

std::optional<std::string> file_with_secret(const contract::PackSource& pack) {
  std::vector<const contract::SourceFile*> files;
  for (const contract::SourceFile& file : pack.contracts) files.push_back(&file);
  if (pack.session) files.push_back(&*pack.session);
  if (pack.tools) files.push_back(&*pack.tools);
  if (pack.tools_lock) files.push_back(&*pack.tools_lock);
  for (const contract::SourceFile* file : files)
    if (!secrets::find(file->text).empty()) return file->name;
  for (const auto& [name, text] : pack.golden)
    if (!secrets::find(text).empty()) return name;
  return std::nullopt;
}

std::string first_error(const std::vector<contract::Finding>& findings) {
  for (const contract::Finding& finding : findings)
    if (finding.diagnostic.severity == Severity::Error)
      return std::string(info(finding.diagnostic.code).name) + " in " + finding.file + ": " +
             finding.diagnostic.message;
  return {};
}

std::size_t bytes_of(const Activation& asked) {
  std::size_t bytes = 0;
  for (const std::string& piece : asked.pieces) bytes += piece.size();
  return bytes;
}

std::string workflow_role(std::string_view name) { return "workflow/" + std::string(name); }

void UseCases::activate_pack(const Mutation& by, contract::PackSource pack, std::string role, std::string expected,
                             Answered done, std::string folder) {
  const auto refuse = [&](Code code, std::initializer_list<Argument> arguments) {
    inside_->refuse(by, {report(code, {}, arguments)}, done);
  };
  if (const auto file = file_with_secret(pack)) return refuse(Code::PACK_SECRET, {{"file", *file}});
  const contract::Compiled compiled = contract::compile(pack);
  if (!compiled.plan) return refuse(Code::PACK_INVALID, {{"problem", first_error(compiled.findings)}});
  if (!expected.empty() && expected != compiled.plan->hash)
    return refuse(Code::PACK_ACTIVE,
                  {{"hash", expected}, {"problem", "not what the files say: that is " + compiled.plan->hash}});
  Activation asked{compiled.plan->hash,
                   compiled.plan->agent,
                   role.empty() ? "agent" : std::move(role),
                   pack_pieces(pack_text(pack)),
                   std::move(folder),
                   compiled.plan->tools_lock || compiled.plan->suspicious_text_is_withheld};
  if (!is_folder_told(asked.folder)) return refuse(Code::SESSION_OPTIONS, {{"problem", kFolderProblem}});
  if (!work::is_work_id(asked.role)) return refuse(Code::SESSION_OPTIONS, {{"problem", "the role's name is none"}});
  if (bytes_of(asked) > limits::kPackSourceBytesMax)
    return refuse(Code::PACK_INVALID,
                  {{"problem", "its files have more than " + std::to_string(limits::kPackSourceBytesMax) + " bytes"}});
  done = protect_when_done(*inside_, asked.folder, std::move(done));
  inside_->run(by, [asked = std::move(asked)](Act& act) { return activate(act, asked); }, std::move(done),
               {.adds = Engine::Adds::Work});
}

namespace {

// Where the folder is by its name, and where links lead from there.
void protect_folder(protection::Paths& paths, std::string folder) {
  std::string real = paths.links == nullptr ? folder : paths.links->resolved(folder);
  if (!real.empty() && real != folder) paths.fixed.push_back(std::move(real));
  paths.fixed.push_back(std::move(folder));
}

}  // namespace

bool is_folder_told(std::string_view folder) {
  return folder.empty() || (folder.size() > 1 && folder.size() <= kFolderBytesMax && folder.front() == '/');
}

Answered protect_when_done(Engine& engine, std::string folder, Answered done) {
  if (folder.empty()) return done;
  return [&engine, folder = std::move(folder), done = std::move(done)](Result<Answer> answer) {
    if (answer && answer->refused.empty()) {
      auto paths = std::make_shared<protection::Paths>(*engine.protects());
      protect_folder(*paths, folder);
      engine.protect(std::move(paths));
    }
    done(std::move(answer));
  };
}

Result<void> UseCases::protect(protection::Paths paths) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  auto found = (*reader)->find({.table = tables::kPackRoles}, [&](const store::Row& row) {
    if (const auto content = json::parse(text_at(row, 2)); content && content->root()["folder"].is_string())
      protect_folder(paths, std::string(content->root()["folder"].string()));
    return true;
  });
  if (!found) return found;
  inside_->protect(std::make_shared<const protection::Paths>(std::move(paths)));
  return {};
}

Result<Value> UseCases::list_packs() {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  Value packs = Value::array();
  auto found = (*reader)->find({.table = tables::kPackRoles}, [&](const store::Row& row) {
    Value one = Value::object();
    one.set("role", text_at(row, 0));
    one.set("pack", text_at(row, 1));
    if (const auto content = json::parse(text_at(row, 2)))
      for (const json::Member member : content->root().members()) one.set(member.name(), Value::copy(member.value));
    packs.push(std::move(one));
    return true;
  });
  if (!found) return tl::make_unexpected(found.error());
  Value out = Value::object();
  out.set("packs", std::move(packs));
  return out;
}

}  // namespace baton::runtime
