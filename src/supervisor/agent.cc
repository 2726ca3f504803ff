// SPDX-License-Identifier: Apache-2.0
#include "supervisor/agent.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <optional>

#include "base/text.h"

namespace baton::supervisor {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kBufferBytes = 64u << 10;
// What a process that has ended can have left in its pipe, and then some.
constexpr std::size_t kLeftBytesMax = 4u << 20;
constexpr std::size_t kErrorLineBytesMax = 64u << 10;

// The shell waits for one line and becomes the agent; the rest of the input is the agent's. "$@" is the arguments as they are.
constexpr const char* kGate = "IFS= read -r baton_gate && unset baton_gate && exec \"$@\"";

// Where the program is that `name` means. The gate could only say so after the session has begun.
std::optional<std::string> find_program(const std::string& name, const std::vector<std::string>& environment,
                                        const std::string& folder) {
  const auto runs = [&](const std::string& path) {
    const std::string whole = path.starts_with('/') || folder.empty() ? path : folder + "/" + path;
    struct stat status = {};
    return ::stat(whole.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(whole.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(name) : std::nullopt;
  for (const std::string& setting : environment)
    if (setting.starts_with("PATH="))
      for (const std::string_view place : split(std::string_view(setting).substr(5), ':'))
        if (const std::string path = (place.empty() ? "." : std::string(place)) + "/" + name; runs(path)) return path;
  return std::nullopt;
}

}  // namespace

class Agent::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, AgentEvents events) : out_(context), in_(context), events_(std::move(events)) {}

  Result<void> start(asio::io_context& context, const net::ChildOptions& options) {
    auto child = net::Child::start(context, options,
                                   {.on_stderr =
                                        [this](std::string_view line) {
                                          if (events_.on_error) events_.on_error(line);
                                        },
                                    .on_exit = [this](const net::ChildExit& exit) { ended(exit); }});
    if (!child) return tl::make_unexpected(child.error());
    child_ = std::move(*child);
    out_.assign(child_->take_stdout().release());
    in_.assign(child_->take_stdin().release());
    boost::system::error_code ignored;
    out_.non_blocking(true, ignored);
    read();
    return {};
  }

  void open(std::string input) {
    input_ = "\n" + std::move(input);
    asio::async_write(in_, asio::buffer(input_),
                      [self = shared_from_this()](const boost::system::error_code&, std::size_t) {
                        boost::system::error_code ignored;
                        self->in_.close(ignored);
                      });
  }

  void pause() { paused_ = true; }
  void resume() {
    if (!paused_) return;
    paused_ = false;
    if (!reading_) read();
  }

  // The owner has gone.
  void abandon() {
    events_ = {};
    child_.reset();
    boost::system::error_code ignored;
    out_.close(ignored);
    in_.close(ignored);
  }

  net::Child* child() { return child_.get(); }

 private:
  void read() {
    if (paused_ || !out_.is_open()) return;
    reading_ = true;
    out_.async_read_some(asio::buffer(buffer_),
                         [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
                           self->reading_ = false;
                           if (size > 0 && self->events_.on_output)
                             self->events_.on_output({self->buffer_.data(), size});
                           if (!error) self->read();
                         });
  }

  void ended(const net::ChildExit& exit) {
    const auto self = shared_from_this();
    // What it left: read here, because whoever it started and let go may hold the pipe open for ever.
    for (std::size_t left = kLeftBytesMax; left > 0 && out_.is_open();) {
      boost::system::error_code error;
      const std::size_t size = out_.read_some(asio::buffer(buffer_.data(), std::min(left, buffer_.size())), error);
      if (size == 0 || error) break;
      left -= size;
      if (events_.on_output) events_.on_output({buffer_.data(), size});
    }
    if (const auto on_end = std::exchange(events_.on_end, {})) on_end(exit);
  }

  std::unique_ptr<net::Child> child_;
  asio::posix::stream_descriptor out_, in_;
  AgentEvents events_;
  std::array<char, kBufferBytes> buffer_;
  std::string input_;
  bool reading_ = false, paused_ = false;
};

Result<std::unique_ptr<Agent>> Agent::start(asio::io_context& context, std::vector<std::string> argv,
                                            std::vector<std::string> environment, const std::string& folder,
                                            AgentEvents events) {
  const auto program = find_program(argv.empty() ? "" : argv[0], environment, folder);
  if (!program)
    return failure("starting " + printable(argv.empty() ? "the agent" : argv[0], 200), "there is no such program");
  net::ChildOptions options;
  options.argv = {"/bin/sh", "-c", kGate, "baton-run"};
  options.argv.insert(options.argv.end(), argv.begin(), argv.end());
  options.environment = std::move(environment);
  options.folder = folder;
  options.stderr_line_bytes_max = kErrorLineBytesMax;
  auto state = std::make_shared<State>(context, std::move(events));
  if (auto started = state->start(context, options); !started) return tl::make_unexpected(started.error());
  return std::unique_ptr<Agent>(new Agent(std::move(state)));
}

Agent::Agent(std::shared_ptr<State> state) : state_(std::move(state)) {}
Agent::~Agent() { state_->abandon(); }
pid_t Agent::pid() const { return state_->child()->pid(); }
void Agent::open(std::string input) { state_->open(std::move(input)); }
void Agent::end(std::chrono::milliseconds grace) { state_->child()->end(std::chrono::milliseconds(0), grace); }
void Agent::kill() { state_->child()->kill(); }
void Agent::pause() { state_->pause(); }
void Agent::resume() { state_->resume(); }

}  // namespace baton::supervisor
