// SPDX-License-Identifier: Apache-2.0
#include "shell/relied_on.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace baton::shell {
namespace {

// Files that a program reads in the folder where it runs, names separated by blanks.
struct Reads {
  std::string_view program, files;
};
constexpr std::array kReads = {
    Reads{"make", "GNUmakefile makefile Makefile"},  Reads{"gmake", "GNUmakefile makefile Makefile"},
    Reads{"npm", "package.json"},                    Reads{"npx", "package.json"},
    Reads{"pnpm", "package.json"},                   Reads{"yarn", "package.json"},
    Reads{"bun", "package.json"},                    Reads{"just", "justfile Justfile .justfile"},
    Reads{"task", "Taskfile.yml Taskfile.yaml"},     Reads{"rake", "Rakefile rakefile"},
    Reads{"cargo", "Cargo.toml build.rs"},           Reads{"tox", "tox.ini pyproject.toml setup.cfg"},
    Reads{"docker", "Dockerfile compose.yaml compose.yml docker-compose.yml docker-compose.yaml"},
    Reads{"docker-compose", "compose.yaml compose.yml docker-compose.yml docker-compose.yaml"},
    Reads{"podman", "Dockerfile Containerfile"},     Reads{"mvn", "pom.xml"},
    Reads{"gradle", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"},
    Reads{"gradlew", "build.gradle build.gradle.kts settings.gradle settings.gradle.kts"},
    Reads{"terraform", "main.tf"},                   Reads{"ansible-playbook", "ansible.cfg"},
    Reads{"vagrant", "Vagrantfile"},                 Reads{"composer", "composer.json"},
    Reads{"bundle", "Gemfile"},                      Reads{"poetry", "pyproject.toml"},
    Reads{"uv", "pyproject.toml"},                   Reads{"pytest", "conftest.py pyproject.toml pytest.ini setup.cfg tox.ini"},
};

}  // namespace

std::vector<std::string> relied_on(const Parsed& parsed, const Effects& effects, std::string_view cwd) {
  std::set<std::string> out;
  for (const std::string& path : effects.paths)
    if (!std::ranges::binary_search(effects.writes, path)) out.insert(path);
  for (const Command& command : parsed.commands) {
    if (command.words.empty() || !command.words.front().is_literal()) continue;
    const std::string& program = command.words.front().text;
    // A program that is named by its path, also where the line writes it.
    if (program.find('/') != std::string::npos || command.is_script)
      if (std::string path = normalised(cwd, program); !path.empty()) out.insert(std::move(path));
    for (const Reads& row : kReads) {
      if (row.program != base_name(program)) continue;
      for (const std::string_view file : split(row.files, ' '))
        if (std::string path = normalised(cwd, file); !path.empty()) out.insert(std::move(path));
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace baton::shell
