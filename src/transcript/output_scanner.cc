// SPDX-License-Identifier: Apache-2.0
#include "transcript/output_scanner.h"

namespace baton::transcript {

void OutputScanner::raw(std::string_view bytes) { scanner_.feed(bytes); }

void OutputScanner::message_end(std::size_t position) {
  message_scanner_.end();
  message_found_ = message_scanner_.found();
  message_position_ = position;
}

void OutputScanner::end() {
  reader_.end();
  scanner_.end();
  const auto& plain = scanner_.found();
  if (plain && (!message_found_ || plain->offset > message_position_)) found_ = Found{*plain, false, plain->offset};
  else if (message_found_) found_ = Found{*message_found_, true, message_position_};
}

}  // namespace baton::transcript
