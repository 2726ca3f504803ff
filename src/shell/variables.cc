// SPDX-License-Identifier: Apache-2.0
#include "shell/variables.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/text.h"
#include "shell/programs.h"

namespace baton::shell {

namespace {

// One line for each kind of program.
constexpr std::string_view kNames =
    // shells
    "PATH ENV BASH_ENV SHELL SHELLOPTS BASHOPTS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH FPATH ZDOTDIR HOME "
    "OLDPWD PWD "
    "GLOBIGNORE EXECIGNORE HISTFILE INPUTRC BASH_COMPAT BASH_XTRACEFD POSIXLY_CORRECT MODULE_PATH module_path path "
    "fpath cdpath "
    "prompt PROMPT RPROMPT NULLCMD READNULLCMD COMMAND_NOT_FOUND_HANDLE FCEDIT TMPPREFIX "
    // names of programs for bash, the name that zsh calls a program by, the characters that begin a comment
    "BASH_CMDS BASH_ALIASES ARGV0 histchars HISTCHARS "
    // the C library and the loader
    "GCONV_PATH LOCPATH NLSPATH HOSTALIASES RES_OPTIONS LOCALDOMAIN GETCONF_DIR MALLOC_TRACE TZDIR TERMINFO "
    "TERMINFO_DIRS TERMCAP "
    "GLIBC_TUNABLES "
    // programs that other programs start
    "BROWSER LESSOPEN LESSCLOSE LESS LESSKEY LESSKEYIN MORE MANOPT MANROFFOPT SSH_ASKPASS SUDO_ASKPASS SSH_AUTH_SOCK "
    "GPG_AGENT_INFO "
    "VISUAL EDITOR PAGER MAILER MAILRC XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR "
    "DBUS_SESSION_BUS_ADDRESS XAUTHORITY NOTIFY_SOCKET "
    // interpreters
    "PYTHONSTARTUP PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONINSPECT PYTHONEXECUTABLE PYTHONPLATLIBDIR "
    "PYTHONBREAKPOINT "
    "PYTHONWARNINGS PYTHONCASEOK PYTHONPYCACHEPREFIX PERL5OPT PERL5LIB PERLLIB PERL5DB PERL5SHELL PERLIO RUBYOPT "
    "RUBYLIB RUBYPATH "
    "RUBYSHELL GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLE_PATH NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS "
    "NODE_REPL_EXTERNAL_MODULE "
    "STTY HOSTCC HOSTCXX CUDACXX GOCACHEPROG SSH_SK_HELPER GST_PLUGIN_SCANNER GDK_PIXBUF_MODULE_FILE ODBCSYSINI "
    "ODBCINI "
    "DENO_DIR BUN_OPTIONS LUA_INIT LUA_PATH LUA_CPATH TCLLIBPATH TCL_LIBRARY TK_LIBRARY PHPRC PHP_INI_SCAN_DIR R_HOME "
    "R_PROFILE R_TESTS R_DEFAULT_PACKAGES MIX_EXS RUBYGEMS_GEMDEPS TS_NODE_PROJECT "
    "R_PROFILE_USER R_ENVIRON R_ENVIRON_USER R_LIBS R_LIBS_USER JULIA_LOAD_PATH JULIA_DEPOT_PATH JULIA_PROJECT "
    "OCTAVE_PATH GUILE_LOAD_PATH "
    "GUILE_LOAD_COMPILED_PATH EMACSLOADPATH EMACSDATA ERL_LIBS ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS "
    "AWKPATH AWKLIBPATH "
    "VIMINIT GVIMINIT EXINIT VIM VIMRUNTIME MYVIMRC NVIM_APPNAME "
    "CLASSPATH JAVA_HOME JAVA_OPTS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JAVACMD MAVEN_OPTS MAVEN_ARGS "
    "MAVEN_CONFIG GRADLE_OPTS "
    "GRADLE_USER_HOME ANT_OPTS ANT_ARGS SBT_OPTS SCALA_HOME KOTLIN_HOME DOTNET_STARTUP_HOOKS DOTNET_ROOT "
    "CORECLR_PROFILER "
    "CORECLR_ENABLE_PROFILING CORECLR_PROFILER_PATH COMPlus_AltJit MONO_PATH "
    // building
    "MAKEFILES MAKEFLAGS GNUMAKEFLAGS MFLAGS MAKE MAKEINFO OUTPUT_OPTION TARGET_ARCH TARGET_MACH LOADLIBES OBJC "
    "CHECKOUT CC CXX CPP LD AR AS NM RANLIB STRIP OBJCOPY OBJDUMP FC F77 "
    "RC WINDRES YACC LEX "
    "CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LDLIBS ARFLAGS ASFLAGS FFLAGS GCC_EXEC_PREFIX COMPILER_PATH LIBRARY_PATH CPATH "
    "C_INCLUDE_PATH "
    "CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH CCC_OVERRIDE_OPTIONS PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR "
    "CMAKE_TOOLCHAIN_FILE "
    "CMAKE_PREFIX_PATH CMAKE_GENERATOR CMAKE_PROGRAM_PATH CMAKE_MODULE_PATH ACLOCAL_PATH AUTOM4TE AUTOCONF AUTOMAKE M4 "
    "M4PATH LIBTOOL BISON_PKGDATADIR CONFIG_SITE CONFIG_SHELL RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC "
    "RUSTFLAGS RUSTDOCFLAGS "
    "CARGO CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN GOFLAGS GOPATH GOROOT GOENV GOTOOLDIR GOPROXY GOTOOLCHAIN GOVCS "
    "GOAUTH CGO_CFLAGS CGO_LDFLAGS "
    "CCACHE_PREFIX CCACHE_PREFIX_CPP CCACHE_COMPILER CCACHE_PATH CCACHE_CONFIGPATH DISTCC_HOSTS SCCACHE_CONF "
    // programs of make's own rules
    "RM CO GET LINT TANGLE CTANGLE WEAVE CWEAVE TEX TEXI2DVI PC M2C "
    "PIP_CONFIG_FILE PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_REQUIRE_VIRTUALENV UV_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL "
    "UV_CONFIG_FILE VIRTUAL_ENV "
    "CONDA_EXE CONDA_PREFIX PIPENV_PIPFILE POETRY_HOME NPM_CONFIG_PREFIX COREPACK_HOME YARN_RC_FILENAME "
    // operations
    "KUBECONFIG KUBE_EDITOR KUBECTL_EXTERNAL_DIFF HELM_PLUGINS HELM_CONFIG_HOME DOCKER_CONFIG DOCKER_HOST "
    "DOCKER_CONTEXT DOCKER_CLI_PLUGIN_EXTRA_DIRS "
    "BUILDKIT_HOST COMPOSE_FILE CONTAINERS_CONF AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE CLOUDSDK_CONFIG "
    "CLOUDSDK_PYTHON "
    "CLOUDSDK_PYTHON_ARGS AZURE_CONFIG_DIR AZURE_EXTENSION_DIR TF_CLI_CONFIG_FILE TERRAFORM_CONFIG TF_PLUGIN_CACHE_DIR "
    "TF_CLI_ARGS "
    "ANSIBLE_CONFIG ANSIBLE_LIBRARY VAGRANT_VAGRANTFILE VAGRANT_CWD PACKER_PLUGIN_PATH PULUMI_HOME GH_CONFIG_DIR "
    "GH_PATH HUB_CONFIG "
    // files and networks
    "TAR_OPTIONS TAPE RSYNC_RSH RSYNC_CONNECT_PROG RSYNC_PROXY CVS_RSH CVSEDITOR SVN_SSH SVN_EDITOR HGRCPATH HGEDITOR "
    "HGMERGE BZR_HOME "
    "ZIPOPT UNZIP ZIP GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS GREP_OPTIONS RIPGREP_CONFIG_PATH FZF_DEFAULT_COMMAND "
    "FZF_DEFAULT_OPTS "
    "BAT_CONFIG_PATH OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSL_CERT_FILE SSL_CERT_DIR CURL_HOME CURL_CA_BUNDLE "
    "WGETRC SYSTEM_WGETRC ODBCINSTINI OPENSSL_CONF_INCLUDE GST_REGISTRY CLOUDSDK_GSUTIL_PYTHON CLOUDSDK_BQ_PYTHON "
    "TF_DATA_DIR TF_REATTACH_PROVIDERS shell_escape shell_escape_commands openout_any "
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NETRC PGSERVICEFILE "
    "PGSYSCONFDIR PSQLRC PSQL_EDITOR "
    "PSQL_PAGER MYSQL_HOME MYSQL_TEST_LOGIN_FILE SQLITE_HISTORY GNUPGHOME GNUPLOT_LIB MAGIC MAGICK_CONFIGURE_PATH "
    "GS_LIB GS_OPTIONS TEXINPUTS "
    "TEXMFHOME TEXMFCNF TEXMFCONFIG GROFF_FONT_PATH GROFF_COMMAND_PREFIX SASL_PATH KRB5_CONFIG GIO_EXTRA_MODULES "
    "GTK_MODULES GTK_PATH "
    "QT_PLUGIN_PATH QT_QPA_PLATFORM_PLUGIN_PATH LADSPA_PATH FONTCONFIG_FILE VDPAU_DRIVER LIBVA_DRIVERS_PATH "
    // debuggers and tests
    "GDBHISTFILE VALGRIND_OPTS VALGRIND_LIB STRACE_OPTS ASAN_OPTIONS ASAN_SYMBOLIZER_PATH PYTEST_ADDOPTS "
    "PYTEST_PLUGINS TOX_ENV "
    "PYLINTRC IRBRC PRYRC RAKEOPT COMPOSER PHP_BINARY FLASK_APP UV_PYTHON OMP_TOOL_LIBRARIES VK_ICD_FILENAMES "
    "VK_DRIVER_FILES __EGL_VENDOR_LIBRARY_FILENAMES OCL_ICD_VENDORS MAVEN_PROJECTBASEDIR RPM_CONFIGDIR STACK_YAML "
    "COVERAGE_PROCESS_START PROVE HARNESS_PERL HARNESS_PERL_SWITCHES JEST_CONFIG MOCHA_OPTIONS WATCH_EXEC "
    "PRE_COMMIT_HOME "
    // Baton itself
    "BATON BATON_HOME BATON_STORE BATON_TOKEN BATON_IN_PROCESS ";

constexpr std::array kPrefixes = {"LD_",
                                  "DYLD_",
                                  "BASH_FUNC_",
                                  "CARGO_CREDENTIAL_",
                                  "YARN_",
                                  "PNPM_",
                                  "CARGO_TARGET_",
                                  "CARGO_BUILD_",
                                  "CARGO_UNSTABLE_",
                                  "CARGO_ALIAS_",
                                  "PERL5",
                                  "LUA_",
                                  "PYTHON",
                                  "DOTNET_",
                                  "COMPlus_",
                                  "CORECLR_",
                                  "JAVA_",
                                  "MAKE_",
                                  "ANSIBLE_",
                                  "HELM_",
                                  "TF_CLI_",
                                  "BATON_",
                                  "CLAUDE_",
                                  "CODEX_",
                                  "GEMINI_",
                                  "COPILOT_",
                                  "OPENCODE_",
                                  "ANTHROPIC_",
                                  "OPENAI_"};

// Parameters that are numbers: what is assigned to them is calculated, and a subscript in it runs the commands that it holds.
constexpr std::string_view kNumbers =
    "RANDOM SRANDOM SECONDS OPTIND HISTCMD COLUMNS LINES HISTSIZE SAVEHIST SHLVL UID EUID GID EGID PPID FUNCNEST ERRNO "
    "MAILCHECK KEYTIMEOUT LISTMAX TMOUT LINENO BASHPID TRY_BLOCK_ERROR TRY_BLOCK_INTERRUPT TTYIDLE BAUD "
    "DIRSTACKSIZE LOGCHECK REPORTTIME";

// How programs call the variables that they load code or settings by. Of a variable that only the shell has they say nothing.
constexpr std::array kSuffixes = {
    "PATH",      "OPTIONS", "OPTS",     "_OPT",    "FLAGS",     "ARGS",       "CONFIG",     "_CONF",      "_CFG",
    "_RC",       "_HOME",   "_INIT",    "PRELOAD", "PLUGIN",    "PLUGINS",    "_LIB",       "_LIBS",      "LIBRARY",
    "_COMMAND",  "_CMD",    "_SHELL",   "_EXEC",   "WRAPPER",   "LAUNCHER",   "ASKPASS",    "LOADER",     "MODULE",
    "MODULES",   "STARTUP", "HOOK",     "HOOKS",   "_RSH",      "_SSH",       "BROWSER",    "_PROXY",     "_proxy",
    "_EDITOR",   "PAGER",   "_PROGRAM", "_BIN",    "SCRIPT",    "_SCRIPTS",   "COMPILER",   "LINKER",     "_RUNNER",
    "TOOLCHAIN", "_AGENT",  "_ENGINE",  "_HELPER", "_PROVIDER", "MODULE_DIR", "PLUGIN_DIR", "MODULE_FILE"};

bool is_known_locale(const Word& value) {
  if (!value.is_literal()) return false;
  const std::string name = to_lower_ascii(value.text);
  return name.empty() || name == "c" || name == "posix" || name == "en" || name.ends_with(".utf-8") ||
         name.ends_with(".utf8");
}

const std::unordered_set<std::string_view>& names() {
  static const auto* const all = [] {
    auto* out = new std::unordered_set<std::string_view>;
    for (const std::string_view one : split(kNames, ' '))
      if (!one.empty()) out->insert(one);
    return out;
  }();
  return *all;
}

}  // namespace

bool steers_execution(std::string_view variable, const Word* value) {
  if (variable.ends_with("PAGER") || variable.ends_with("EDITOR") || variable == "VISUAL")
    return value == nullptr || !(value->is("") || value->is("cat") || value->is("true") || value->is(":"));
  if (variable == "IFS") return value == nullptr || !value->is("");  // `while IFS= read -r line`
  if (is_listed(kNumbers, variable))
    return value == nullptr || !value->is_literal() || !std::ranges::all_of(value->text, is_digit);
  if (variable.starts_with("LC_") || variable == "LANG" || variable == "LANGUAGE")  // how bytes are read
    return value == nullptr || !is_known_locale(*value);
  if (names().contains(variable)) return true;
  if (variable.starts_with("GIT_"))
    return !variable.starts_with("GIT_AUTHOR_") && !variable.starts_with("GIT_COMMITTER_") &&
           variable != "GIT_TERMINAL_PROMPT" && variable != "GIT_OPTIONAL_LOCKS";
  // Python's switches that take no path.
  for (const char* harmless :
       {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8"})
    if (variable == harmless) return false;
  // npm reads its settings in any case.
  if (to_lower_ascii(variable).starts_with("npm_config_")) return true;
  return std::ranges::any_of(kPrefixes, [&](const char* one) { return variable.starts_with(one); });
}

bool steers_programs(std::string_view variable, const Word* value) {
  if (steers_execution(variable, value)) return true;
  if (variable == "GO111MODULE") return false;                                    // on or off
  if (variable.find_first_of(".,") != variable.npos) return true;                 // of make: `COMPILE.c`, `.SHELLFLAGS`
  if (variable.ends_with("PAGER") || variable.ends_with("EDITOR")) return false;  // judged by its value above
  return std::ranges::any_of(kSuffixes, [&](const char* one) { return variable.ends_with(one); });
}

}  // namespace baton::shell
