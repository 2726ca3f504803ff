// SPDX-License-Identifier: Apache-2.0
#include "wording/data.h"

#include "base/sha256.h"
#include "base/text.h"
#include "json/parse.h"
#include "wording/wording.h"

namespace baton::wording {

using json::Value;

Value suspicious_in(const Value& value, std::string_view place) {
  Value out = Value::array();
  const auto document = json::parse_owned(json::write(value));
  // What cannot be read here cannot be judged.
  if (!document) {
    Value one = Value::object();
    one.set("kind", name_of(Suspicion::Kind::Gap));
    one.set("place", place);
    one.set("what", "it cannot be read");
    out.push(std::move(one));
    return out;
  }
  for (const Suspicion& found : suspicions_in_value(document->root(), place)) {
    Value one = Value::object();
    one.set("kind", name_of(found.kind));
    // Names of members are words of the value, too.
    const bool is_clean = suspicions_in_text(found.place, {}).empty();
    one.set("place", is_clean ? printable(found.place, 200) : printable(place, 200));
    one.set("what", about(found.kind));
    out.push(std::move(one));
  }
  return out;
}

void flag(Value& out, const Value& value, std::string_view place) {
  Value found = suspicious_in(value, place);
  if (!found.elements().empty()) out.set("suspicious", std::move(found));
}

std::string framed(std::string_view title, std::string_view text) {
  const std::string mark = std::string(title) + " " + sha256_hex(text).substr(0, 32);
  std::string out = "==== " + mark + " begins ====\n" + std::string(text);
  if (!out.ends_with('\n')) out += '\n';
  return out + "==== " + mark + " ends ====\n";
}

}  // namespace baton::wording
