// SPDX-License-Identifier: Apache-2.0
// What the texts of a configuration have to look like: one rule for each kind of name, pattern and address.
//
// Nothing here quotes the text it judges: an address or a file's name may hold what nobody should see.
#pragma once

#include <string_view>

namespace baton::workspace {

struct TextRule {
  std::string_view (*problem)(std::string_view text);  // "is ..."; empty: nothing is wrong
  std::string_view expected;
};

extern const TextRule kRoleName;
extern const TextRule kPackName;
extern const TextRule kSectionName;     // of the context; `*` is all
extern const TextRule kCheckName;       // of CI
extern const TextRule kRepository;      // owner/name
extern const TextRule kSecretFile;      // a path
extern const TextRule kTargetName;      // of a webhook
extern const TextRule kTargetUrl;       // https, or http to this machine
extern const TextRule kTypePattern;     // work.*
extern const TextRule kStreamPattern;   // work/*
extern const TextRule kWitnessAddress;  // runtime/witness.h has what each means

}  // namespace baton::workspace
