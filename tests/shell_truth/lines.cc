// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <vector>

namespace baton::shell {

namespace {

// Small, and the same on every platform and with every library.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index) : state_(seed * 0x9e3779b97f4a7c15ull + index) {
    for (int round = 0; round < 3; ++round) next();
  }
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ull;
    std::uint64_t out = state_;
    out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9ull;
    out = (out ^ (out >> 27)) * 0x94d049bb133111ebull;
    return out ^ (out >> 31);
  }
  std::size_t below(std::size_t end) { return next() % end; }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  // A line of which each part is a trick is nearly always opaque and shows nothing: half of the lines have no tricks, and
  // most others few.
  std::string line() {
    static constexpr std::size_t kRarities[] = {0, 0, 0, 0, 0, 0, 30, 30, 12, 4};
    rarity_ = kRarities[random_.below(std::size(kRarities))];
    only_known_ = random_.below(5) < 3;
    std::string out = list(random_.one_in(6) ? 2 : 1);
    if (out.size() > 1500) out.resize(1500);
    return out;
  }

 private:
  bool trick() { return rarity_ != 0 && random_.one_in(rarity_); }
  std::size_t below(std::size_t end) { return random_.below(end); }
  bool one_in(std::size_t count) { return random_.one_in(count); }
  template <std::size_t N>
  std::string of(const char* const (&texts)[N]) {
    return texts[random_.below(N)];
  }

  // --- words

  std::string existing() {
    static constexpr const char* kFiles[] = {"a",     "b",      "c",      "d/x", "d/e/z", "./a",       "s",
                                             "'a b'", "../q/f", "/tmp/t", "o/k", ".dot",  "guarded/g", "/home/u/q/f"};
    return of(kFiles);
  }
  std::string folder() {
    static constexpr const char* kFolders[] = {"d",         "d/e",  "../q",    "/tmp", "o",    "empty", ".",      "..",
                                               "/home/u/q", "free", "guarded", "./d/", ".hid", "d/..",  "nowhere"};
    return of(kFolders);
  }
  std::string place() {
    static constexpr const char* kNew[] = {"n1",        "n2",     "d/n",       "../q/n", "free/n", "'n 3'",
                                           "n4.txt",    "/tmp/n", "d/e/n",     "\"n5\"", "./n6",   "n\\ 7",
                                           "guarded/n", "~/n8",   "nowhere/n", "-n9"};
    switch (below(5)) {
      case 0: return folder();
      case 1:
      case 2: return of(kNew);
      default: return existing();
    }
  }
  std::string file() {
    if (trick()) return strange_word();
    static constexpr const char* kGlobs[] = {
        "*",           "d/*",         "[ab]",       "?",         "d/?",      "{a,b}",      "d/{x,y}",
        "{a,d/x}",     "o/*",         "../q/*",     "*.txt",     "n{1..3}",  ".*",         "d/../*",
        "./*",         "gu*/g",       "{a,../q/f}", "*/x",       "~/q/f",    "a{,.bak}",   "d/[xy]",
        "a{1,2}{x,y}", "/t*/t",       "{,}",        "[!a]",      "[^a]",     "{x,}/tmp/t", "{,d}/q/f",
        "{{a,},d}/x",  "''{,}/tmp/t", "d{,/..}/a",  "{a,}~/q/f", "{,}{d,}/x"};
    if (one_in(14)) return of(kGlobs);
    static constexpr const char* kExpanded[] = {"\"$x\"",   "$x",         "\"$(echo a)\"", "$(echo b)", "d/$x",
                                                "\"d/$x\"", "\"$PWD/a\"", "$HOME/q/f",     "\"${x}\"",  "\"$HOME\"/n",
                                                "$y",       "\"$y\""};
    if (one_in(16)) return of(kExpanded);
    return place();
  }
  std::string plain_word() {
    static constexpr const char* kWords[] = {
        "a",    "-f", "'a b'", "\"a b\"", "a\\ b",    "a#b",      "\\;",    "'#'",  "rm",       "\"it's\"", "'\"'",
        "if",   "=",  "-n",    "--",      "hello",    "1",        "x=1",    "'$x'", "\"\\$x\"", "\\$x",     "''",
        "\"\"", "-x", "'*'",   "\\*",     "{}",       "then",     "fi",     "esac", "done",     "in",       "do",
        "a=b",  "-",  "+",     "'\\'",    "\"\\\\\"", "\"a\nb\"", "'a\nb'", "a,b",  "a:b",      "@",        "%",
        "^a",   "a~", "push",  "status",  "--force",  "-c",       "-e",     "a!b",  "\"a;b\"",  "'a|rm'",   "'&'"};
    return of(kWords);
  }
  std::string word() {
    if (trick()) return strange_word();
    if (one_in(12)) return "\"$(" + list(0) + ")\"";
    if (one_in(20)) return "$(" + list(0) + ")";
    if (one_in(25)) return commit_message();
    if (one_in(3)) return file();
    return plain_word();
  }
  std::string strange_word() {
    static constexpr const char* kWords[] = {"$'a\\nb'",
                                             "$'rm'",
                                             "\"`foo`\"",
                                             "`foo`",
                                             "$((1+2))",
                                             "a\\\nb",
                                             "\"a\\\nb\"",
                                             "${#x}",
                                             "$?",
                                             "\"${x%m}\"",
                                             "${x:-y}",
                                             "${x:-$(ls)}",
                                             "\"${x:-'}\"",
                                             "x=$(bar)",
                                             "<(foo)",
                                             ">(foo)",
                                             "@(a|b)",
                                             "!(a)",
                                             "?(a)b",
                                             "+([a-c])",
                                             "=ls",
                                             "**/x",
                                             "*(.)",
                                             "a(.)",
                                             "(#i)A",
                                             "$[1+2]",
                                             "${!x}",
                                             "${x@P}",
                                             "${x/m/n}",
                                             "$((x[$(foo)]))",
                                             "${y:=$(foo)}",
                                             "a[$(foo)]=1",
                                             "~+",
                                             "~-",
                                             "~root",
                                             "$_",
                                             "$0",
                                             "$@",
                                             "\"$@\"",
                                             "$*",
                                             "$-",
                                             "$$",
                                             "$!",
                                             "$#",
                                             "\"${@}\"",
                                             "{a..c}",
                                             "{a,b",
                                             "a}",
                                             "[a",
                                             "]",
                                             "!",
                                             "!!",
                                             "!rm",
                                             "\"!rm\"",
                                             "#a",
                                             "a\t#b",
                                             "$\"a\"",
                                             "$",
                                             "\"$\"",
                                             "\"\\\n\"",
                                             "'\n'",
                                             "${x",
                                             "$(",
                                             "${x:0:2}",
                                             "{rm,a}",
                                             "\\\na",
                                             "a\\",
                                             "\"$(foo `bar`)\"",
                                             "\"$(foo \"$(bar)\")\"",
                                             "$(foo $(bar))",
                                             "\"$( (foo) )\"",
                                             "$((foo);(bar))",
                                             "\"$(foo)$(bar)\"",
                                             "$(<a)",
                                             "\"$(<s)\"",
                                             "$({ foo; })",
                                             "\"$(foo # )\n)\"",
                                             "\"$(foo ')')\"",
                                             "\"$(foo \\))\"",
                                             "$(foo \")\" bar)",
                                             "${x+\"$(foo)\"}",
                                             "'a'\"b\"c",
                                             "\xc2\xa0",
                                             ("a\xe2\x80\x83"
                                              "b"),
                                             "\x01",
                                             "a\rb",
                                             "\v",
                                             "\f",
                                             "\"${x:-\"$(bar)\"}\"",
                                             "${x:-`bar`}",
                                             "\"a$(foo)b\"",
                                             "v[0]",
                                             "v=(foo)",
                                             "v[1]=2",
                                             "1>n",
                                             "{fd}>n",
                                             "&a",
                                             "2",
                                             "$x$(foo)",
                                             "~/n",
                                             "a=~/n",
                                             "--x=~/n",
                                             "${PWD}/n",
                                             "$OLDPWD",
                                             "$RANDOM",
                                             "$PPID",
                                             "$IFS",
                                             "a$IFS'b'",
                                             "${IFS}foo",
                                             "\"$x\"*",
                                             "*$x",
                                             "[$x]",
                                             "$(echo '*')",
                                             "$(echo \"a b\")",
                                             "$(printf 'a;foo')",
                                             "\"$(echo '$(foo)')\"",
                                             "*(e:'foo':)",
                                             "*(+foo)",
                                             "a(e'{foo}')",
                                             "$(foo)\\\n$(bar)",
                                             "${(e):-'$(foo)'}",
                                             "${~x}",
                                             "$x[1]",
                                             "$x:h",
                                             "^a",
                                             "a~b",
                                             "a#",
                                             "=foo",
                                             "a==foo",
                                             "<1-9>",
                                             "<->",
                                             "*~a",
                                             "a^b",
                                             "1..3",
                                             "{1..3}",
                                             "{a,b}{c,d}",
                                             "{\"a b\",c}",
                                             "{a,$x}",
                                             "{$(foo),b}",
                                             "{a\\,b}",
                                             "%1",
                                             "%",
                                             "@a",
                                             "a@b",
                                             "a:b=c",
                                             "::",
                                             "\"${(f)x}\"",
                                             "$+x",
                                             "$^x",
                                             "$=x",
                                             "${=x}",
                                             "\"\\$(foo)\"",
                                             "\\$(foo)",
                                             "'$(foo)'",
                                             "\"\\`foo\\`\"",
                                             "\\`foo\\`",
                                             "$\\(foo)",
                                             "\"$\\(foo)\"",
                                             "\"$\"(foo)",
                                             "$''(foo)"};
    return of(kWords);
  }
  std::string words(std::size_t most) {
    std::string out;
    for (std::size_t count = below(most + 1); count > 0; --count) out += blank() + word();
    return out;
  }
  std::string blank() {
    static constexpr const char* kBlanks[] = {"  ", "\t", " \\\n", "\\\n ", " \\\n\t"};
    return one_in(25) ? of(kBlanks) : " ";
  }

  // What coding agents write, and forms that are nearly it.
  std::string commit_message() {
    static constexpr const char* kBodies[] = {"fix",    "a 'b' \"c\" $x",
                                              "$(foo)", "`bar`",
                                              "it's",   "",
                                              "  EOF",  "a EOF",
                                              "END",    ")",
                                              ")\"",    "\\",
                                              "# a",    "#",
                                              "(",      "'"};
    static constexpr const char* kNear[] = {"EOF)",
                                            "EOF ",
                                            "EOFx",
                                            "EOF;",
                                            "\tEOF",
                                            "EOF\"",
                                            "EOF)\"; foo; echo \"",
                                            "EO\\\nF",
                                            "EOF)\"\nfoo\n\"$(cat <<'EOF'",
                                            "EOF #",
                                            "EOF\\"};
    static constexpr const char* kStarts[] = {
        "cat <<'EOF'",   "cat <<EOF",       "cat <<\"EOF\"",       "cat <<-'EOF'",      "cat << 'EOF'",
        "cat <<\\EOF",   "cat <<'EOF' ",    "cat <<'EOF' -",       "cat <<'EOF' | foo", "cat<<'EOF'",
        "foo <<'EOF'",   "cat <<'EOF' # c", "cat <<'EOF' <<'END'", "cat <<'EOF'; foo",  " cat <<'EOF'",
        "cat - <<'EOF'", "cat <<'E'OF",     "cat <<E'O'F",         "cat <<$'EOF'"};
    static constexpr const char* kEnds[] = {"EOF\n)",     "EOF\n)",      "EOF\n)",       "EOF)",        "EOF\n\n)",
                                            "EOF\n )",    "\tEOF\n)",    "EOF \n)",      "EOF\nfoo\n)", "EOF\n; bar)",
                                            "EOF\n) ",    "EOF\n| foo)", "EOFx\nEOF\n)", "EOF\n#)\n)",  "EOF\n# )",
                                            "EOF\\\n\n)", "EO\\\nF\n)"};
    const bool plain = !one_in(3) && rarity_ != 4;
    std::string out = plain ? "\"$(cat <<'EOF'\n" : (one_in(4) ? "$(" : "\"$(") + of(kStarts) + "\n";
    for (std::size_t count = below(3); count > 0; --count) out += (one_in(8) ? of(kNear) : of(kBodies)) + "\n";
    out += one_in(3) ? of(kEnds) : "EOF\n)";
    return out + (one_in(40) ? "" : "\"");
  }

  // --- commands

  std::string program() {
    static constexpr const char* kPlain[] = {
        "foo",       "bar",           "ls",       "cat",  "no",           "make",           "git status",
        "true",      "echo",          "git push", "foo",  "bar",          "printf '%s\\n'", "test -f",
        "ls -l",     "git commit -m", "grep -r",  "wc",   "/usr/bin/foo", "python3 -c",     "node -e",
        "head -n 1", "git-push",      ":",        "false"};
    if (trick()) {
      static constexpr const char* kSpelled[] = {"\\foo",
                                                 "f''oo",
                                                 "\"foo\"",
                                                 "f\\oo",
                                                 "$'foo'",
                                                 "$'\\x66oo'",
                                                 "'foo'",
                                                 "fo\\\no",
                                                 "f\"o\"o",
                                                 "if1",
                                                 "command foo",
                                                 "builtin true",
                                                 "exec foo",
                                                 "$x",
                                                 "${x}",
                                                 "fo{o,}",
                                                 "fo[o]",
                                                 "fo?",
                                                 "$(echo foo)",
                                                 "`echo foo`",
                                                 "\"$x\"",
                                                 "${y:-bar}",
                                                 "x=y",
                                                 "''",
                                                 "!",
                                                 "time foo",
                                                 "time -p foo",
                                                 "eval foo",
                                                 "~",
                                                 "# foo",
                                                 "! foo",
                                                 "command -v foo",
                                                 "command -p foo",
                                                 "exec -a bar foo",
                                                 "builtin command foo",
                                                 "noglob foo",
                                                 "nocorrect foo",
                                                 "- foo",
                                                 "=foo",
                                                 "coproc foo",
                                                 "coproc x { foo; }",
                                                 "let x=1",
                                                 "((x=1))",
                                                 "[[ a ]]",
                                                 "[ a ]",
                                                 ". ./s",
                                                 "source s",
                                                 "type foo",
                                                 "hash foo",
                                                 "set -- foo",
                                                 "shift",
                                                 "read y",
                                                 "export y=foo",
                                                 "declare y=foo",
                                                 "local y=foo",
                                                 "readonly y=foo",
                                                 "unset y",
                                                 "typeset -i y=1",
                                                 "trap foo EXIT",
                                                 "trap 'foo; bar' EXIT",
                                                 "trap foo DEBUG",
                                                 "wait",
                                                 "exit",
                                                 "return",
                                                 "break",
                                                 "mapfile -C foo -c 1 y < a",
                                                 "repeat 2 foo",
                                                 "foreach v (a) foo; end",
                                                 "if true; foo",
                                                 "enable -n true",
                                                 "alias foo=bar",
                                                 "unalias -a",
                                                 "printf -v y foo",
                                                 "cd",
                                                 "popd",
                                                 "pushd",
                                                 "dirs",
                                                 "fg",
                                                 "jobs -x foo",
                                                 "bind -x foo",
                                                 "complete -C foo x",
                                                 "compgen -C foo",
                                                 "fc",
                                                 "fc -s",
                                                 "history",
                                                 "umask 0",
                                                 "ulimit -n 10",
                                                 "times",
                                                 "suspend",
                                                 "logout",
                                                 "emulate sh -c foo",
                                                 "zmodload x",
                                                 "autoload foo",
                                                 "}",
                                                 "{",
                                                 "do",
                                                 "done",
                                                 "fi",
                                                 "esac",
                                                 "then",
                                                 "in",
                                                 "select",
                                                 "function",
                                                 "[[",
                                                 "]]",
                                                 "((",
                                                 "))",
                                                 "case",
                                                 "1",
                                                 "&",
                                                 "env",
                                                 "sh",
                                                 "bash",
                                                 "foo()",
                                                 "foo () { bar; }",
                                                 "command",
                                                 "exec",
                                                 "builtin",
                                                 "eval",
                                                 "nohup",
                                                 "xargs",
                                                 "time",
                                                 "nice",
                                                 "getopts ab y",
                                                 "read -A functions <a",
                                                 "wait -n -p 'v[$(foo)]'",
                                                 "printf %d v",
                                                 "printf %n v",
                                                 "printf 'a%n' 'v[$(foo)]'",
                                                 "printf '%s%-3n' a HOME",
                                                 "printf 'a\\u0025n' 'v[$(foo)]'",
                                                 "printf \"$x%n\" y",
                                                 "time x=y foo",
                                                 "time -p x=y",
                                                 "time ! foo",
                                                 "getln v",
                                                 "bye v",
                                                 "private -i w=v",
                                                 "[ * ]",
                                                 "[ {-v,'v[$(foo)]'} ]",
                                                 "[ \"$x\" v ]",
                                                 "zregexparse y z a '/a/' '{foo}'",
                                                 "hash -p /usr/bin/foo bar",
                                                 "setopt sh_word_split",
                                                 "shopt -s extglob",
                                                 "shopt -s nullglob",
                                                 "set -o posix",
                                                 "disable foo",
                                                 "zle",
                                                 "print foo",
                                                 "print -z foo",
                                                 "vared y",
                                                 "whence foo",
                                                 "where foo",
                                                 "which foo",
                                                 "sched +0 foo",
                                                 "ttyctl",
                                                 "f\xc3\xb6o"};
      return of(kSpelled);
    }
    static constexpr const char* kKnown[] = {
        "ls",        "cat", "true",  "echo",         "printf '%s\\n'", "test -f", "ls -l", "grep -r", "wc",
        "head -n 1", ":",   "false", "/usr/bin/cat", "tail",           "echo -n", "stat",  "diff",    "pwd"};
    return only_known_ && !one_in(30) ? of(kKnown) : of(kPlain);
  }
  std::string redirection() {
    static constexpr const char* kOutward[] = {">",  ">",  ">>", "2>",  ">|",  "&>",  "&>>", "<>",  "1>",    "2>>",
                                               ">&", "3>", ">!", ">>!", "&>|", "2>|", "9>",  "12>", "\\\n>", ">\\\n"};
    static constexpr const char* kOther[] = {"2>&1",          "<a",         "< d/x",
                                             ">&2",           "<&-",        "2>/dev/null",
                                             ">/dev/null",    "</dev/null", ">/dev/null 2>&1",
                                             "&>/dev/null",   "<<<b",       "3<a",
                                             "<<<\"$(foo)\"", ">&-",        "0<a",
                                             "<&0",           "1>&2",       "2>&1 >n",
                                             "<<<'a'",        "<s",         "2>&-",
                                             "3<&0",          "3>&1"};
    if (one_in(2)) return of(kOther);
    return (rarity_ == 0 && !one_in(6) ? (one_in(3) ? ">>" : ">") : of(kOutward)) + (one_in(2) ? "" : " ") + file();
  }
  std::string assignment() {
    static constexpr const char* kPlain[] = {"v=1",      "v=",           "v=a",   "v='a b'", "FOO=bar", "v=\"$x\"",
                                             "LC_ALL=C", "v=\"$(foo)\"", "v=~/n", "v=a:b",   "CI=1",    "v=$(bar)"};
    static constexpr const char* kStrange[] = {"x=foo",
                                               "v=`foo`",
                                               "v+=1",
                                               "v[0]=1",
                                               "v[0 + w]=1",
                                               "v='path[$(foo)]'",
                                               "v='w[$(foo)]'",
                                               "x=-t",
                                               "BASH_CMDS=/bin/foo",
                                               "ARGV0=foo",
                                               "histchars='!^%'",
                                               "TRY_BLOCK_INTERRUPT=v",
                                               "v=(foo bar)",
                                               "PATH=/home/u/p",
                                               "PATH=",
                                               "IFS=a",
                                               "LD_PRELOAD=./c",
                                               "BASH_ENV=./s",
                                               "ENV=./s",
                                               "MAKEFILES=./c",
                                               "PYTHONUSERBASE=./c",
                                               "PYTHONPATH=./c",
                                               "LUA_INIT=@./c",
                                               "KUBECONFIG=./c",
                                               "GCONV_PATH=./c",
                                               "GIT_SSH_COMMAND=./c",
                                               "NODE_OPTIONS=-r=./c",
                                               "PERL5OPT=-I./c",
                                               "CDPATH=..",
                                               "HOME=/tmp",
                                               "PWD=/tmp",
                                               "OLDPWD=/tmp",
                                               "GIT_PAGER=./c",
                                               "PAGER=./c",
                                               "EDITOR=./c",
                                               "PS4='$(foo)'",
                                               "SHELLOPTS=xtrace",
                                               "BASHOPTS=extglob",
                                               "GLOBIGNORE=a",
                                               "POSIXLY_CORRECT=1",
                                               "TAR_OPTIONS=--to-command=foo",
                                               "RUBYOPT=-r./c",
                                               "PERL5LIB=./c",
                                               "GIT_DIR=./c",
                                               "JAVA_TOOL_OPTIONS=-agentpath:./c",
                                               "PROMPT_COMMAND=foo",
                                               "path=/tmp",
                                               "cdpath=..",
                                               "NULLCMD=foo",
                                               "READNULLCMD=foo",
                                               "TMPDIR=/home/u/p/d",
                                               "TMPPREFIX=d/zsh",
                                               "ZDOTDIR=d",
                                               "FPATH=d",
                                               "HISTFILE=n",
                                               "SIMPLE_BACKUP_SUFFIX=.o",
                                               "VERSION_CONTROL=t",
                                               "BASH_FUNC_ls%%='() { foo; }'",
                                               "LUA_PATH=./c",
                                               "GIT_EXEC_PATH=./c",
                                               "v=a$(foo)b",
                                               "v=${y:-$(foo)}",
                                               "v=\"a\\\nb\"",
                                               "v=$'a'",
                                               "v={a,b}",
                                               "v=*",
                                               "export v=1",
                                               "v=1 w=2",
                                               "v\\\n=1",
                                               "\"v\"=1",
                                               "1v=1",
                                               "v=<(foo)"};
    return trick() || one_in(40) ? of(kStrange) : of(kPlain);
  }
  std::string simple() {
    std::string out;
    if (one_in(12)) out += assignment() + " ";
    if (one_in(30)) out += redirection() + " ";
    switch (below(12)) {
      case 0:
      case 1: out += launched(); break;
      case 2:
      case 3:
      case 4:
      case 5: out += writer(); break;
      case 6: return out + change_of_folder();
      case 7: return out + here_document();
      default: out += program() + words(3);
    }
    if (one_in(4)) out += blank() + redirection();
    if (one_in(40)) out += " # " + program() + (one_in(2) ? " '" : "");
    return out;
  }

  // Programs that write, with options common and rare.
  std::string writer() {
    static constexpr const char* kCopy[] = {"",
                                            "",
                                            "",
                                            "",
                                            "-r",
                                            "-a",
                                            "-p",
                                            "-f",
                                            "-t d",
                                            "-T",
                                            "--parents",
                                            "--backup",
                                            "-b",
                                            "-S .o -b",
                                            "--backup=numbered",
                                            "--target-directory=d",
                                            "-l",
                                            "-s",
                                            "-u",
                                            "-n",
                                            "-v",
                                            "-rT",
                                            "-at d",
                                            "--target-dir d",
                                            "--no-target-directory",
                                            "-L",
                                            "-P",
                                            "--remove-destination",
                                            "--attributes-only",
                                            "--suffix=.o",
                                            "-x",
                                            "--",
                                            "-i",
                                            "--par",
                                            "-d",
                                            "-H",
                                            "--link",
                                            "--symbolic-link",
                                            "-td",
                                            "-rt d",
                                            "-rtd",
                                            "-vtd/e",
                                            "--targ d",
                                            "--target-d=d",
                                            "-rt\"d\"",
                                            "--preserve=mode",
                                            "--no-preserve=mode",
                                            "--strip-trailing-slashes",
                                            "--sparse=always",
                                            "-Z",
                                            "--reflink=auto"};
    static constexpr const char* kMove[] = {"",
                                            "",
                                            "",
                                            "-f",
                                            "-n",
                                            "-t d",
                                            "-T",
                                            "--backup",
                                            "-b",
                                            "-S .o",
                                            "-v",
                                            "--target-directory=d",
                                            "-u",
                                            "-i",
                                            "--backup=t",
                                            "--suffix .o --backup",
                                            "--strip-trailing-slashes",
                                            "--",
                                            "-bt d",
                                            "-ftd",
                                            "--targ=d",
                                            "-vt d",
                                            "--no-clobber"};
    static constexpr const char* kLink[] = {
        "-s", "-s",   "-s",    "",   "-f",      "-sf", "-t d",     "-st d",      "-T",  "-sT",
        "-n", "-sfn", "-r -s", "-L", "-P",      "-b",  "--backup", "--symbolic", "-sr", "--target-directory=d -s",
        "-d", "-F",   "-i",    "-v", "-S .o -b"};
    static constexpr const char* kTouch[] = {"",
                                             "",
                                             "",
                                             "-c",
                                             "-a",
                                             "-m",
                                             "-d yesterday",
                                             "-r a",
                                             "--reference=a",
                                             "--reference a",
                                             "-t 202001010000",
                                             "--date=yesterday",
                                             "-h",
                                             "--no-create",
                                             "-am",
                                             "-ra",
                                             "--time=atime",
                                             "--",
                                             "-f",
                                             "-d@0"};
    static constexpr const char* kRemove[] = {"",
                                              "",
                                              "-f",
                                              "-r",
                                              "-rf",
                                              "-d",
                                              "-v",
                                              "--",
                                              "-i",
                                              "-I",
                                              "--one-file-system",
                                              "--recursive",
                                              "--force",
                                              "--no-preserve-root",
                                              "--dir",
                                              "-R",
                                              "--interactive=never",
                                              "-fr --"};
    static constexpr const char* kMode[] = {"644",
                                            "u+x",
                                            "-x",
                                            "+x",
                                            "-r",
                                            "-w",
                                            "-R 755",
                                            "--reference=a",
                                            "--reference a",
                                            "--ref=a",
                                            "a=r",
                                            "-v 600",
                                            "-c 600",
                                            "-f 600",
                                            "u=rwx,go=",
                                            "-- -x",
                                            "-R -w",
                                            "0",
                                            "-rw",
                                            "--recursive 700",
                                            "-Rv 755",
                                            "--preserve-root 644",
                                            "+",
                                            "u+s",
                                            "-s",
                                            "o-r -v",
                                            "-R --reference=a",
                                            "--reference=d"};
    static constexpr const char* kOwner[] = {
        "1000",     "1000:1000",        "--reference=a",         "--reference a",   "-R 1000",
        ":1000",    "-h 1000",          "--from=1000 1000",      "-v 1000",         "--ref=a",
        "-RL 1000", "--from 1000 1000", "--no-dereference 1000", "-R --reference=a"};
    static constexpr const char* kMake[] = {"",           "",        "-p", "-m 700", "-v", "--parents",
                                            "--mode=700", "-pm 700", "--", "-Z",     "-pv"};
    static constexpr const char* kInstall[] = {"",
                                               "",
                                               "-m 755",
                                               "-d",
                                               "-D",
                                               "-t d",
                                               "-Dt n1/m",
                                               "-Dtn1/m",
                                               "-m 755 -td",
                                               "-b",
                                               "-S .o -b",
                                               "-T",
                                               "--target-directory=d",
                                               "-v",
                                               "-p",
                                               "-C",
                                               "-o 1000",
                                               "-g 1000",
                                               "--mode=700",
                                               "--directory",
                                               "-s",
                                               "-dm 700",
                                               "-Dm 644",
                                               "--backup",
                                               "--strip-program=foo -s"};
    static constexpr const char* kCut[] = {
        "-s 0",  "-s 1",  "-r a",     "--reference=a", "--size=0",           "-cs 0", "--no-create -s 0",
        "-s +1", "-os 1", "--size 0", "--ref a",       "--reference a -s +1"};
    static constexpr const char* kTee[] = {"", "", "-a", "-i", "-p", "--append", "--output-error=warn", "--", "-ai"};
    static constexpr const char* kSort[] = {"-o n1 a",
                                            "a -o n1",
                                            "-on1 a",
                                            "--output=n1 a",
                                            "--output n1 a",
                                            "-uo a a",
                                            "a",
                                            "-u a -o d/n",
                                            "-T d a",
                                            "--out=n1 a",
                                            "-ro n1 s",
                                            "a -o",
                                            "--temporary-directory=d a",
                                            "-k1 -o b a",
                                            "-t o a",
                                            "-to a",
                                            "-k o a",
                                            "-S 1 -on1 a",
                                            "--compress-program=foo a",
                                            "--files0-from=a -o n1",
                                            "-c a",
                                            "-nro n1 a",
                                            "-- a -o n1",
                                            "--parallel=1 -o n1 a",
                                            "-b -o n1 a"};
    static constexpr const char* kSed[] = {"-i s/o/x/ a",      "-i.bak s/o/x/ a",
                                           "-n p a",           "s/o/x/ a",
                                           "-i -e s/o/x/ a b", "--in-place=.bak s/o/x/ a",
                                           "-i 'w n1' a",      "'w n1' a",
                                           "-n '/o/w n1' a",   "'1e foo' a",
                                           "s/o/x/w\\ n1 a",   "'s/o/foo/e' a",
                                           "-e s/o/x/ -i a",   "-ni p a",
                                           "-E -i s/o/x/ a",   "-f s a",
                                           "-i -f s a",        "--expression=s/o/x/ -i a",
                                           "-ie s/o/x/ a",     "-s -i s/o/x/ a d/x",
                                           "-z -i s/o/x/ a",   "1d -i a",
                                           "--in-place 1d a",  "-i'd/*' 1d a",
                                           "-i 1d d/x",        "'1{w n1\n}' a",
                                           "'r b' a",          "'R b' a",
                                           "'W n1' a",         "1,2p a",
                                           "-n '$p' a",        "-i '/one/d' a",
                                           "'1F' a",           "--follow-symlinks -i 1d a",
                                           "-i -- 1d a",       "-i 1d *",
                                           "-n -i p ./a",      "-i s/o/x/ 'a b'",
                                           "--quiet -i 1d a",  "-l 5 -i 1d a",
                                           "-b -i 1d a",       "--debug 1d a",
                                           "-si 1d a",         "--in=.o 1d a",
                                           "-n --expr 1p a",   "--file=s a",
                                           "--sandbox 1d a",   "'a\\\nw n1' a",
                                           "y/o/x/ a",         "'s/a/b/;w n1' a"};
    static constexpr const char* kDd[] = {"if=a of=n1",
                                          "of=b",
                                          "if=a of=d/n bs=1",
                                          "if=a",
                                          "of=n1 conv=notrunc",
                                          "if=/dev/zero of=n1 count=1 bs=1",
                                          "of=n1 if=a status=none",
                                          "if=a of=n1 of=n2",
                                          "'of=n1' if=a",
                                          "of=\"$x\" if=a",
                                          "\"of=n1\" if=a",
                                          "seek=1 of=a if=b",
                                          "of=$x",
                                          "o\"f=n1\" if=a",
                                          "--help",
                                          "of= if=a"};
    static constexpr const char* kOther[] = {"split -l 1 a",
                                             "split -l 1 a d/p",
                                             "split --filter=foo a",
                                             "csplit a 1",
                                             "shred -u",
                                             "uniq a n1",
                                             "uniq a",
                                             "uniq -c a n1",
                                             "mkfifo n1",
                                             "mktemp -p .",
                                             "link a n1",
                                             "unlink a",
                                             "rmdir empty",
                                             "rmdir -p d/e",
                                             "find d -delete",
                                             "find . -name x -delete",
                                             "find d -fprint n1",
                                             "find d -fls n1",
                                             "find . -empty -delete",
                                             "find d -type f -fprintf n1 %p",
                                             "find d -fprint0 n1",
                                             "awk '{print > \"n1\"}' a",
                                             "awk 1 a",
                                             "awk 'BEGIN{system(\"foo\")}'",
                                             "awk '{print | \"foo\"}' a",
                                             "awk 'BEGIN{\"foo\" | getline}'",
                                             "awk -f s a",
                                             "awk '{print $1}' a",
                                             "awk -v x=1 '$1 > 0' a",
                                             "tee n1 n2",
                                             "date > n1",
                                             "shred a",
                                             "shred -n 1 -u a",
                                             "shred --remove a",
                                             "uniq -f 1 a n1",
                                             "uniq --count a n1",
                                             "uniq - n1",
                                             "uniq a*",
                                             "uniq [ab]",
                                             "uniq {a,../q/f}",
                                             "uniq d/*",
                                             "touch -r {a,../q/f} n1",
                                             "chmod {600,../q/f}",
                                             "chmod u{+x,ser} a",
                                             "chmod --reference {a,../q/f} b",
                                             "find d/zz* -delete",
                                             "truncate -s {0,../q/f} a",
                                             "sort -u a b",
                                             "comm a b",
                                             "split a",
                                             "split -b 1 a n",
                                             "split --bytes=1 a",
                                             "csplit -f n a 1",
                                             "tail -n 1 a",
                                             "tac a",
                                             "find d -name '*x' -print",
                                             "find -L d -delete",
                                             "mkfifo -m 600 n1 n2",
                                             "mktemp",
                                             "mktemp -d",
                                             "mktemp n.XXX",
                                             "find d/x -delete",
                                             "find d -exec touch {} +",
                                             "rmdir -p empty",
                                             "rmdir --parents d/e",
                                             "rmdir -v empty"};
    const auto operand = [&] { return blank() + file(); };
    const auto operands = [&] {
      std::string out = operand();
      while (one_in(4)) out += operand();
      return out;
    };
    const auto options = [&](std::string text) { return text.empty() ? text : " " + text; };
    // An option may stand behind the operands, too.
    const auto put = [&](const char* name, const std::string& chosen, const std::string& rest) {
      return one_in(12) ? name + rest + options(chosen) : name + options(chosen) + rest;
    };
    switch (below(22)) {
      case 0:
      case 1: return put("cp", of(kCopy), operands() + operand());
      case 2:
      case 3: return put("mv", of(kMove), operands() + operand());
      case 4: return put("ln", of(kLink), operand() + (one_in(4) ? "" : operand()));
      case 5: return put("touch", of(kTouch), operands());
      case 6: return put("rm", of(kRemove), operands());
      case 7: return put("chmod", of(kMode), operands());
      case 8: return put(one_in(3) ? "chgrp" : "chown", of(kOwner), operands());
      case 9: return put("mkdir", of(kMake), operands());
      case 10: return put("install", of(kInstall), operands() + operand());
      case 11: return put("truncate", of(kCut), operands());
      case 12: return "echo a | " + put("tee", of(kTee), operands());
      case 13: return "sort " + of(kSort);
      case 14: return one_in(2) ? "sed " + of(kSed) : script();
      case 15: return "dd " + of(kDd);
      case 16: return of(kOther);
      case 17: return linked();
      case 18: return (one_in(2) ? "echo hi" : program()) + " > " + file();
      case 19: return "tee" + operands() + (one_in(2) ? " <a" : "");
      case 20: return "cat" + operand() + " > " + file();
      default: return "touch" + operands();
    }
  }
  // Texts of sed and awk from parts that are easy to read wrong: where a pattern, a set or a string ends decides what runs.
  std::string script() {
    static constexpr const char* kSets[] = {"[[:space:]]", "[^a]", "[]a]", "[/]",   "[\\/]", "[\\t ]",  "[[.a.]]",
                                            "[\\]",        "[a",   "]",    "[[:]]", "\\[",   "\\\\[/]", "[^]/]",
                                            "a",           "o|n",  "\\/",  "\"",    ".*",    ""};
    static constexpr const char* kSedParts[] = {":a;",  "N;$!ba",         "p",    "d", "e", "e touch n1",
                                                "w n1", "s/a/touch n1/e", "1,2p", "q", ";", "\n"};
    static constexpr const char* kAwkParts[] = {"print | \"foo\"",
                                                "print \"x\" | \"sh\"",
                                                "print $1",
                                                "x = 4 / 2",
                                                "x = 4 \\\n / 2",
                                                "if (1) ",
                                                "print \"|\"",
                                                "# \"\n",
                                                "print \"a\\\"\" | \"foo\"",
                                                "; ",
                                                "} {",
                                                "x || y",
                                                "print \"\\\\\" | \"bar\" # \"",
                                                "print > \"n1\"",
                                                "$0 ~ "};
    std::string out;
    if (one_in(2)) {
      const char end = "/:,|]"[one_in(3) ? below(5) : 0];
      out = one_in(3) ? std::string("/") + of(kSets) + "/" : "";
      out +=
          one_in(4) ? of(kSedParts) : "s" + (end + of(kSets)) + of(kSets) + end + (one_in(2) ? "x" : of(kSets)) + end;
      if (one_in(3)) out += of(kSedParts);
      if (one_in(4)) out += std::string(";") + of(kSedParts);
      return "sed " + std::string(one_in(3) ? "-i '" : "-n '") + out + "' a";
    }
    out = one_in(2) ? std::string("/") + of(kSets) + of(kSets) + "/ " : "";
    out += "{ ";
    for (unsigned parts = 1 + below(3); parts > 0; --parts)
      out += (one_in(4) ? "/" + std::string(of(kSets)) + "/" : std::string(of(kAwkParts))) + (one_in(2) ? "; " : " ");
    return "awk '" + out + "}" + (one_in(4) ? " # \"" : "") + (one_in(6) ? " # /" : "") + "' a";
  }
  // A link is made and used in one line.
  std::string linked() {
    static constexpr const char* kLinks[] = {"ln -s ../guarded free/l",
                                             "ln -s guarded l",
                                             "ln -s ../q l",
                                             "ln -s a l",
                                             "ln a l",
                                             "ln -sfn d l",
                                             "cp -s /home/u/p/a l",
                                             "cp -l a l",
                                             "ln -s /home/u/q d/l",
                                             "mv d l",
                                             "mv guarded free/l",
                                             "cp -r d l",
                                             "ln -s .. free/l",
                                             "ln -t free -s ../guarded/g",
                                             "ln -s ../q/f",
                                             "cp -a d free/l",
                                             "ln -sT /tmp l",
                                             "install -D a l/m",
                                             "mkdir l",
                                             "ln -s nowhere l",
                                             "cp -rl d l"};
    static constexpr const char* kUses[] = {"touch free/l/d",
                                            "touch l",
                                            "echo > l",
                                            "rm -r l/",
                                            "touch l/n",
                                            "echo a >> free/l/n",
                                            "chmod 600 l",
                                            "cp b l",
                                            "cd l && touch n",
                                            "touch d/l/f",
                                            "cp b free/g",
                                            "echo >> f",
                                            "mv b l",
                                            "tee l < b",
                                            "rm free/l/g",
                                            "cd free/l; touch n",
                                            "sed -i 1d l",
                                            "mkdir l/n",
                                            "cd l; cd ..; touch n",
                                            "touch l/../n",
                                            "truncate -s 0 l",
                                            "chmod -R 700 l",
                                            "touch -h l",
                                            "rm l",
                                            "mv l m"};
    static constexpr const char* kJoints[] = {"; ", " && ", "\n", " ; "};
    return of(kLinks) + of(kJoints) + of(kUses);
  }

  std::string change_of_folder() {
    static constexpr const char* kJoints[] = {" && ", " && ", "; ", "\n", " || ", " | ", " & ", ";", " &&\n"};
    static constexpr const char* kChanges[] = {
        "cd",         "cd",       "cd",      "cd",       "pushd", "cd --",    "cd -P", "cd -L", "command cd",
        "builtin cd", "pushd -n", "\\cd",    "'cd'",     "cd -e", "cd -@",    "chdir", "cd -q", "cd -s",
        "cd -LP",     "env cd",   "exec cd", "pushd --", "! cd",  "cd -P --", "\"cd\""};
    static constexpr const char* kBack[] = {"cd -",           "popd",    "cd ..",   "cd",     "cd /",     "cd ~",
                                            "cd \"$OLDPWD\"", "cd $PWD", "popd -n", "pushd",  "pushd +1", "cd +1",
                                            "cd ~-",          "dirs -c", "cd ''",   "cd . .", "cd a b",   "cd d e",
                                            "cd \"$HOME\"",   "cd ./..", "cd *",    "cd d*",  "cd -1",    "popd +0"};
    static constexpr const char* kBefore[] = {"cd() { :; }; ",
                                              "CDPATH=..; ",
                                              "alias cd=:; ",
                                              "alias cd=:\n",
                                              "function cd { builtin cd ..; }; ",
                                              "cd () { command cd ../q; }; ",
                                              "export CDPATH=..; ",
                                              "HOME=/tmp; ",
                                              "CDPATH=.. ",
                                              "HOME=/tmp ",
                                              "unset HOME; ",
                                              "set -P; ",
                                              "setopt autocd; ",
                                              "shopt -s autocd; ",
                                              "pushd ../q; ",
                                              "mkdir n; ",
                                              "set -e; "};
    std::string out;
    if (one_in(25)) out += of(kBefore);
    const bool grouped = one_in(6);
    if (grouped) out += one_in(2) ? "(" : "{ ";
    const std::string to =
        one_in(8) ? of(kBack) : (one_in(3) ? of(kChanges) : "cd") + " " + (one_in(8) ? file() : folder());
    out += to + (one_in(12) ? " >/dev/null" : "") + of(kJoints);
    if (one_in(3)) out += (one_in(2) ? of(kBack) : "cd " + folder()) + of(kJoints);
    out += writer();
    if (grouped) out += (out.find("{ ") != std::string::npos && out.find('(') == std::string::npos ? "; }" : ")");
    if (one_in(3)) out += of(kJoints) + writer();
    return out;
  }

  std::string launched() {
    static constexpr const char* kEnv[] = {"env",
                                           "env",
                                           "env -i",
                                           "env -u v",
                                           "env v=1",
                                           "env -",
                                           "env --",
                                           "env -C d",
                                           "env -S",
                                           "env --chdir=d",
                                           "env -0",
                                           "env v=1 w=2",
                                           "env -iu v",
                                           "env --unset=v",
                                           "env -v",
                                           "env PATH=/usr/bin",
                                           "env -u PATH",
                                           "env -i PATH=/usr/bin",
                                           "env LD_PRELOAD=./c",
                                           "env --ignore-environment"};
    static constexpr const char* kXargs[] = {"xargs",
                                             "xargs",
                                             "xargs -n 1",
                                             "xargs -n1",
                                             "xargs -0",
                                             "xargs -r",
                                             "xargs -I{}",
                                             "xargs -I %",
                                             "xargs -t",
                                             "xargs -P 2",
                                             "xargs -L 1",
                                             "xargs -d '\\n'",
                                             "xargs -a a",
                                             "xargs --",
                                             "xargs -i",
                                             "xargs -l",
                                             "xargs --max-args=1",
                                             "xargs -e",
                                             "xargs --replace",
                                             "xargs -s 99",
                                             "xargs -x",
                                             "xargs -E a",
                                             "xargs --arg-file=s",
                                             "xargs --process-slot-var=x",
                                             "xargs -o",
                                             "xargs -p"};
    static constexpr const char* kOther[] = {"nice",
                                             "nice -n 1",
                                             "nice -1",
                                             "nice --adjustment=1",
                                             "timeout 5",
                                             "timeout -s KILL 5",
                                             "timeout --foreground 5",
                                             "timeout -k 1 5",
                                             "timeout 5s",
                                             "nohup",
                                             "setsid",
                                             "setsid -w",
                                             "stdbuf -oL",
                                             "stdbuf -o 0",
                                             "command",
                                             "command -p",
                                             "exec",
                                             "exec -a x",
                                             "exec -c",
                                             "sudo",
                                             "sudo -u root",
                                             "sudo v=1",
                                             "doas",
                                             "ssh-agent",
                                             "ssh-agent -t 5",
                                             "cmake -E env",
                                             "cmake -E env v=1",
                                             "cmake -E time",
                                             "busybox",
                                             "npx",
                                             "fakeroot",
                                             "time",
                                             "time -p",
                                             "builtin",
                                             "sudo -n",
                                             "timeout --signal=KILL 5",
                                             "timeout -v 5",
                                             "nice --",
                                             "nohup --",
                                             "setsid -f",
                                             "stdbuf --output=0",
                                             "exec --",
                                             "command --",
                                             "cmake -E env --unset=v",
                                             "!"};
    static constexpr const char* kFind[] = {
        " {} \\;", " {} +",   " \\;", " {} ';'", " a \\;", " {} \\; -print", " {} \\; -exec foo {} +",
        "/{} \\;", " x{} \\;"};
    static constexpr const char* kGit[] = {"git -c alias.x='!foo' x",
                                           "git bisect run foo",
                                           "git submodule foreach foo",
                                           "git rebase -x foo",
                                           "git rebase --exec=foo",
                                           "git -C d status",
                                           "git --no-pager log",
                                           "git push origin main",
                                           "git -c user.name=a commit -m b",
                                           "git commit -am 'x y'",
                                           "git log -1",
                                           "git stash",
                                           "git rebase --exec foo main",
                                           "git submodule update"};
    static constexpr const char* kSqlite[] = {"sqlite3 n '.shell foo'",
                                              "sqlite3 -cmd '.shell foo' n",
                                              "echo '.shell foo' | sqlite3",
                                              "sqlite3 n 'select 1'",
                                              "sqlite3 n < s",
                                              "sqlite3 n '.system foo'",
                                              "sqlite3 n <<'EOF'\n.shell foo\nEOF",
                                              "sqlite3 -init s n",
                                              "sqlite3 n <<< '.shell foo'"};
    switch (below(18)) {
      case 17: return hidden();
      case 0:
      case 1: return of(kEnv) + " " + behind();
      case 2:
      case 3:
        return (one_in(3) ? "ls | " : "echo " + plain_word() + " | ") + of(kXargs) + " " + behind() +
               (one_in(5) ? " {}" : "");
      case 4:
        return (one_in(2) ? "find " + folder() : "find d") + (one_in(3) ? " -name x" : "") +
               (one_in(4) ? " -execdir " : " -exec ") + behind() + of(kFind);
      case 5:
      case 6:
      case 7: return of(kOther) + " " + behind();
      case 8: return "sh -c " + quoted(text());
      case 9: return "bash -c " + quoted(text());
      case 10:
        return (one_in(2) ? "bash " : "sh ") + std::string(one_in(2) ? "-ec " : "-xc ") + quoted(text()) + words(2);
      case 11: return "sh -c \"" + program() + words(1) + "\"";
      case 12: return of(kGit);
      case 13: return of(kSqlite);
      case 14: return strange_launch();
      case 15: return of(kOther) + " " + of(kOther) + " " + behind();
      default: return "echo " + quoted(program()) + " | " + (one_in(2) ? "cat | " : "") + (one_in(2) ? "sh" : "foo");
    }
  }
  // A quoted variable is the word that decides what runs: the end of a command of find, or a subcommand.
  std::string hidden() {
    static constexpr const char* kValues[] = {"';'", "+", "'{}'", "a", "run", "-delete", "tool", "exec"};
    static constexpr const char* kWords[] = {"\"$y\"",  "\"$y\"",  "$y",        "\"${y}\"",
                                             "\";$y\"", "\"a$y\"", "{} \"$y\"", "\"$1\""};
    static constexpr const char* kActions[] = {" -delete",        " -fprint n1",      " -exec foo \\;",
                                               " -exec true \\;", " -exec rm {} \\;", " -exec touch n1 \\;"};
    static constexpr const char* kLaunchers[] = {"uv",       "uv -q",  "uv tool", "uv tool -q",      "uv -q tool",
                                                 "npm exec", "npm -s", "npm",     "npm --silent exe"};
    const std::string value = of(kValues);
    std::string out = one_in(4) ? "set -- " + value + "; " : "y=" + value + "; ";
    if (one_in(2)) return out + of(kLaunchers) + " " + (one_in(3) ? "" : of(kWords) + " ") + behind();
    out += "find " + std::string(one_in(2) ? "d" : "free") + (one_in(5) ? " -execdir " : " -exec ");
    out += std::string(one_in(2) ? "true " : "foo ") + of(kWords) + (one_in(3) ? " +" : "");
    out += of(kActions);
    return out + (one_in(2) ? " -exec true \\;" : one_in(3) ? "" : " \\;");
  }
  std::string behind() {
    if (one_in(8)) return "sh -c " + quoted(text());
    return one_in(3) ? writer() : program() + words(1);
  }
  std::string text() { return one_in(3) ? list(0) : one_in(2) ? writer() : program() + words(1); }
  std::string strange_launch() {
    static constexpr const char* kForms[] = {"eval foo",
                                             "eval 'foo; bar'",
                                             "eval \"$(echo foo)\"",
                                             "trap foo EXIT",
                                             "trap 'touch n1' EXIT",
                                             "echo foo | sh",
                                             "sh < s",
                                             "bash s",
                                             "sh s",
                                             ". ./s",
                                             "source ./s",
                                             "sh <<< foo",
                                             "sh <<EOF\nfoo\nEOF",
                                             "bash -s < s",
                                             "env -S 'foo a'",
                                             "env sh -c foo",
                                             "sh -c '$0' foo",
                                             "sh -c '\"$@\"' _ foo",
                                             "bash -c foo bar",
                                             "bash -c 'cd d; touch n'",
                                             "find d -ok foo \\;",
                                             "find d -exec sh -c 'foo \"$1\"' _ {} \\;",
                                             "echo foo | xargs -I{} {}",
                                             "echo foo | xargs",
                                             "echo foo | xargs env",
                                             "echo a | xargs -I{} sh -c 'foo {}'",
                                             "zsh -c foo",
                                             "dash -c foo",
                                             "zsh -c 'foo; bar'",
                                             "bash -lc foo",
                                             "bash --norc -c foo",
                                             "sh -s foo < s",
                                             "sh -",
                                             "sh -c",
                                             "bash -O extglob -c foo",
                                             "bash +x -c foo",
                                             "bash --rcfile s -ic foo",
                                             "echo s | xargs sh",
                                             "echo a b | xargs -n 1 touch",
                                             "ls | xargs rm",
                                             "find . -name x | xargs rm",
                                             "find d -exec mv {} n \\;",
                                             "find d -exec cp {} /tmp \\;",
                                             "env -C d touch n",
                                             "command -v foo",
                                             "command -V foo",
                                             "type foo",
                                             "exec 3>n",
                                             "exec >n; echo a",
                                             "exec 3>n; echo a >&3",
                                             "{ foo; } > n",
                                             "(foo) > n",
                                             "time touch n",
                                             "! touch n",
                                             "touch n &",
                                             "nohup touch n",
                                             "printf 'foo\\n' > n; sh n",
                                             "cp s n && sh n",
                                             "alias foo=bar; foo",
                                             "alias foo='bar '\nfoo",
                                             "foo() { bar; }; foo",
                                             "ls() { bar; }; ls",
                                             "function foo { bar; }; foo",
                                             "foo() { touch n; }; foo",
                                             "unset -f foo; foo",
                                             "set -- foo; \"$@\"",
                                             "set -e; no; foo",
                                             "read y <<< foo; $y",
                                             "y=foo; $y",
                                             "y=foo sh -c '$y'",
                                             "export y=foo; sh -c '$y'",
                                             "x=touch; $x n",
                                             "for y in foo bar; do $y; done",
                                             "coproc foo",
                                             "coproc { foo; }",
                                             "select y in a; do foo; break; done <<< 1",
                                             "for ((i=0;i<2;i++)); do foo; done",
                                             "repeat 2 foo",
                                             "case a in a) foo;; esac",
                                             "case $x in rm) foo;; *) bar;; esac",
                                             "case a in (a) foo;; esac",
                                             "echo \"$(case a in a) foo;; esac)\"",
                                             "echo \"$(case a in a) echo foo;; es\\\nac | sh)\"",
                                             "i\\\nf true; then foo; fi",
                                             "if true; th\\\nen foo; fi",
                                             "wh\\\nile no; do :; done",
                                             "f\\\noo",
                                             "[[ a == a ]] && foo",
                                             "[[ a =~ (a) ]] && foo",
                                             "((1)) && foo",
                                             "(( $(foo; echo 1) ))",
                                             "let 'y=1'; foo",
                                             "v=(foo bar); ${v[0]}",
                                             "v=(foo); \"${v[@]}\"",
                                             "declare -a v=(foo); foo",
                                             "shopt -s extglob; touch @(a|b)",
                                             "echo @(a|b)",
                                             "setopt extendedglob; touch ^a",
                                             "touch a{1,2}",
                                             "touch {n,d/n}",
                                             "echo > /dev/tcp/localhost/1",
                                             "cat < /dev/tcp/localhost/1",
                                             "exec 3<>/dev/tcp/localhost/1",
                                             "while foo; do break; done",
                                             "until no; do foo; break; done",
                                             "while read -r y; do foo \"$y\"; done < a",
                                             "for y in *; do touch \"$y.o\"; done",
                                             "if foo; then bar; fi",
                                             "if no; then foo; else touch n; fi",
                                             "for y in a b; do echo $y; done > n",
                                             "while no; do :; done; foo",
                                             "{ foo; bar; }",
                                             "( foo; bar )",
                                             "{ touch n1; } && bar",
                                             "(cd d && touch n)",
                                             "(cd d; touch n); touch m",
                                             "{ cd d; }; touch n",
                                             "if cd d; then touch n; fi; touch m",
                                             "for y in d; do cd $y; touch n; done",
                                             "while cd d; do touch n; break; done",
                                             "cd d && for y in 1; do touch n; done",
                                             "sh -c 'cd d'; touch n",
                                             "echo $(cd d; touch n); touch m",
                                             "umask 077; touch n",
                                             "set -f; touch *",
                                             "set -n; foo",
                                             "set -o noglob; touch *",
                                             "ulimit -f 0; touch n",
                                             "hash -p /usr/bin/foo bar; bar",
                                             "enable -n test; test a",
                                             "set -k; foo v=1",
                                             "IFS=o; y=foo; $y",
                                             "readonly PATH; foo",
                                             "tar --to-command=foo -xf a",
                                             "tar -cf n a",
                                             "rg --pre foo a",
                                             "curl -o n a",
                                             "npm run foo",
                                             "make -f s",
                                             "make -C d",
                                             "perl -e foo",
                                             "node -e foo",
                                             "python3 -c 'foo'",
                                             "kubectl get",
                                             "PAGER=cat git log"};
    return of(kForms);
  }

  std::string here_document() {
    static constexpr const char* kMarks[] = {"EOF",   "'EOF'",   "'EOF'", "\"EOF\"", "\\EOF", "E\"O\"F", "$x",
                                             "'E F'", "EO\\\nF", "''",    "-EOF",    "EOF;",  "`x`",     "$(x)",
                                             "'EOF",  "$'EOF'",  "EOF\\", "{EOF}",   "E*F",   "#EOF"};
    static constexpr const char* kBodies[] = {
        "foo",  "text", "$x",           "a b",   "rm",   "$(foo)", "`bar`",   "\\$(foo)", "a\\\nEOF", "EO\\\nF",
        " EOF", "EOF ", "\tEOF",        "'",     "${x}", "$((1))", "\"$(ls)", "EOF)",     "EOFx",     "\\",
        "",     "\t",   "${y:-$(foo)}", "$(foo", "# a",  "\\\nEOF"};
    const bool strips = one_in(8);
    const bool plain = rarity_ == 0 && !one_in(10);
    const std::string mark = plain ? (one_in(2) ? "'EOF'" : "EOF") : of(kMarks);
    std::string out = (one_in(2)   ? "cat"
                       : one_in(2) ? "tee n1"
                                   : program()) +
                      " <<" + (strips ? "-" : "") + (one_in(3) ? " " : "") + mark;
    if (one_in(3)) out += " > " + file();
    if (one_in(5)) out += " | " + program();
    if (one_in(6)) out += one_in(2) ? " ; " + program() : " && " + writer();
    out += "\n";
    for (std::size_t count = below(3); count > 0; --count) {
      const std::size_t first = plain ? 4 : std::size(kBodies);
      out += std::string(kBodies[below(first)]) + "\n";
    }
    return out + (strips ? "\t" : "") + "EOF" + (one_in(20) ? "" : "\n") + (one_in(2) ? program() : "");
  }

  std::string command(std::size_t depth) {
    if (depth == 0 || one_in(2)) return simple();
    switch (below(12)) {
      case 0: return "(" + list(depth - 1) + ")";
      case 1: return "( " + list(depth - 1) + "\n)";
      case 2: return "{ " + list(depth - 1) + "; }";
      case 3: return "(" + list(depth - 1) + ") " + redirection();
      case 4: return "{ " + list(depth - 1) + "; } " + redirection();
      case 5: return "! " + simple();
      default: break;
    }
    if (one_in(4) && !trick()) return simple();
    switch (below(16)) {
      case 0: return "if " + list(depth - 1) + "; then " + list(depth - 1) + "; else " + list(depth - 1) + "; fi";
      case 1: return "if " + list(depth - 1) + "\nthen\n" + list(depth - 1) + "\nelif no; then " + program() + "\nfi";
      case 2: return "while no; do " + list(depth - 1) + "; done";
      case 3: return "until " + list(depth - 1) + "; do break; done";
      case 4: return "for v in a " + word() + "; do " + list(depth - 1) + "; done";
      case 5: return "for v in $(ls) b\ndo\n" + list(depth - 1) + "\ndone";
      case 6: return "case " + word() + " in a) " + list(depth - 1) + ";; b|*) " + list(depth - 1) + " ;; esac";
      case 7: return "case a in (a) " + program() + " ;;& *) " + program() + "\nesac";
      case 8: return "fn() { " + list(depth - 1) + "; }; fn";
      case 9: return "[[ a == " + word() + " ]] && " + program();
      case 10: return "[ \"$x\" = a ] || " + program();
      case 11: return strange_launch();
      case 12: return "for v in *; do " + writer() + "; done";
      case 13: return "while read -r v; do " + writer() + "; done < a";
      case 14: return "if [ -f a ]; then " + list(depth - 1) + "; fi";
      default: return "for v in 1 2; do " + list(depth - 1) + "; done";
    }
  }
  std::string list(std::size_t depth) {
    static constexpr const char* kJoints[] = {"; ", "; ", " && ", " && ", "\n",    " || ", " | ",     " & ", ";",
                                              "&&", "||", "|",    "\n\n", " &&\n", " |\n", "; # c\n", " ;\n"};
    static constexpr const char* kStrange[] = {" |& ",   "\\\n;",   "&|",   "&!",       ";;",   " &\\\n& ",
                                               "|\\\n|", ";\\\n",   "; ;",  "&;",       "\r\n", "&&\n\n",
                                               "|# c\n", "\\\n&& ", "\n; ", "||\n# c\n"};
    std::string out = command(depth);
    for (std::size_t count = depth == 0 ? below(5) / 3 : below(5) / 2; count > 0; --count)
      out += (trick() ? of(kStrange) : of(kJoints)) + command(depth);
    return out;
  }

  Random& random_;
  std::size_t rarity_ = 0;   // one in so many choices is a trick; 0: none
  bool only_known_ = false;  // only programs of which it is known what they write
};

// --- damage -------------------------------------------------------------------------------------------------------------

constexpr const char* kBits[] = {
    "'", "\"", "\\", "\n",   ";",    "&",       "|",     "<",    ">",  "(",  ")",  "{",  "}",       "$",    "`",
    "#", " ",  "\t", "!",    "=",    "~",       "*",     "\\\n", "<<", "$(", "${", "$'", "2",       "[",    "]",
    ",", "-",  "\r", "\"$(", " rm ", "\nfoo\n", ";bar ", "&>",   ">&", "<(", "((", "))", "\nEOF\n", "EOF)", "^",
    "%", "+",  ":",  "@",    "?",    "/",       ".",     "..",   "--", "\"", "'",  "\\", "\n",      " "};

void damage_character(std::string& line, Random& random) {
  const std::size_t at = random.below(line.size() + 1);
  const char* bit = kBits[random.below(std::size(kBits))];
  switch (random.below(5)) {
    case 0:
      if (at < line.size()) line.erase(at, 1);
      break;
    case 1:
      if (at < line.size()) line.replace(at, 1, bit);
      break;
    case 2:
      if (at + 1 < line.size()) std::swap(line[at], line[at + 1]);
      break;
    default: line.insert(at, bit);
  }
}

// Where words and operators begin, roughly.
std::vector<std::size_t> borders(const std::string& line) {
  std::vector<std::size_t> out{0};
  for (std::size_t at = 1; at < line.size(); ++at) {
    const auto kind = [](char c) { return std::string_view(" \t\n;&|<>()").find(c) == std::string_view::npos; };
    if (kind(line[at - 1]) != kind(line[at])) out.push_back(at);
  }
  out.push_back(line.size());
  return out;
}

void damage_token(std::string& line, Random& random) {
  const std::vector<std::size_t> at = borders(line);
  const std::size_t from = random.below(at.size() - 1), other = random.below(at.size() - 1);
  const std::string token = line.substr(at[from], at[from + 1] - at[from]);
  switch (random.below(4)) {
    case 0: line.erase(at[from], token.size()); break;
    case 1: line.insert(at[other], token); break;
    case 2: line.insert(at[other], " " + token + " "); break;
    default: line.insert(at[from], kBits[random.below(std::size(kBits))]);
  }
}

}  // namespace

std::string drawn_line(std::uint64_t seed, std::uint64_t index) {
  Random random(seed, index);
  std::string line = Drawing(random).line();
  switch (random.below(8)) {
    case 0:
      for (std::size_t count = 1 + random.below(3); count > 0; --count) damage_character(line, random);
      break;
    case 1:
      for (std::size_t count = 1 + random.below(2); count > 0; --count) damage_token(line, random);
      break;
    case 2: {
      // The beginning of one line and the end of another.
      const std::string other = Drawing(random).line();
      const std::vector<std::size_t> here = borders(line), there = borders(other);
      line = line.substr(0, here[random.below(here.size())]) + other.substr(there[random.below(there.size())]);
      break;
    }
    default: break;
  }
  std::erase(line, '\0');
  return line;
}

}  // namespace baton::shell
