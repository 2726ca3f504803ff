// SPDX-License-Identifier: Apache-2.0
// `baton adopt` on a disk on which any operation may fail, or be the last one before the power goes: all files changed, or none.
#include "adoption/adopter.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "temporary_folder.h"

namespace baton::adoption {
namespace {

namespace fs = std::filesystem;

// Every operation counts. `Fails`: that one fails, those after it work. `Dies`: from that one on nothing happens any more.
enum class How { Never, Fails, Dies };
class FaultyDisk final : public Disk {
 public:
  FaultyDisk(How how, int at) : how_(how), at_(at) {}
  int operations() const { return operations_; }
  bool happened() const { return how_ != How::Never && operations_ > at_; }

  Result<Seen> read(const std::string& path) override {
    if (!may()) return no("reading");
    return disk_.read(path);
  }
  Result<std::string> real_path(const std::string& path) override {
    if (!may()) return no("reading");
    return disk_.real_path(path);
  }
  Result<void> put(const std::string& path, const std::string& text, unsigned mode) override {
    if (!may()) {
      // What is broken off in the midst of writing leaves a part of the file.
      if (how_ == How::Dies && operations_ == at_ + 1)
        static_cast<void>(disk_.put(path, text.substr(0, text.size() / 2), mode));
      return no("writing");
    }
    return disk_.put(path, text, mode);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return may() ? disk_.rename(from, to) : no("renaming");
  }
  Result<void> remove(const std::string& path) override { return may() ? disk_.remove(path) : no("removing"); }
  Result<bool> make_folder(const std::string& path, unsigned mode) override {
    if (!may()) return no("making a folder");
    return disk_.make_folder(path, mode);
  }
  Result<void> remove_folder(const std::string& path) override {
    return may() ? disk_.remove_folder(path) : no("removing a folder");
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    if (!may()) return no("listing");
    return disk_.list(path);
  }
  bool can_execute(const std::string& path) override { return disk_.can_execute(path); }

 private:
  static tl::unexpected<Failure> no(std::string doing) { return failure(std::move(doing), "the disk is broken"); }
  bool may() {
    const int number = operations_++;
    return how_ == How::Never || (how_ == How::Fails ? number != at_ : number < at_);
  }

  RealDisk disk_;
  const How how_;
  const int at_;
  int operations_ = 0;
};

// A project with settings of Claude Code, and a home.
class Place {
 public:
  Place() {
    for (const char* folder : {"project/.claude", "home", "store", "bin"}) fs::create_directories(root() / folder);
    for (const char* program : {"bin/baton", "bin/baton-hook"}) write(program, "", 0755);
    write("project/.claude/settings.json", "{\n  \"permissions\": {\"deny\": [\"Bash(rm:*)\"]}\n}\n", 0640);
    write("project/.mcp.json",
          "{\"mcpServers\": {\"a\": {\"command\": \"npx\", \"env\": {\"KEY\": \"hidden\"}},\n \"b\": {\"type\": "
          "\"http\", \"url\": \"https://b.example/mcp\","
          " \"headers\": {\"X-Key\": \"hidden-too\"}}}}\n",
          0600);
    write("home/.claude.json", "{\"numStartups\": 3, \"mcpServers\": {\"c\": {\"command\": \"c\"}}}", 0600);
  }
  fs::path root() const { return folder_.path(); }

  void write(const std::string& name, std::string_view text, unsigned mode) {
    std::ofstream(root() / name, std::ios::binary) << text;
    ::chmod((root() / name).c_str(), mode);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(root() / name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

  // Every file and folder, with mode and text. Not the lock, nor (unless asked for) what is kept of adoptions.
  std::map<std::string, std::string> all(bool with_store) const {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(root())) {
      const std::string name = entry.path().lexically_relative(root()).string();
      if (name.starts_with("store/") && !with_store) continue;
      struct stat status = {};
      ::lstat(entry.path().c_str(), &status);
      out[name] = std::to_string(status.st_mode) + (entry.is_regular_file() ? " " + read(name) : "");
    }
    return out;
  }

  Wanted wanted() const {
    Wanted out{.client = hooks::Client::Claude,
               .options = {},
               .pack = {},
               .by = "ines",
               .at = "2026-11-16T12:00:00Z",
               .environment = {}};
    out.options.baton = (root() / "bin/baton").string();
    out.options.hook = (root() / "bin/baton-hook").string();
    out.options.project = (root() / "project").string();
    out.options.home = (root() / "home").string();
    out.options.store = (root() / "store").string();
    out.options.role = "claude";
    return out;
  }
  std::string store() const { return (root() / "store").string(); }

 private:
  TemporaryFolder folder_{TemporaryFolder::Place::Memory};  // it syncs often
};

Result<void> adopt_on(Disk& disk, const Place& place) {
  Adopter adopter(disk, place.store());
  if (auto recovered = adopter.folder().recover(); !recovered) return tl::make_unexpected(recovered.error());
  const auto plan = adopter.plan(place.wanted());
  if (!plan) return tl::make_unexpected(plan.error());
  return plan->is_nothing() ? Result<void>() : adopter.carry_out(*plan);
}

Result<void> undo_on(Disk& disk, const Place& place, bool force = false) {
  Adopter adopter(disk, place.store());
  if (auto recovered = adopter.folder().recover(); !recovered) return tl::make_unexpected(recovered.error());
  const auto all = adopter.folder().all();
  if (!all) return tl::make_unexpected(all.error());
  for (const Record& record : *all) {
    const auto plan = adopter.plan_undo(record, force);
    if (!plan) return tl::make_unexpected(plan.error());
    if (!plan->conflicts.empty()) return failure("undoing", plan->conflicts.front());
    if (auto done = adopter.carry_out(*plan); !done) return done;
  }
  return {};
}

bool is_whole(const Place& place) {
  RealDisk disk;
  Adopter adopter(disk, place.store());
  const auto all = adopter.folder().all();
  return all && all->size() == 1 && adopter.look(all->front()).findings.empty();
}

TEST(Adoption, there_and_back_again) {
  Place place;
  const auto before = place.all(true);
  RealDisk disk;
  ASSERT_TRUE(adopt_on(disk, place));
  EXPECT_TRUE(is_whole(place));
  const auto adopted = place.all(true);
  EXPECT_NE(before, adopted);
  for (const auto& [name, text] : adopted) {
    if (name.starts_with("store/packs")) {
      EXPECT_EQ(text.find("hidden"), std::string::npos) << name;
    }
  }
  ASSERT_TRUE(adopt_on(disk, place));
  EXPECT_EQ(place.all(true), adopted) << "a second time changes nothing";
  ASSERT_TRUE(undo_on(disk, place));
  auto after = place.all(true);
  after.erase("store/adopted");
  EXPECT_EQ(after, before);
}

// A failure at any one operation: nothing has happened, or all of it.
TEST(Adoption, a_failure_anywhere_changes_nothing) {
  for (const bool undoing : {false, true})
    for (int at = 0;; ++at) {
      SCOPED_TRACE((undoing ? "undo " : "adopt ") + std::to_string(at));
      Place place;
      RealDisk good;
      if (undoing) {
        ASSERT_TRUE(adopt_on(good, place));
      }
      const auto before = place.all(false);
      FaultyDisk disk(How::Fails, at);
      const auto done = undoing ? undo_on(disk, place) : adopt_on(disk, place);
      if (!disk.happened()) {
        EXPECT_TRUE(done);
        EXPECT_GT(at, 20) << "there is something to fail";
        break;
      }
      if (!done) {
        EXPECT_EQ(place.all(false), before) << done.error().text();
      }
      // Whatever it left behind, it goes on from there.
      ASSERT_TRUE(adopt_on(good, place));
      EXPECT_TRUE(is_whole(place));
      ASSERT_TRUE(undo_on(good, place));
      const Place fresh;
      const auto now = place.all(false), first = fresh.all(false);
      EXPECT_EQ(now, first);
    }
}

// The end at any one operation: the next one takes back what was half done, and then does what it is asked for.
TEST(Adoption, whatever_is_broken_off_is_taken_back) {
  const Place fresh;
  for (const bool undoing : {false, true})
    for (const bool undo_next : {false, true})
      for (int at = 0;; ++at) {
        SCOPED_TRACE((undoing ? "undo " : "adopt ") + std::to_string(at) +
                     (undo_next ? ", then undo" : ", then adopt"));
        Place place;
        RealDisk good;
        if (undoing) {
          ASSERT_TRUE(adopt_on(good, place));
        }
        FaultyDisk disk(How::Dies, at);
        static_cast<void>(undoing ? undo_on(disk, place) : adopt_on(disk, place));
        if (!disk.happened()) break;
        ASSERT_TRUE(undo_next ? undo_on(good, place) : adopt_on(good, place));
        if (!undo_next) {
          EXPECT_TRUE(is_whole(place));
          ASSERT_TRUE(undo_on(good, place));
        }
        EXPECT_EQ(place.all(false), fresh.all(false));
        auto kept = place.all(true);
        std::erase_if(kept,
                      [](const auto& one) { return !one.first.starts_with("store/") || one.first == "store/adopted"; });
        EXPECT_TRUE(kept.empty()) << kept.begin()->first;
      }
}

TEST(Adoption, what_the_user_changed_since_stays) {
  Place place;
  RealDisk disk;
  ASSERT_TRUE(adopt_on(disk, place));
  std::string text = place.read("project/.claude/settings.json");
  text.insert(2, "  \"model\": \"opus\",\n");
  place.write("project/.claude/settings.json", text, 0640);
  ASSERT_TRUE(undo_on(disk, place));
  EXPECT_EQ(place.read("project/.claude/settings.json"),
            "{\n  \"model\": \"opus\",\n  \"permissions\": {\"deny\": [\"Bash(rm:*)\"]}\n}\n");

  // A hook taken out by hand is noticed, and put in again; undoing still gives what the user's file was.
  ASSERT_TRUE(adopt_on(disk, place));
  text = place.read("project/.claude/settings.json");
  const std::size_t at = text.find("\"PreToolUse\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 12, "\"Nothing\"");
  place.write("project/.claude/settings.json", text, 0640);
  EXPECT_FALSE(is_whole(place));
  ASSERT_TRUE(adopt_on(disk, place));
  EXPECT_TRUE(is_whole(place));

  // A change in the midst of our lines: refused, and --force keeps it beside.
  text = place.read("project/.claude/settings.json");
  const auto refused = undo_on(disk, place);
  ASSERT_FALSE(refused) << "`Nothing` calls the hook and is nobody's";
  EXPECT_EQ(place.read("project/.claude/settings.json"), text);
  ASSERT_TRUE(undo_on(disk, place, true));
  EXPECT_EQ(place.read("project/.claude/settings.json.before-undo"), text);
  EXPECT_EQ(place.read("project/.claude/settings.json"),
            "{\n  \"model\": \"opus\",\n  \"permissions\": {\"deny\": [\"Bash(rm:*)\"]}\n}\n");
}

TEST(Adoption, files_that_are_not_to_be_touched) {
  RealDisk disk;
  {
    Place place;
    place.write("project/.claude/settings.json", "{}", 0444);
    const auto before = place.all(false);
    EXPECT_FALSE(adopt_on(disk, place));
    EXPECT_EQ(place.all(false), before);
  }
  {
    Place place;
    place.write("project/.claude/settings.local.json", "{\"permissions\": ", 0644);
    const auto before = place.all(false);
    EXPECT_FALSE(adopt_on(disk, place));
    EXPECT_EQ(place.all(false), before);
  }
  {
    Place place;  // a link is followed, and stays one
    fs::rename(place.root() / "project/.mcp.json", place.root() / "home/shared.json");
    fs::create_symlink("../home/shared.json", place.root() / "project/.mcp.json");
    const auto before = place.all(false);
    ASSERT_TRUE(adopt_on(disk, place));
    EXPECT_TRUE(fs::is_symlink(place.root() / "project/.mcp.json"));
    EXPECT_NE(place.read("home/shared.json").find("--name"), std::string::npos);
    ASSERT_TRUE(undo_on(disk, place));
    EXPECT_EQ(place.all(false), before);
  }
  {
    Place place;
    fs::remove(place.root() / "project/.mcp.json");
    fs::create_symlink("nowhere.json", place.root() / "project/.mcp.json");
    EXPECT_FALSE(adopt_on(disk, place));
  }
  {
    Place place;  // a pack that somebody works on is theirs
    ASSERT_TRUE(adopt_on(disk, place));
    Adopter adopter(disk, place.store());
    const std::string pack = adopter.folder().all()->front().pack;
    std::ofstream(pack + "/Bash.yaml", std::ios::app) << "# mine\n";
    place.write("project/.claude/settings.json", "{}", 0640);
    ASSERT_TRUE(adopt_on(disk, place));
    ASSERT_TRUE(undo_on(disk, place));
    EXPECT_TRUE(fs::exists(pack + "/Bash.yaml"));
    EXPECT_FALSE(fs::exists(pack + "/Read.yaml"));
  }
}

}  // namespace
}  // namespace baton::adoption
