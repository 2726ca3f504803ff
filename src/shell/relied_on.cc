// SPDX-License-Identifier: Apache-2.0
#include "shell/relied_on.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace baton::shell {
namespace {

// Files that a program reads in the folder where it runs, names separated by blanks.
struct Reads {
  std::string_view program, files;
};
constexpr std::array kReads = {
    Reads{"make", "GNUmakefile makefile Makefile"},
    Reads{"gmake", "GNUmakefile makefile Makefile"},
    Reads{"npm", "package.json"},
    Reads{"npx", "package.json"},
    Reads{"pnpm", "package.json"},
    Reads{"yarn", "package.json"},
    Reads{"bun", "package.json"},
    Reads{"just", "justfile Justfile .justfile"},
    Reads{"task", "Taskfile.yml Taskfile.yaml"},
    Reads{"rake", "Rakefile rakefile"},
    Reads{"cargo", "Cargo.toml build.rs"},
    Reads{"tox", "tox.ini pyproject.toml setup.cfg"},
    Reads{"docker", "Dockerfile compose.yaml compose.yml docker-compose.yml docker-compose.yaml"},
    Reads{"docker-compose", "compose.yaml compose.yml docker-compose.yml docker-compose.yaml"},
    Reads{"podman", "Dockerfile Containerfile"},
    Reads{"mvn", "pom.xml"},
    Reads{"gradle", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"},
    Reads{"gradlew", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"},
    Reads{"terraform", "main.tf"},
    Reads{"ansible-playbook", "ansible.cfg"},
    Reads{"vagrant", "Vagrantfile"},
    Reads{"composer", "composer.json"},
    Reads{"bundle", "Gemfile"},
    Reads{"poetry", "pyproject.toml"},
    Reads{"uv", "pyproject.toml"},
    Reads{"pytest", "conftest.py pyproject.toml pytest.ini setup.cfg tox.ini"},
};

}  // namespace

ReliedOn relied_on(const Parsed& parsed, const Effects& effects, std::string_view cwd) {
  ReliedOn out;
  const auto add = [&](std::set<std::string>& to, std::string_view path) {
    if (std::string whole = normalised(cwd, path); !whole.empty()) to.insert(std::move(whole));
  };
  for (const std::string& path : effects.paths)
    if (!std::ranges::binary_search(effects.writes, path)) out.files.insert(path);
  for (const Command& command : parsed.commands) {
    if (command.words.empty() || !command.words.front().is_literal()) continue;
    const std::string& program = command.words.front().text;
    // A program that is named by its path, also where the line writes it.
    if (program.find('/') != std::string::npos || command.is_script) add(out.files, program);
    for (const Reads& row : kReads) {
      if (row.program != base_name(program)) continue;
      for (const std::string_view file : split(row.files, ' ')) add(out.files, file);
    }
    for (std::size_t at = 1; at < command.words.size(); ++at) {
      if (!command.words[at].is_literal()) continue;
      std::string_view text = command.words[at].text;
      // `--values=x.yaml`, `data=@x.json`
      if (const std::size_t equals = text.find('='); equals != text.npos) text.remove_prefix(equals + 1);
      if (text.starts_with('@')) text.remove_prefix(1);
      if (!text.empty() && text.front() != '-') add(out.words, text);
    }
  }
  for (const std::string& path : effects.writes) out.words.erase(path);
  for (const std::string& path : out.files) out.words.erase(path);
  return out;
}

}  // namespace baton::shell
