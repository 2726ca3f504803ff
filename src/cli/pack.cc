// SPDX-License-Identifier: Apache-2.0
#include "cli/pack.h"

#include <algorithm>
#include <filesystem>

#include "base/limits.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/render.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using contract::Finding;
using contract::PackSource;
using contract::SourceFile;

constexpr std::size_t kPackFilesMax = 10'000;

class PackReader {
 public:
  explicit PackReader(World& world) : world_(world) {}

  Result<PackFolder> read(const std::string& path) {
    PackFolder out;
    std::error_code error;
    fs::path folder(path);
    if (fs::is_regular_file(folder, error)) folder = folder.parent_path();
    if (folder.empty()) folder = ".";
    if (!fs::is_directory(folder, error)) return failure("reading the pack " + path, "there is no such folder");
    out.folder = folder.string();
    auto pack = read_folder(folder);
    if (!pack) return tl::make_unexpected(pack.error());
    out.pack = std::move(*pack);
    out.has_pack = out.pack.session || !out.pack.contracts.empty();
    if (const fs::path workflow = folder / "workflow.yaml"; fs::exists(workflow, error)) {
      auto source = read_workflow(workflow);
      if (!source) return tl::make_unexpected(source.error());
      out.workflow = std::move(*source);
    }
    if (!out.has_pack && !out.workflow)
      return failure("reading the pack " + path,
                     "there is no session.yaml, workflow.yaml or contract in it; `baton contract new` makes a pack");
    return out;
  }

 private:
  Result<SourceFile> read_file(const fs::path& path, std::size_t bytes_max = limits::kYamlBytesMax) {
    auto text = read_document(world_, path.string(), bytes_max);
    if (!text) return tl::make_unexpected(text.error());
    return SourceFile{path.lexically_normal().string(), std::move(*text)};
  }

  Result<PackSource> read_folder(const fs::path& folder) {
    PackSource out;
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
      if (files.size() >= kPackFilesMax) return failure("reading the pack " + folder.string(), "it has too many files");
      if (each->is_regular_file(error)) files.push_back(each->path());
    }
    if (error) return failure("reading the pack " + folder.string(), error.message());
    std::ranges::sort(files);
    for (const fs::path& path : files) {
      const std::string name = path.filename().string();
      const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
      if (name == "session.yml" || name == "workflow.yml")
        return failure("reading " + path.string(), "it would not be seen: call it " + path.stem().string() + ".yaml");
      if (name == "tools.json") {
        auto file = read_file(path, limits::kCliDocumentBytesMax);
        if (!file) return tl::make_unexpected(file.error());
        out.tools = std::move(*file);
      } else if (name == "tools.lock.json") {
        auto file = read_file(path, limits::kCliDocumentBytesMax);
        if (!file) return tl::make_unexpected(file.error());
        out.tools_lock = std::move(*file);
      } else if (is_yaml && name != "workflow.yaml") {
        auto file = read_file(path);
        if (!file) return tl::make_unexpected(file.error());
        if (name == "session.yaml") out.session = std::move(*file);
        else out.contracts.push_back(std::move(*file));
      }
    }
    return read_golden(folder, std::move(out));
  }

  Result<PackSource> read_golden(const fs::path& folder, PackSource out) {
    std::error_code error;
    const fs::path golden = folder / "golden";
    if (!fs::is_directory(golden, error)) return out;
    for (fs::recursive_directory_iterator each(golden, error), end; !error && each != end; each.increment(error)) {
      if (out.golden.size() >= kPackFilesMax) return failure("reading " + golden.string(), "it has too many files");
      if (!each->is_regular_file(error)) continue;
      auto file = read_file(each->path(), limits::kCliDocumentBytesMax);
      if (!file) return tl::make_unexpected(file.error());
      out.golden.emplace(each->path().lexically_relative(folder).generic_string(), std::move(file->text));
    }
    if (error) return failure("reading " + golden.string(), error.message());
    return out;
  }

  // The roles' packs are where their session_contract is; a role whose pack is not there has none, which the compiler reports.
  Result<contract::WorkflowSource> read_workflow(const fs::path& path) {
    auto file = read_file(path);
    if (!file) return tl::make_unexpected(file.error());
    contract::WorkflowSource out{std::move(*file), {}};
    for (const auto& [role, session] : contract::session_contracts(out.workflow)) {
      std::error_code error;
      const fs::path at = path.parent_path() / session;
      if (!fs::is_regular_file(at, error)) continue;
      auto pack = read_folder(at.parent_path());
      if (!pack) return tl::make_unexpected(pack.error());
      if (!pack->session || fs::path(pack->session->name).filename() != at.filename()) {
        auto own = read_file(at);  // a session file of another name
        if (!own) return tl::make_unexpected(own.error());
        std::erase_if(pack->contracts, [&](const SourceFile& one) { return one.name == own->name; });
        pack->session = std::move(*own);
      }
      out.packs.emplace(role, std::move(*pack));
    }
    return out;
  }

  World& world_;
};

std::string_view text_in(const PackSource& pack, std::string_view file) {
  if (pack.session && pack.session->name == file) return pack.session->text;
  if (pack.tools && pack.tools->name == file) return pack.tools->text;
  if (pack.tools_lock && pack.tools_lock->name == file) return pack.tools_lock->text;
  const auto found = std::ranges::find(pack.contracts, file, &SourceFile::name);
  return found == pack.contracts.end() ? std::string_view() : std::string_view(found->text);
}

}  // namespace

Result<PackFolder> read_pack(World& world, const std::string& path) { return PackReader(world).read(path); }

std::string_view text_of(const PackFolder& folder, std::string_view file) {
  if (const std::string_view text = text_in(folder.pack, file); !text.empty()) return text;
  if (!folder.workflow) return {};
  if (folder.workflow->workflow.name == file) return folder.workflow->workflow.text;
  for (const auto& [role, pack] : folder.workflow->packs)
    if (const std::string_view text = text_in(pack, file); !text.empty()) return text;
  return {};
}

Checked check_pack(const PackFolder& folder, const contract::CompileOptions& options) {
  Checked out;
  const auto look = [&](const std::string& name, const std::shared_ptr<const contract::Plan>& plan,
                        const PackSource& source) {
    out.packs.push_back({name, plan});
    if (!plan) return;
    const std::string session = source.session ? source.session->name : folder.folder + "/session.yaml";
    contract::Analysis analysis = contract::analyse(*plan, session);
    if (options.strict) make_strict(analysis.findings);
    std::ranges::move(analysis.findings, std::back_inserter(out.findings));
    std::ranges::move(analysis.suppressed, std::back_inserter(out.suppressed));
  };
  // A folder that is a role's own pack is looked at once.
  bool is_of_a_role = false;
  if (folder.workflow) {
    contract::CompiledWorkflow compiled = contract::compile_workflow(*folder.workflow, options);
    out.workflow = compiled.plan;
    std::ranges::move(compiled.findings, std::back_inserter(out.findings));
    for (const auto& [role, pack] : folder.workflow->packs) {
      is_of_a_role =
          is_of_a_role || (pack.session && folder.pack.session && pack.session->name == folder.pack.session->name);
      look(role, contract::compile(pack, options).plan, pack);
    }
  }
  if (folder.has_pack && !is_of_a_role) {
    contract::Compiled compiled = contract::compile(folder.pack, options);
    std::ranges::move(compiled.findings, std::back_inserter(out.findings));
    look("", compiled.plan, folder.pack);
  }
  sort(out.findings);
  return out;
}

std::shared_ptr<const contract::Plan> need_plan(World& world, const std::string& path, const std::string& role) {
  const auto folder = read_pack(world, path);
  if (!folder) return could_not(world, folder.error().text()), nullptr;
  const PackSource* source = &folder->pack;
  if (!role.empty() || (folder->workflow && !folder->has_pack)) {
    if (!folder->workflow) return could_not(world, path + " has no workflow.yaml, and so no roles"), nullptr;
    const auto found = folder->workflow->packs.find(role);
    if (found == folder->workflow->packs.end()) {
      std::string roles;
      for (const auto& [name, pack] : folder->workflow->packs) roles.append(roles.empty() ? "" : ", ").append(name);
      return could_not(world, "name one of the roles with --role: " + roles), nullptr;
    }
    source = &found->second;
  }
  contract::Compiled compiled = contract::compile(*source, {});
  if (compiled.plan) return compiled.plan;
  for (const Finding& finding : compiled.findings)
    if (finding.diagnostic.severity == Severity::Error)
      world.print_error(
          render_human({finding.diagnostic}, finding.file, text_of(*folder, finding.file), world.colour_errors));
  could_not(world, path + " does not compile");
  return nullptr;
}

}  // namespace baton::cli
