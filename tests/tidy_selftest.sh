#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A check that cannot fail checks nothing: makes a small tree that tools/tidy accepts, breaks one rule at a time and
# sees that tidy names it, and sees that what only resembles a breach is let through.
#
#   tests/tidy_selftest.sh [PATH OF TIDY]
# shellcheck disable=SC2016  # backticks in what tidy says are meant as they stand
set -euo pipefail

TIDY="${1:-$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../tools/tidy}"
TIDY="$(readlink -f "$TIDY")"
WORK="$(mktemp -d)"
trap 'rm -rf "$WORK"' EXIT
PASSED=0 FAILED=0

# A tree without findings, in $WORK/tree.
fresh() {
  rm -rf "$WORK/tree"
  mkdir -p "$WORK"/tree/src/{base,json,dialects/uaix,cli,diagnostics,main} "$WORK"/tree/{tests,include/baton}
  cd "$WORK/tree"
  cat >src/CMakeLists.txt <<'END'
# module(nowhere FILES nothing.cc): a comment is not a line
module(base          FILES text.cc time.cc LINKS OpenSSL::Crypto)
module(json          FILES parse.cc NEEDS base)
module(diagnostics   NEEDS base)
module(dialects/uaix FILES check.cc
                     NEEDS base json)
module(cli           FILES command.cc NEEDS base dialects/uaix)
add_executable(baton main/main.cc)
END
  local name
  for name in base/text json/parse dialects/uaix/check cli/command diagnostics/diagnostic; do
    printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' "// What $name is." '#pragma once' >"src/$name.h"
  done
  for name in base/text json/parse dialects/uaix/check cli/command; do
    printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' "#include \"$name.h\"" >"src/$name.cc"
  done
  printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' \
    'long now() { return std::chrono::system_clock::now().time_since_epoch().count(); }' >src/base/time.cc
  printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' '#include "cli/command.h"' '#include "json/parse.h"' \
    'auto start = std::chrono::steady_clock::now();' 'int main() {}' >src/main/main.cc
  printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' '// The public part.' >include/baton/baton.h
  cat >src/diagnostics/catalogue.def <<'END'
// SPDX-License-Identifier: Apache-2.0
// Every diagnostic.

DIAGNOSTIC(EXIT_JSON, Error, "a", "b")
DIAGNOSTIC(EXIT_PROTOCOL, Error, "a", "b")
DIAGNOSTIC(EXIT_PR_URL, Error, "a", "b")

DIAGNOSTIC(BATCH_LINE, Error, "a",
           "b")
END
}

ok() { PASSED=$((PASSED + 1)); echo "ok      $1"; }
not_ok() {
  FAILED=$((FAILED + 1))
  echo "NOT OK  $1"
  sed 's/^/        /' "$WORK/out"
}

run_tidy() {
  STATUS=0
  "$TIDY" "$WORK/tree" >"$WORK/out" 2>&1 || STATUS=$?
}

# refuses WHAT FILE:LINE MESSAGE: tidy fails and says so, at that place, and nothing else.
refuses() {
  run_tidy
  if [[ $STATUS == 1 ]] && grep -qE "^$2: .*$3" "$WORK/out" && [[ "$(grep -cE '^[^ ]+:[0-9]+: ' "$WORK/out")" == "${4:-1}" ]]
  then ok "refuses $1"; else not_ok "refuses $1 (status $STATUS, wanted $2: $3)"; fi
  fresh
}

accepts() {
  run_tidy
  if [[ $STATUS == 0 ]]; then ok "accepts $1"; else not_ok "accepts $1 (status $STATUS)"; fi
  fresh
}

# notes WHAT MESSAGE: said, but no failure.
notes() {
  run_tidy
  if [[ $STATUS == 0 ]] && grep -qE "^note: $2" "$WORK/out"; then ok "notes $1"; else not_ok "notes $1 (status $STATUS)"; fi
  fresh
}

fresh
accepts "a tree that keeps every rule"

# --- modules
echo '#include "json/parse.h"' >>src/base/text.cc
refuses "an include upward" src/base/text.cc:3 '"json/parse.h" is of module `json`'
echo '#include "json/parse.h"' >>src/cli/command.cc
refuses "an include of what is only needed through another" src/cli/command.cc:3 'module `json`, which `cli`'
echo '#include "dialects/uaix/check.h"' >>src/json/parse.h
refuses "an include of a nested module, in a header" src/json/parse.h:4 'module `dialects/uaix`'
echo '#include "check.h"' >>src/dialects/uaix/check.cc
refuses "an include without its module" src/dialects/uaix/check.cc:3 'in no module'
printf '%s\n' '// #include "cli/command.h"' '/* #include "cli/command.h" */' '#include "baton/baton.h"' \
  'const char* text = "#include \"cli/command.h\"";' >>src/json/parse.cc
accepts "an include in a comment, and one of a public header"

printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' >src/json/forgotten.cc
refuses "a .cc that no line lists" src/json/forgotten.cc:1 'no line .* lists this file'
rm src/json/parse.cc
refuses "a listed file that is not there" src/CMakeLists.txt:3 'src/json/parse.cc is listed'
rm src/main/main.cc
refuses "a program's file that is not there" src/CMakeLists.txt:8 'src/main/main.cc is listed'
mkdir src/extra && printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' '// What it is.' >src/extra/thing.h
refuses "a folder that no line describes" src/extra/thing.h:1 'src/extra has no line'
mkdir src/empty
accepts "an empty folder"
echo 'module(ghost NEEDS base)' >>src/CMakeLists.txt
refuses "a module without a folder" src/CMakeLists.txt:9 'no folder src/ghost'
sed -i 's/parse.cc NEEDS base/parse.cc NEEDS base cli/' src/CMakeLists.txt
sed -i 's/NEEDS base dialects\/uaix/NEEDS base/' src/CMakeLists.txt
refuses "a need upward" src/CMakeLists.txt:3 '`json` needs `cli`, which stands above it'
sed -i 's/text.cc time.cc/text.cc time.cc NEEDS json/' src/CMakeLists.txt
refuses "needs in a ring" 'src/CMakeLists.txt:[23]' 'ring: (base -> json -> base|json -> base -> json)' 2
sed -i 's/parse.cc NEEDS base/parse.cc NEEDS base nowhere/' src/CMakeLists.txt
refuses "a need that is no module" src/CMakeLists.txt:3 'needs `nowhere`, which no line describes'

# --- every file
sed -i 1d src/base/text.cc
refuses "a source without the SPDX line" src/base/text.cc:1 'SPDX'
sed -i 1d src/diagnostics/catalogue.def
refuses "a catalogue without the SPDX line" src/diagnostics/catalogue.def:1 'SPDX'
sed -i 2d src/base/text.h
refuses "a header without an opening comment" src/base/text.h:2 'opens with a comment'
sed -i '2s/.*/\/\//' src/base/text.h
refuses "a header with an empty opening comment" src/base/text.h:2 'opens with a comment'
printf '%s\n' '// SPDX-License-Identifier: Apache-2.0' '// What it is.' >src/base/string_utils.h
refuses "a junk drawer" src/base/string_utils.h:1 'junk drawer'
echo 'using namespace std;' >>src/base/text.cc
refuses "using namespace" src/base/text.cc:3 'using namespace'
echo 'static std::regex pattern("a+");' >>src/json/parse.cc
refuses "std::regex" src/json/parse.cc:3 'std::regex'
echo '#include <regex>' >>src/json/parse.cc
refuses "<regex>" src/json/parse.cc:3 'std::regex'
echo 'const char* text = "std::regex"; // std::regex' >>src/json/parse.cc
accepts "std::regex in a string and in a comment"
echo 'auto t = std::chrono::steady_clock::now();' >>src/json/parse.cc
refuses "a look at the clock" src/json/parse.cc:3 'reads a clock'
printf '%s\n' 'using Clock = std::chrono::system_clock;' 'auto t = Clock::now();' >>src/json/parse.cc
refuses "a look at the clock under another name" src/json/parse.cc:4 'reads a clock'
echo 'auto t = clock.now();' >>src/json/parse.cc
accepts "a clock that was passed in"

# --- coroutines
echo 'task f() { co_await spawn(executor, [v]() -> task { co_return; }, use); }' >>src/cli/command.cc
refuses "a capturing lambda in co_await" src/cli/command.cc:3 'capturing lambda'
printf '%s\n' 'task f() {' '  auto x = co_await spawn(' '      g{1},' '      [&, this] { run(); });' '}' >>src/cli/command.cc
refuses "a capturing lambda in co_await over several lines" src/cli/command.cc:6 'capturing lambda'
printf '%s\n' 'task f() { auto g = [v] { return v; }; co_await spawn(std::move(g), table[3], [] { return 1; });' \
  '  const auto& [a, b] = pair; h([a] { return a; }); [[maybe_unused]] int c = co_await k(); }' >>src/cli/command.cc
accepts "a named lambda, one without captures, a subscript and a later statement"

# --- the catalogue
sed -i '4{h;d};5{G}' src/diagnostics/catalogue.def
refuses "a family out of order" src/diagnostics/catalogue.def:5 'EXIT_JSON stands after EXIT_PROTOCOL'
sed -i '5p' src/diagnostics/catalogue.def
refuses "a code twice" src/diagnostics/catalogue.def:6 'EXIT_PROTOCOL stands already on line 5'
printf '\n%s\n' 'DIAGNOSTIC(EXIT_Z, Error, "a", "b")' >>src/diagnostics/catalogue.def
refuses "a code outside its family" src/diagnostics/catalogue.def:11 'stands apart'

# --- lengths are reported only
yes '// line' | head -n 500 >>src/json/parse.cc || true
notes "a file of more than 500 lines" 'src/json/parse.cc:1: 502 lines'
{ echo 'namespace x {'; echo 'int long_one(int a) {'; yes '  a += 1;' | head -n 69 || true; echo '  return a;'; echo '}'; echo '}'; } \
  >>src/json/parse.cc
notes "a function of more than 70 lines" 'src/json/parse.cc:4: long_one\(\) has 72 lines'

# --- no tree at all
rm src/CMakeLists.txt
run_tidy
if [[ $STATUS == 2 ]]; then ok "says when there is nothing to read"; else not_ok "says when there is nothing to read ($STATUS)"; fi

echo "$PASSED passed, $FAILED failed"
((FAILED == 0))
