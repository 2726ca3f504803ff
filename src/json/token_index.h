// SPDX-License-Identifier: Apache-2.0
// Inside the parser: where the tokens of a JSON text stand, found 64 bytes at a time ahead of the parser.
//
// A token is one of {}[]:, outside strings, either quote of a string, or the first byte of a run of anything else that is
// no white space. Going from token to token, the parser asks no byte twice what it is, and guesses no length: looking for
// the next byte that matters, one string and one gap after the other, is mostly waiting for wrong guesses.
//
// Places are found for some kilobytes at a time, so that a large text costs no more memory than a small one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace baton::json {

class TokenIndex {
 public:
  // What may be read behind the text, which has to be zeros.
  static constexpr std::size_t kPadding = 64;

  TokenIndex(const char* text, std::size_t size) : text_(text), size_(size) {}

  // Goes along the tokens. It is small and meant to be a local variable, so that it stays in a register.
  class Cursor {
   public:
    explicit Cursor(TokenIndex& index) : index_(index), next_(index.refill()) {}

    // The place of the next token; the text's size when there is none, however often it is asked.
    std::size_t next() {
      if (*next_ == kMore) [[unlikely]]
        next_ = index_.refill();
      return *next_++;
    }

   private:
    TokenIndex& index_;
    const std::uint32_t* next_;
  };

  // Has no string up to the latest token, or near it, a backslash or a control character? Then its closing quote is the
  // token after its opening one; otherwise that has to be looked for.
  bool strings_are_plain() const { return state_.strings_are_plain; }

 private:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::size_t kBlocksAtOnce = 64;
  static constexpr std::uint32_t kMore = UINT32_MAX;  // stands behind the places found so far

  // One bit for each byte of a block.
  struct Kinds {
    std::uint64_t quote, backslash, control, white_space, sign;
  };

  // What is known at the start of a block from those before it.
  struct State {
    bool strings_are_plain = true;
    bool escapes_next = false;    // the last byte was a backslash that counts
    std::uint64_t in_string = 0;  // all bits, if the text is in a string
    std::uint64_t in_run = 0;     // one, if the last byte belongs to a run

    std::uint64_t tokens_in(const Kinds& kinds);
    std::uint64_t escaped_by(std::uint64_t backslash);
  };

  const std::uint32_t* refill();  // the first of at least one place
  void index_portable(std::size_t last);
  void index_avx2(std::size_t last);
  void index_avx512(std::size_t last);
  static Kinds kinds_in(const char* block);

  const char* text_;
  std::size_t size_;
  std::size_t at_ = 0;   // the next block
  std::size_t end_ = 0;  // of what is in places_
  State state_;
  // Places are written some at a time, more than there are, hence the room behind the last.
  std::array<std::uint32_t, kBlock * kBlocksAtOnce + 64> places_;
};

}  // namespace baton::json
