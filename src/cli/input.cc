// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace baton::cli {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;

// An open file that closes itself; standard input stays open.
class Source {
 public:
  static Result<Source> open(World& world, const std::string& path) {
    const std::string doing = "reading " + source_name(path);
    if (path == "-") {
      if (::isatty(world.in()) == 1) world.print_error("baton: reading from the terminal; end with Ctrl-D\n");
      return Source(world.in(), false, doing);
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return failure(doing, std::strerror(errno));
    struct stat info{};
    if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
      ::close(descriptor);
      return failure(doing, "it is a directory; name a file, or `-` for standard input");
    }
    return Source(descriptor, true, doing);
  }
  Source(Source&& other) noexcept
      : descriptor_(other.descriptor_), owned_(std::exchange(other.owned_, false)), doing_(std::move(other.doing_)) {}
  Source& operator=(Source&&) = delete;
  ~Source() {
    if (owned_) ::close(descriptor_);
  }

  // The next piece; empty at the end.
  Result<std::string_view> read() {
    buffer_.resize(kPieceBytes);
    for (;;) {
      const ssize_t got = ::read(descriptor_, buffer_.data(), buffer_.size());
      if (got >= 0) return std::string_view(buffer_.data(), static_cast<std::size_t>(got));
      if (errno != EINTR) return failure(doing_, std::strerror(errno));
    }
  }
  const std::string& doing() const { return doing_; }

 private:
  Source(int descriptor, bool owned, std::string doing)
      : descriptor_(descriptor), owned_(owned), doing_(std::move(doing)) {}

  int descriptor_;
  bool owned_;
  std::string doing_;
  std::vector<char> buffer_;
};

}  // namespace

std::string source_name(std::string_view path) { return path == "-" ? "<stdin>" : std::string(path); }

Result<bool> read_document_or_stream(World& world, const std::string& path, std::size_t bytes_max,
                                     std::string& document, const std::function<void(std::string_view)>& take) {
  auto source = Source::open(world, path);
  if (!source) return tl::make_unexpected(source.error());
  bool whole = true;
  for (;;) {
    const auto piece = source->read();
    if (!piece) return tl::make_unexpected(piece.error());
    if (piece->empty()) return whole;
    if (whole && document.size() + piece->size() > bytes_max) {
      whole = false;
      take(document);
      document = std::string();
    }
    if (whole) document += *piece;
    else take(*piece);
  }
}

Result<std::string> read_document(World& world, const std::string& path, std::size_t bytes_max) {
  auto source = Source::open(world, path);
  if (!source) return tl::make_unexpected(source.error());
  std::string document;
  for (;;) {
    const auto piece = source->read();
    if (!piece) return tl::make_unexpected(piece.error());
    if (piece->empty()) return document;
    if (document.size() + piece->size() > bytes_max)
      return failure(source->doing(),
                     "it is larger than " + std::to_string(bytes_max >> 20) + " MiB, which no document here is");
    document += *piece;
  }
}

Result<void> read_stream(World& world, const std::string& path, const std::function<void(std::string_view)>& take) {
  std::string document;
  const auto whole = read_document_or_stream(world, path, 0, document, take);
  if (!whole) return tl::make_unexpected(whole.error());
  return {};
}

}  // namespace baton::cli
