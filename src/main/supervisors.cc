// SPDX-License-Identifier: Apache-2.0
#include "main/supervisors.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "cli/commands.h"
#include "net/async_client.h"
#include "supervisor/supervisor.h"

extern char** environ;

namespace baton::main {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kColumns = 80;

std::vector<std::string> our_environment() {
  std::vector<std::string> out;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) out.emplace_back(*one);
  return out;
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// Beside this program, or in PATH; empty: nowhere.
std::string find_beside(const std::string& own, const std::string& name, const std::string& search) {
  if (const fs::path beside = fs::path(own).parent_path() / name; is_program(beside)) return beside.string();
  for (const std::string_view folder : split(search, ':'))
    if (!folder.empty())
      if (const fs::path path = fs::path(folder) / name; path.is_absolute() && is_program(path)) return path.string();
  return {};
}

std::size_t columns_of(int descriptor) {
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kColumns;
  return size.ws_col - 1u;  // a full line would wrap
}

}  // namespace

int RealSupervisors::run(cli::World& world, supervisor::Options options) {
  std::error_code error;
  options.environment = our_environment();
  options.baton = fs::read_symlink("/proc/self/exe", error).string();
  options.hook = find_beside(options.baton, "baton-hook", world.environment("PATH").value_or(""));

  boost::asio::io_context context(1);
  auto node = net::AsyncClient::make(context, {.url = options.node.url, .unix_path = options.node.unix_path});
  if (!node) return cli::could_not(world, node.error().text());
  world.flush();
  std::optional<supervisor::Screen> screen;
  screen.emplace(context, STDOUT_FILENO, STDERR_FILENO, world.errors_to_a_terminal);
  std::string temporary = world.environment("XDG_RUNTIME_DIR").value_or("");
  if (temporary.empty() || !fs::is_directory(temporary, error)) temporary = fs::temp_directory_path(error).string();
  if (temporary.empty()) temporary = "/tmp";
  supervisor::Shared shared{context, world.clock, world.random, options,
                            **node,  *screen,     temporary,    columns_of(STDERR_FILENO)};

  int status = cli::kCouldNot;
  const auto work = boost::asio::make_work_guard(context);
  supervisor::Supervisor supervisor(
      shared,
      [&](const supervisor::Outcome& outcome) {
        if (options.json) screen->output(json::write(supervisor::outcome_json(outcome)) + "\n");
        else screen->output(supervisor::outcome_text(outcome));
      },
      [&](int ended) {
        status = ended;
        context.stop();
      });
  boost::asio::signal_set signals(context, SIGINT, SIGTERM, SIGHUP);
  std::function<void()> wait = [&] {
    signals.async_wait([&](const boost::system::error_code& failed, int) {
      if (failed) return;
      supervisor.stop();
      wait();
    });
  };
  wait();
  supervisor.begin();
  context.run();
  screen->flush();
  return status;
}

}  // namespace baton::main
