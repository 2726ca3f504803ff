// SPDX-License-Identifier: Apache-2.0
#include "runtime/webhook_secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"

namespace baton::runtime {
namespace {

// All of a file, or errno.
tl::expected<std::string, int> read_file(int descriptor, std::size_t bytes_max) {
  std::string text(bytes_max, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(descriptor, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::make_unexpected(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

Result<std::string> read_webhook_secret(const std::filesystem::path& folder, const std::string& file) {
  const std::filesystem::path path = folder / file;
  const auto refuse = [&](std::string_view problem) {
    return failure_of(Code::WEBHOOK_SECRET, "reading a webhook's secret",
                      {{"file", path.string()}, {"problem", problem}});
  };
  // Whatever lies there: nothing that would make a reader wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return refuse(std::string("cannot be read: ") + std::strerror(errno));
  struct stat kind;
  const bool is_file = ::fstat(descriptor, &kind) == 0 && S_ISREG(kind.st_mode);
  const bool is_open = is_file && (kind.st_mode & (S_IROTH | S_IWOTH)) != 0;
  auto text = is_file && !is_open ? read_file(descriptor, limits::kWebhookSecretBytesMax + 1)
                                  : tl::expected<std::string, int>(std::string());
  ::close(descriptor);
  if (!is_file) return refuse("is no file");
  if (is_open) return refuse("can be read by everyone");
  if (!text) return refuse(std::string("cannot be read: ") + std::strerror(text.error()));
  if (text->ends_with('\n')) text->pop_back();
  if (text->ends_with('\r')) text->pop_back();
  if (text->size() < limits::kWebhookSecretBytesMin) return refuse("has fewer than 32 bytes");
  if (text->size() > limits::kWebhookSecretBytesMax) return refuse("has more than 4096 bytes");
  return std::move(*text);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  std::array<std::uint8_t, 32> hash{};
  unsigned size = 0;
  const auto* made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(), &size);
  CHECK(made != nullptr && size == hash.size());
  return hex(hash);
}

bool same_in_constant_time(std::string_view left, std::string_view right) {
  return left.size() == right.size() && ::CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace baton::runtime
