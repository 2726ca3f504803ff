// SPDX-License-Identifier: Apache-2.0
#include "shell/programs.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "shell/reader.h"

namespace baton::shell {

namespace {

constexpr std::string_view kAny = "*";
constexpr std::string_view kTarget = "target-directory";
constexpr std::string_view kSums = "binary check tag text zero ignore-missing quiet status strict warn version help";

constexpr Program kPrograms[] = {
    // --- builtins of shells that neither write nor run anything by themselves; those with readers of their own are in look.cc
    {.names = ": true false echo printf test [ pwd type cd chdir pushd popd dirs export unset set shopt read wait exit "
              "return break "
              "continue shift local readonly trap umask ulimit jobs fg bg kill times getopts disown",
     .writes = Writes::Nothing,
     .flags = kAny},

    // --- launchers: the program behind them is listed too
    {.names = "env",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "i0v",
     .values = "u",
     .long_flags = "ignore-environment null debug",
     .long_values = "unset",
     .takes_assignments = true},
    {.names = "sudo",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "nEHSkKAbPB",
     .values = "ugpCTrtU",
     .long_flags = "non-interactive preserve-env set-home stdin reset-timestamp background askpass",
     .long_values = "user group prompt",
     .takes_assignments = true},
    {.names = "doas", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "n", .values = "u"},
    {.names = "nohup builtin busybox toybox fakeroot catchsegv eatmydata sccache distcc",
     .runs = Runs::Rest,
     .writes = Writes::Nothing},
    {.names = "ccache", .runs = Runs::Rest, .writes = Writes::Nothing, .takes_assignments = true},
    {.names = "bunx pnpx uvx dnx xcrun", .runs = Runs::Rest},
    {.names = "setsid", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "cfw", .long_flags = "ctty fork wait"},
    {.names = "nice gnice",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "0123456789",
     .values = "n",
     .long_values = "adjustment"},
    {.names = "ionice",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "t",
     .values = "cn",
     .long_flags = "ignore",
     .long_values = "class classdata"},
    {.names = "stdbuf gstdbuf",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .values = "ioe",
     .long_values = "input output error"},
    {.names = "timeout gtimeout",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "v",
     .values = "sk",
     .long_flags = "preserve-status foreground verbose",
     .long_values = "signal kill-after",
     .operands = 1},
    {.names = "time gtime",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "pv",
     .values = "f",
     .long_flags = "portability verbose",
     .long_values = "format"},
    {.names = "command", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "p"},
    {.names = "exec", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "cl", .values = "a"},
    {.names = "xargs",
     .runs = Runs::Rest,
     .writes = Writes::Nothing,
     .flags = "0rtxpo",
     .values = "InPLdEsa",
     .long_flags = "null no-run-if-empty verbose exit interactive open-tty",
     .long_values = "max-args max-procs delimiter arg-file max-chars"},
    {.names = "unbuffer", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "p"},
    {.names = "caffeinate", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "dimsu", .values = "tw"},
    {.names = "chronic", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "ev"},
    {.names = "ifne", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "n"},
    {.names = "ssh-agent", .runs = Runs::Rest, .flags = "csDd", .values = "aEOPt"},
    {.names = "dbus-run-session", .runs = Runs::Rest},
    {.names = "cross-env", .runs = Runs::Rest, .takes_assignments = true},
    {.names = "npx", .runs = Runs::Rest, .flags = "y", .long_flags = "yes"},
    {.names = "pipx", .runs = Runs::Rest, .operands = 1},
    {.names = "xvfb-run", .runs = Runs::Rest, .writes = Writes::Nothing, .flags = "a", .long_flags = "auto-servernum"},

    // --- shells
    {.names = "sh bash dash ash zsh rbash rzsh", .runs = Runs::Shell, .writes = Writes::Nothing},

    // --- run or load what they are given in a way of their own: opaque
    {.names = "eval source . alias unalias hash rehash enable disable bind bindkey complete compgen compopt compctl fc "
              "zregexparse private getln pushln bye run-help which-command "
              "history coproc let "
              "mapfile readarray repeat noglob nocorrect foreach setopt unsetopt emulate zmodload autoload zle sched "
              "functions "
              "unfunction unhash - declare typeset integer float vared zargs zmv ztcp zsocket zparseopts zstyle "
              "zformat zcompile print "
              "whence logout suspend",
     .runs = Runs::Text},
    {.names = "su runuser ssh autossh mosh rsh rlogin sshpass script scriptlive scriptreplay watch parallel sem entr "
              "at batch "
              "crontab systemd-run "
              "systemd-inhibit systemd-nspawn machinectl run0 start-stop-daemon daemonize launchctl sudoedit visudo "
              "vipw vigr",
     .runs = Runs::Text},
    {.names =
         "chroot unshare nsenter setpriv uclampset uname26 flock taskset chrt numactl setarch linux32 linux64 i386 "
         "x86_64 arch "
         "proot bwrap firejail "
         "cgexec prlimit capsh runcon newgrp sg pkexec gosu su-exec tini dumb-init s6-setuidgid run-parts run-one "
         "lockrun "
         "torsocks torify proxychains proxychains4 direnv mise asdf faketime fakechroot choom setlocale runit "
         "runsv chpst envdir "
         "softlimit setuidgid multilog tsp ts-node-dev rlwrap ltrace-exec aws-vault chamber doppler op teller "
         "infisical sops "
         "env-cmd dotenv dotenvx foreman honcho overmind hyperfine watchexec nodemon concurrently npm-run-all "
         "run-s run-p wait-on "
         "start-server-and-test nix-shell nix guix devbox flatpak-spawn distrobox toolbox lxc-attach pexec rush "
         "xe pee vipe dpkg-architecture libtool "
         "logrotate mpirun mpiexec srun sbatch sandbox-exec systemd-cat dbus-launch openvt cttyhack switch_root tcpsvd "
         "udpsvd ttyd gotty asciinema xterm genv gnohup gxargs gchroot corepack",
     .runs = Runs::Text},
    {.names = "screen tmux expect dtach abduco zellij nvim vim vi view ex ed red vimdiff rvim emacs emacsclient nano "
              "pico joe mg micro helix hx kak "
              "gdb lldb strace ltrace dtrace bpftrace valgrind perf rr socat osascript xdg-open open less more most pg "
              "man info lynx w3m links "
              "mail mailx mutt ftp sftp lftp telnet smbclient duckdb litecli pgcli mycli usql ansible ansible-console "
              "gnuplot dc m4 mysql mariadb mysqlsh sqlplus tclsh wish expectk",
     .runs = Runs::Text},
    // ksh and its kind calculate where the three shells do not: `[ "$x" -eq 0 ]`.
    {.names = "ksh ksh93 mksh lksh oksh pdksh yash posh hush fish csh tcsh pwsh powershell cmd cmd.exe nu elvish xonsh "
              "rc es scsh wsl wsl.exe",
     .runs = Runs::Text},

    // --- with readers of their own
    {.names = "find gfind", .runs = Runs::Own, .writes = Writes::Own},
    {.names = "sed gsed", .runs = Runs::Own, .writes = Writes::Own},
    {.names = "awk gawk mawk nawk original-awk", .runs = Runs::Own, .writes = Writes::Own},
    {.names = "git", .runs = Runs::Own},
    {.names = "make gmake", .runs = Runs::Own},
    {.names = "cmake", .runs = Runs::Own},
    {.names = "sqlite3 psql", .runs = Runs::Own},
    {.names = "ip", .runs = Runs::Own},
    {.names = "dd", .writes = Writes::Own},

    // --- write their operands
    {.names = "rm",
     .writes = Writes::All,
     .flags = "dfiIrRv",
     .long_flags = "force interactive one-file-system no-preserve-root preserve-root recursive dir verbose"},
    {.names = "rmdir", .writes = Writes::All, .flags = "v", .long_flags = "ignore-fail-on-non-empty verbose"},
    {.names = "unlink", .writes = Writes::All},
    {.names = "shred",
     .writes = Writes::All,
     .flags = "fuvxz",
     .values = "ns",
     .long_flags = "force remove verbose exact zero",
     .long_values = "iterations size"},
    {.names = "mkdir",
     .writes = Writes::All,
     .flags = "pv",
     .values = "m",
     .long_flags = "parents verbose",
     .long_values = "mode"},
    {.names = "touch",
     .writes = Writes::All,
     .flags = "acfmh",
     .values = "drt",
     .long_flags = "no-create no-dereference",
     .long_values = "date reference time"},
    {.names = "truncate",
     .writes = Writes::All,
     .flags = "co",
     .values = "rs",
     .long_flags = "no-create io-blocks",
     .long_values = "reference size"},
    {.names = "tee", .writes = Writes::All, .flags = "aip", .long_flags = "append ignore-interrupts output-error"},
    {.names = "mkfifo", .writes = Writes::All, .values = "m", .long_values = "mode"},
    // -H and -L follow links out of the folder, so they are not listed.
    {.names = "chmod",
     .writes = Writes::AllButFirst,
     .flags = "Rcfv",
     .long_flags = "recursive changes silent quiet verbose no-preserve-root preserve-root",
     .long_values = "reference"},
    {.names = "chown chgrp",
     .writes = Writes::AllButFirst,
     .flags = "RcfvhP",
     .long_flags = "recursive changes silent quiet verbose no-dereference dereference no-preserve-root preserve-root",
     .long_values = "reference from"},
    // Options for backups are not listed: the backup is a further file.
    {.names = "mv",
     .writes = Writes::All,
     .flags = "finuvT",
     .values = "t",
     .long_flags = "force interactive no-clobber update verbose no-target-directory strip-trailing-slashes",
     .long_values = kTarget},
    {.names = "cp",
     .writes = Writes::Last,
     .flags = "adfHiLlnPpRrsuvxT",
     .values = "t",
     .long_flags = "archive attributes-only copy-contents force interactive link dereference no-clobber no-dereference "
                   "no-target-directory preserve parents recursive reflink remove-destination strip-trailing-slashes "
                   "symbolic-link update verbose one-file-system",
     .long_values = "target-directory no-preserve sparse"},
    {.names = "ln",
     .writes = Writes::Last,
     .flags = "sfinrvTPLdF",
     .values = "t",
     .long_flags =
         "symbolic force interactive no-dereference relative verbose no-target-directory physical logical directory",
     .long_values = kTarget},
    {.names = "install",
     .writes = Writes::Last,
     .flags = "CDcdpvT",
     .values = "gmot",
     .long_flags = "compare directory preserve-timestamps verbose no-target-directory",
     .long_values = "group mode owner target-directory",
     .long_running = "strip-program"},
    {.names = "uniq",
     .writes = Writes::Second,
     .flags = "cdDiuz0123456789",
     .values = "fsw",
     .long_flags = "count repeated all-repeated ignore-case unique zero-terminated group",
     .long_values = "skip-fields skip-chars check-chars"},
    {.names = "sort",
     .writes = Writes::Own,
     .flags = "bdfgiMhnRrVcCmsuz",
     .values = "kSto",
     .long_flags =
         "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort "
         "human-numeric-sort numeric-sort random-sort reverse version-sort check merge stable unique zero-terminated "
         "debug",
     .long_values = "key field-separator parallel buffer-size batch-size output files0-from sort random-source",
     .long_running = "compress-program"},

    // --- write nothing but what they print
    {.names = "ls dir vdir",
     .writes = Writes::Nothing,
     .flags = "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
     .values = "ITw",
     .long_flags =
         "all almost-all author escape ignore-backups directory dired full-time group-directories-first no-group "
         "human-readable si dereference-command-line dereference-command-line-symlink-to-dir inode kibibytes "
         "dereference "
         "numeric-uid-gid literal hide-control-chars show-control-chars quote-name reverse recursive size zero context "
         "file-type classify color hyperlink",
     .long_values = "block-size format hide indicator-style ignore quoting-style sort time time-style tabsize width"},
    {.names = "cat",
     .writes = Writes::Nothing,
     .flags = "AbeEnstTuv",
     .long_flags = "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting"},
    {.names = "head",
     .writes = Writes::Nothing,
     .flags = "qvz0123456789",
     .values = "cn",
     .long_flags = "quiet silent verbose zero-terminated",
     .long_values = "bytes lines"},
    {.names = "tail",
     .writes = Writes::Nothing,
     .flags = "fFqvzr0123456789",
     .values = "cns",
     .long_flags = "follow quiet silent retry verbose zero-terminated",
     .long_values = "bytes lines max-unchanged-stats pid sleep-interval"},
    {.names = "grep egrep fgrep",
     .writes = Writes::Nothing,
     .flags = "EFGPivwxcLlqsbHhnTZzaoIrRUyV0123456789",
     .values = "efmABCdD",
     .long_flags =
         "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp "
         "line-regexp count color colour files-without-match files-with-matches only-matching quiet silent no-messages "
         "byte-offset with-filename no-filename line-number initial-tab null null-data text recursive "
         "dereference-recursive binary line-buffered",
     .long_values =
         "regexp file max-count label after-context before-context context binary-files devices directories exclude "
         "exclude-from exclude-dir include"},
    {.names = "rg",
     .writes = Writes::Nothing,
     .flags = "abcFHIiLlNnoPpqsSUuvwx0.",
     .values = "ABCdEefgjmMrtT",
     .long_flags =
         "hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-global no-ignore-dot no-require-git files "
         "files-with-matches files-without-match count count-matches line-number no-line-number heading no-heading "
         "ignore-case case-sensitive smart-case word-regexp line-regexp fixed-strings invert-match only-matching "
         "multiline "
         "multiline-dotall pcre2 json null quiet text stats trim vimgrep with-filename no-filename column crlf follow "
         "no-messages passthru pretty unrestricted type-list no-config one-file-system no-unicode debug",
     .long_values = "glob iglob regexp file type type-not max-count max-depth max-columns max-filesize after-context "
                    "before-context "
                    "context replace color colors sort sortr threads type-add type-clear encoding engine ignore-file",
     .running = "z",
     .long_running = "pre hostname-bin search-zip"},
    {.names = "wc",
     .writes = Writes::Nothing,
     .flags = "clLmw",
     .long_flags = "bytes chars lines max-line-length words",
     .long_values = "files0-from total"},
    {.names = "basename",
     .writes = Writes::Nothing,
     .flags = "az",
     .values = "s",
     .long_flags = "multiple zero",
     .long_values = "suffix"},
    {.names = "dirname", .writes = Writes::Nothing, .flags = "z", .long_flags = "zero"},
    {.names = "realpath",
     .writes = Writes::Nothing,
     .flags = "emLPqsz",
     .long_flags = "canonicalize-existing canonicalize-missing logical physical quiet strip no-symlinks zero",
     .long_values = "relative-to relative-base"},
    {.names = "readlink",
     .writes = Writes::Nothing,
     .flags = "efmnqsvz",
     .long_flags = "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero"},
    {.names = "stat",
     .writes = Writes::Nothing,
     .flags = "Lft",
     .values = "c",
     .long_flags = "dereference file-system terse",
     .long_values = "format printf cached"},
    {.names = "du",
     .writes = Writes::Nothing,
     .flags = "0abcDhHkLlmPsSx",
     .values = "BdtX",
     .long_flags =
         "all apparent-size bytes total dereference-args human-readable inodes count-links dereference no-dereference "
         "separate-dirs si summarize null one-file-system time",
     .long_values = "block-size max-depth threshold files0-from exclude exclude-from time-style"},
    {.names = "df",
     .writes = Writes::Nothing,
     .flags = "ahHiklPTv",
     .values = "Btx",
     .long_flags = "all human-readable si inodes local no-sync sync portability print-type total output",
     .long_values = "block-size type exclude-type"},
    {.names = "id groups",
     .writes = Writes::Nothing,
     .flags = "aZgGnruz",
     .long_flags = "group groups name real user zero context"},
    {.names = "whoami nproc sleep rev tty yes expr column jq ps free uptime w who",
     .writes = Writes::Nothing,
     .flags = kAny},
    {.names = "uname",
     .writes = Writes::Nothing,
     .flags = "asnrvmpio",
     .long_flags =
         "all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system"},
    {.names = "which", .writes = Writes::Nothing, .flags = "as", .long_flags = "all"},
    {.names = "tr",
     .writes = Writes::Nothing,
     .flags = "cCdst",
     .long_flags = "complement delete squeeze-repeats truncate-set1"},
    {.names = "cut",
     .writes = Writes::Nothing,
     .flags = "nsz",
     .values = "bcdf",
     .long_flags = "complement only-delimited zero-terminated",
     .long_values = "bytes characters delimiter fields output-delimiter"},
    {.names = "paste",
     .writes = Writes::Nothing,
     .flags = "sz",
     .values = "d",
     .long_flags = "serial zero-terminated",
     .long_values = "delimiters"},
    {.names = "comm",
     .writes = Writes::Nothing,
     .flags = "123z",
     .long_flags = "check-order nocheck-order total zero-terminated",
     .long_values = "output-delimiter"},
    {.names = "diff",
     .writes = Writes::Nothing,
     .flags = "qsceunyrNEbwBaitTpdHZ0123456789",
     .values = "CUWxXFIS",
     .long_flags = "brief report-identical-files context unified ed normal rcs side-by-side recursive new-file "
                   "unidirectional-new-file ignore-case ignore-all-space ignore-space-change ignore-blank-lines "
                   "ignore-tab-expansion ignore-trailing-space text strip-trailing-cr minimal speed-large-files color "
                   "expand-tabs "
                   "initial-tab suppress-common-lines left-column show-c-function no-dereference suppress-blank-empty",
     .long_values =
         "label width exclude exclude-from ignore-matching-lines starting-file from-file to-file horizon-lines tabsize "
         "show-function-line palette"},
    {.names = "cmp",
     .writes = Writes::Nothing,
     .flags = "bls",
     .values = "in",
     .long_flags = "print-bytes verbose quiet silent",
     .long_values = "ignore-initial bytes"},
    {.names = "nl", .writes = Writes::Nothing, .flags = "p", .values = "bdfhilnsvw"},
    {.names = "tac",
     .writes = Writes::Nothing,
     .flags = "br",
     .values = "s",
     .long_flags = "before regex",
     .long_values = "separator"},
    {.names = "seq",
     .writes = Writes::Nothing,
     .flags = "w0123456789",
     .values = "fs",
     .long_flags = "equal-width",
     .long_values = "format separator"},
    {.names = "printenv", .writes = Writes::Nothing, .flags = "0", .long_flags = "null"},
    {.names = "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum",
     .writes = Writes::Nothing,
     .flags = "bctwz",
     .values = "l",
     .long_flags = kSums,
     .long_values = "length"},
    {.names = "cksum sum",
     .writes = Writes::Nothing,
     .flags = "bctwzrs",
     .values = "al",
     .long_flags = kSums,
     .long_values = "algorithm length"},
    {.names = "date",
     .writes = Writes::Own,
     .flags = "uRI",
     .values = "dfr",
     .long_flags = "utc universal rfc-email iso-8601",
     .long_values = "date file reference rfc-3339"},
    {.names = "file",
     .writes = Writes::Nothing,
     .flags = "bhiIkLNnprsSv0Ed",
     .values = "fmFeP",
     .long_flags =
         "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad no-buffer preserve-date raw",
     .long_values = "files-from magic-file separator exclude"},
    {.names = "fold",
     .writes = Writes::Nothing,
     .flags = "bs",
     .values = "w",
     .long_flags = "bytes spaces",
     .long_values = "width"},
    {.names = "fmt",
     .writes = Writes::Nothing,
     .flags = "cstu0123456789",
     .values = "wgp",
     .long_flags = "crown-margin tagged-paragraph split-only uniform-spacing",
     .long_values = "width goal prefix"},
    {.names = "expand unexpand",
     .writes = Writes::Nothing,
     .flags = "ia0123456789",
     .values = "t",
     .long_flags = "initial all first-only",
     .long_values = "tabs"},
    {.names = "join",
     .writes = Writes::Nothing,
     .flags = "iz",
     .values = "a12tevoj",
     .long_flags = "ignore-case check-order nocheck-order header zero-terminated"},
    {.names = "od", .writes = Writes::Nothing, .flags = "vbcdfilosx", .values = "AjNStw"},
    {.names = "hexdump hd", .writes = Writes::Nothing, .flags = "bcCdovx", .values = "eflns"},
    {.names = "xxd", .writes = Writes::Second, .flags = "abdeiprsuCE", .values = "cglno"},
    {.names = "strings", .writes = Writes::Nothing, .flags = "adfw0123456789", .values = "entsoTU"},
    {.names = "base64 base32",
     .writes = Writes::Nothing,
     .flags = "di",
     .values = "w",
     .long_flags = "decode ignore-garbage",
     .long_values = "wrap"},

    // --- what they write is not known, and an option makes them run a program
    {.names = "tar gtar",
     .running = "IF",
     .long_running =
         "to-command checkpoint-action use-compress-program rsh-command rmt-command info-script new-volume-script"},
    {.names = "bsdtar", .long_running = "use-compress-program"},
    {.names = "cpio", .long_running = "rsh-command"},
    {.names = "rsync", .running = "e", .long_running = "rsh rsync-path daemon"},
    {.names = "scp", .running = "SoFD"},
    {.names = "ssh-keygen", .running = "Dw"},
    {.names = "ssh-add", .running = "sS"},
    {.names = "gpg gpg2",
     .long_running = "agent-program dirmngr-program keyboxd-program exec-path photo-viewer options homedir"},
    {.names = "bat batcat delta ag ack", .long_running = "pager config-file ackrc"},
    {.names = "fzf sk", .long_running = "preview bind with-shell info-command listen-unsafe"},
    {.names = "ar nm ranlib ld",
     .long_running = "-plugin plugin load-pass-plugin",
     .reads_options = true,
     .one_dash_is_long = true},
    {.names = "mold", .long_running = "-run run -plugin plugin", .reads_options = true, .one_dash_is_long = true},
    {.names = "split", .long_running = "filter"},
    {.names = "zip", .running = "T", .long_running = "unzip-command test"},
    {.names = "fd fdfind", .running = "xX", .long_running = "exec exec-batch"},
    {.names = "wget", .running = "e", .long_running = "use-askpass execute config"},
    {.names = "nc ncat netcat", .running = "ec", .long_running = "exec sh-exec lua-exec"},
    {.names = "go", .long_running = "-ldflags ldflags -exec -toolexec -vettool -overlay exec toolexec vettool overlay"},
    {.names = "gcc g++ cc c++ c89 c99 clang clang++ cpp gfortran",
     .long_running =
         "-B -wrapper -specs -fplugin -fpass-plugin -fuse-ld -load -Xlinker -Xclang -mllvm "
         "-gcc-toolchain -ccc-install-dir -ccc-gcc-name specs prefix ld-path config gcc-toolchain "
         "gcc-install-dir cuda-path ptxas-path hip-path rocm-path plugin pass-plugin fplugin use-ld wrapper "
         "for-linker for-assembler",
     .reads_options = true},
    {.names = "rustc", .running = "CZ", .long_running = "codegen", .reads_options = true},
    {.names = "cargo", .running = "CZ", .long_running = "config codegen"},
    {.names = "ctags", .long_running = "options"},
    {.names = "tcpdump", .running = "z"},
    {.names = "aria2c",
     .long_running = "on-bt-download-complete on-download-complete on-download-error on-download-pause "
                     "on-download-start on-download-stop conf-path"},
    {.names = "youtube-dl yt-dlp",
     .long_running = "exec exec-before-download external-downloader downloader ffmpeg-location use-postprocessor "
                     "config-locations plugin-dirs netrc-cmd"},
    {.names = "tex latex pdftex pdflatex xetex xelatex luatex luahbtex lualatex etex pdfetex ptex eptex uptex euptex "
              "platex uplatex dvilualatex amstex mex mf mpost",
     .long_running = "-c -shell-escape -enable-write18 -cnf-line -tex shell-escape enable-write18 cnf-line tex",
     .one_dash_is_long = true},
    {.names = "apt apt-get aptitude apt-cache", .running = "oc", .long_running = "option config-file"},
    {.names = "dpkg", .long_running = "pre-invoke post-invoke status-logger admindir instdir root"},
    {.names = "svn", .long_running = "diff-cmd diff3-cmd editor-cmd config-option config-dir"},
    {.names = "hg", .running = "ecpt", .long_running = "config config-file ssh remotecmd command program tool"},
    {.names = "helm", .long_running = "post-renderer kubeconfig"},
    {.names = "npm pnpm",
     .running = "c",
     .long_running = "script-shell git editor shell viewer browser node-options node-gyp python userconfig "
                     "onload-script init-module call pnpmfile",
     .one_dash_is_long = true},
    {.names = "kubectl oc", .long_running = "kubeconfig exec-command"},
    {.names = "openssl",
     .long_running = "-engine -provider -provider-path -config -pre -post -keygen_engine -ssl_client_engine engine "
                     "provider config pre post keygen_engine ssl_client_engine"},
    {.names = "nmap", .long_running = "script datadir", .one_dash_is_long = true},
    {.names = "ansible-playbook ansible-pull ansible-vault ansible-inventory ansible-galaxy ansible-doc",
     .running = "eM",
     .long_running = "extra-vars ssh-common-args ssh-extra-args sftp-extra-args scp-extra-args module-path "
                     "vault-password-file vault-pass-file vault-id connection-password-file conn-pass-file "
                     "become-password-file become-pass-file playbook-dir"},
    {.names = "curl", .running = "K", .long_running = "config engine"},
    {.names = "redis-cli", .long_running = "eval"},
};

constexpr std::string_view kSubcommands =
    "git hg svn jj gh glab docker podman nerdctl kubectl helm npm pnpm yarn bun deno cargo rustup go dotnet mvn gradle "
    "pip pip3 pipx uv "
    "poetry pdm conda mamba apt apt-get dnf yum brew pacman apk snap flatpak systemctl service launchctl terraform "
    "tofu ansible "
    "pulumi aws gcloud az vagrant heroku fly vercel netlify wrangler supabase make just task bundle gem composer mix "
    "rails php "
    "artisan nix openssl ip twine";

// Subcommands that run the words behind them, and behind so many operands.
struct RunRest {
  std::string_view program, subcommand, second = {};
  std::size_t operands = 0;
};
constexpr RunRest kRunRest[] = {
    {"uv", "run"},
    {"uv", "tool", "run"},
    {"poetry", "run"},
    {"pipenv", "run"},
    {"pdm", "run"},
    {"hatch", "run"},
    {"hatch", "env", "run"},
    {"rye", "run"},
    {"pixi", "run"},
    {"pixi", "exec"},
    {"pixi", "x"},
    {"bundle", "exec"},
    {"pnpm", "exec"},
    {"pnpm", "dlx"},
    {"yarn", "exec"},
    {"yarn", "dlx"},
    {"yarnpkg", "exec"},
    {"yarnpkg", "dlx"},
    {"npm", "exec"},
    {"npm", "x"},
    {"npm", "explore", {}, 1},
    {"bun", "x"},
    {"bun", "run"},
    {"bun", "exec"},
    {"conda", "run"},
    {"mamba", "run"},
    {"micromamba", "run"},
    {"opam", "exec"},
    {"rustup", "run", {}, 1},
    {"rbenv", "exec"},
    {"pyenv", "exec"},
    {"nodenv", "exec"},
    {"jenv", "exec"},
    {"fnm", "exec"},
    {"volta", "run"},
    {"coverage", "run"},
    {"tox", "exec"},
};

// Programs that run their first word, unless it is one of their own commands.
struct RunsOther {
  std::string_view program, own, flags, with_value;
};
constexpr RunsOther kRunsOthers[] = {
    {"pnpm",
     "add audit approve-builds bin c cache cat-file cat-index ci clean-install completion config create dedupe deploy "
     "doctor env "
     "fetch find-hash get help i ignored-builds import info init install install-test it licenses link list ll ln "
     "login logout "
     "ls outdated pack patch patch-commit patch-remove ping prune publish rb rebuild remove rm root run run-script "
     "search "
     "self-update server set setup show start stop store t test tst un uninstall unlink up update upgrade version view "
     "whoami why",
     "-r --recursive -w --workspace-root -s --silent --parallel --stream --if-present --frozen-lockfile",
     "--filter -F --dir -C"},
    {"bun",
     "a add audit build c create i info init install link outdated patch patch-commit pm publish rm remove repl test "
     "unlink up "
     "update upgrade why",
     "--bun -b --silent --watch --hot --smol --if-present", "--cwd --filter"},
};

const std::unordered_map<std::string_view, const Program*>& table() {
  static const auto* const all = [] {
    auto* out = new std::unordered_map<std::string_view, const Program*>;
    for (const Program& one : kPrograms)
      for (const std::string_view name : split(one.names, ' '))
        if (!name.empty()) out->emplace(name, &one);
    return out;
  }();
  return *all;
}

}  // namespace

bool is_listed(std::string_view words, std::string_view one) {
  if (one.empty() || one.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = words.find(one); at != std::string_view::npos; at = words.find(one, at + 1)) {
    const std::size_t end = at + one.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

const Program* program_called(std::string_view name) {
  if (name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so")
    name = "source";  // runs a program by itself
  const auto place = table().find(name);
  return place == table().end() ? nullptr : place->second;
}

std::string_view plain_name(std::string_view name) {
  const auto is_known = [](std::string_view one) { return program_called(one) != nullptr; };
  std::string_view out = name;
  const auto without_end = [&] {
    for (const std::string_view end :
         {"-static", ".tiny", ".basic", ".nox", ".gtk3", ".athena", ".bfd", ".gold", ".lld", ".exe"})
      if (out.size() > end.size() && out.ends_with(end)) return out.remove_suffix(end.size()), true;
    const std::size_t last = out.find_last_not_of("0123456789.");
    if (last == out.npos || last + 1 == out.size()) return false;
    out = out.substr(0, out[last] == '-' && last > 0 ? last : last + 1);
    return true;
  };
  while (!is_known(out))
    if (!without_end()) break;
  if (is_known(out)) return out;
  // The tools of a target: `x86_64-linux-gnu-gcc`.
  const std::size_t dash = out.rfind('-');
  if (dash != out.npos)
    if (const Program* tool = program_called(out.substr(dash + 1)); tool != nullptr && tool->reads_options)
      return out.substr(dash + 1);
  return name;
}

// The option that a long name means: itself, or the only one of the table that it abbreviates.
static std::string_view in_full(std::string_view name, const Program& program) {
  if (name.empty() || is_listed(program.long_flags, name) || is_listed(program.long_values, name)) return name;
  std::string_view out;
  for (const std::string_view words : {program.long_flags, program.long_values})
    for (const std::string_view one : split(words, ' '))
      if (one.starts_with(name)) {
        if (!out.empty()) return name;
        out = one;
      }
  return out.empty() ? name : out;
}

bool Options::has(std::string_view name) const {
  return std::ranges::any_of(found, [&](const Option& one) { return one.name == name; });
}

Options options_of(const Command& command, const Program& program) {
  Options out;
  const std::vector<Word>& words = command.words;
  bool options = program.flags != kAny;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const Word& word = words[at];
    const std::string_view text = word.text;
    if (options && word.is("--")) {
      options = false;
      continue;
    }
    if (options && !word.is_literal() && word.may_be_option()) out.may_hide_option = true;
    if (!options || !word.is_literal() || text.size() < 2 || text.front() != '-') {
      out.operands.push_back(&word);
      continue;
    }
    const auto next_word = [&]() -> const Word* {
      if (at + 1 >= words.size()) return nullptr;
      if (words[at + 1].splits) out.may_hide_option = out.may_shift = true;
      return &words[++at];
    };
    if (text.starts_with("--")) {
      const std::size_t sign = text.find('=');
      const std::string_view given = text.substr(2, sign == text.npos ? text.npos : sign - 2);
      const std::string_view name = in_full(given, program);
      if (name != given) out.all_known = false;  // the program may know more options than the table
      Options::Option found{name, &word, {}, nullptr};
      if (sign != text.npos) found.value = text.substr(sign + 1), found.value_word = &word;
      if (is_listed(program.long_values, name)) {
        if (sign == text.npos) found.value_word = next_word();
        if (sign == text.npos && found.value_word != nullptr) found.value = found.value_word->text;
      } else if (!is_listed(program.long_flags, name) && name != "help" && name != "version") {
        out.all_known = false;
      }
      out.found.push_back(found);
      continue;
    }
    for (std::size_t letter = 1; letter < text.size(); ++letter) {
      Options::Option found{text.substr(letter, 1), &word, {}, nullptr};
      const bool has_value = program.values.find(text[letter]) != std::string_view::npos;
      if (has_value) {
        found.value = text.substr(letter + 1);
        found.value_word = found.value.empty() ? next_word() : &word;
        if (found.value.empty() && found.value_word != nullptr) found.value = found.value_word->text;
      } else if (program.flags.find(text[letter]) == std::string_view::npos) {
        out.all_known = false;
      }
      out.found.push_back(found);
      if (has_value) break;
    }
  }
  return out;
}

std::optional<std::size_t> first_operand(std::span<const Word> words, const Program& launcher) {
  std::size_t operands = launcher.operands;
  const bool is_env = launcher.names == "env";
  bool options = true;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const Word& word = words[at];
    const std::string_view text = word.text;
    const std::size_t sign = text.find('=');
    const bool is_option = options && text.size() > 1 && text.front() == '-';
    // Whatever has the sign in it: `v[=2` too.
    if (launcher.takes_assignments && !is_option && !word.splits && sign != text.npos) {
      if (!options && !is_env) return std::nullopt;  // behind `--` it is the program
      // A path with the sign in it is a program to sudo.
      if (!is_env && text.substr(0, sign).find('/') != text.npos) return std::nullopt;
      Word value = word;
      value.text.erase(0, sign + 1);
      if (launcher.names == "ccache" || steers_programs(text.substr(0, sign), &value)) return std::nullopt;
      if (is_env) options = false;  // sudo goes on to take them
      continue;
    }
    if (!word.is_literal()) return std::nullopt;
    if (text == "-" && options && is_env) continue;
    if (!is_option) {
      if (operands == 0) return at;
      --operands;
      options = false;
    } else if (text == "--") {
      options = false;
    } else if (text.starts_with("--")) {
      const std::string_view name = text.substr(2, sign == text.npos ? text.npos : sign - 2);
      if (is_listed(launcher.long_flags, name)) continue;
      if (!is_listed(launcher.long_values, name)) return std::nullopt;
      if (sign == text.npos) ++at;
    } else {
      for (std::size_t letter = 1; letter < text.size(); ++letter) {
        if (launcher.flags.find(text[letter]) != text.npos) continue;
        if (launcher.values.find(text[letter]) == text.npos) return std::nullopt;
        if (letter + 1 == text.size()) ++at;
        break;
      }
    }
    // The value of an option that is not known is still one word, unless it may be several.
    if (at < words.size() && words[at].splits) return std::nullopt;
  }
  return words.size();
}

bool is_running_option(std::string_view word, std::string_view shorts, std::string_view longs, bool one_dash_is_long) {
  if (word.size() < 2 || word.front() != '-') return false;
  const std::string_view name = word.substr(1, word.find('=') == word.npos ? word.npos : word.find('=') - 1);
  if (word.starts_with("--")) {
    if (name.size() < 2) return false;
    for (const std::string_view one : split(longs, ' '))
      if (!one.empty() && one.starts_with(name.substr(1))) return true;
    return false;
  }
  // `-exec`: long options of one dash; `-B` has its value in the same word.
  for (const std::string_view one : split(longs, ' '))
    if (one.starts_with('-') ? one.substr(1) == name || (one.size() == 2 && word.starts_with(one)) ||
                                   (one_dash_is_long && name.size() > 1 && one.substr(1).starts_with(name))
                             : one_dash_is_long && name.size() > 1 && one.starts_with(name))
      return true;
  return word.find_first_of(shorts, 1) != std::string_view::npos;
}

// `-ldflags=-s -w -X main.version=1`: nothing that names the linker or its options.
static bool is_plain_ldflags(std::string_view word) {
  const std::string_view option = "-ldflags=";
  if (word.starts_with("--")) word.remove_prefix(1);
  if (!word.starts_with(option)) return false;
  bool is_definition = false;
  for (const std::string_view one : split(word.substr(option.size()), ' ')) {
    if (one.empty()) continue;
    if (is_definition ? one.starts_with('-') : !is_listed("-s -w -X", one)) return false;
    if (one.find_first_of("'\"\\\t\n\r") != one.npos) return false;
    is_definition = one == "-X";
  }
  return true;
}

bool has_running_option(const Command& command, const Program& program) {
  if (program.running.empty() && program.long_running.empty()) return false;
  const bool is_tar = program.names.find("tar") != std::string_view::npos;
  std::string_view shorts = program.running;
  bool one_dash_is_long = program.one_dash_is_long;
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    // `npm test -- -c x`: for the script.
    if (word.is("--") && program.one_dash_is_long) shorts = {}, one_dash_is_long = false;
    if (program.reads_options && word.text.starts_with('@')) return true;
    if (!word.is_literal()) {
      if (word.may_be_option() || (is_tar && at == 1)) return true;
      continue;
    }
    if (program.names == "go" && is_plain_ldflags(word.text)) continue;
    if (is_running_option(word.text, shorts, program.long_running, one_dash_is_long)) return true;
    // Options that are handed on to the linker, the preprocessor or the assembler.
    const bool is_handed_on =
        word.text.starts_with("-Wl,") || word.text.starts_with("-Wp,") || word.text.starts_with("-Wa,");
    if (program.reads_options && is_handed_on)
      for (const char* one : {"plug", "-load", "specs", "wrapper", "@"})
        if (word.text.find(one) != std::string::npos) return true;
    // tar reads its first word as options, with or without a dash.
    if (at == 1 && is_tar && word.text.find_first_of(program.running) != std::string::npos &&
        word.text.find_first_of("/.") == std::string::npos)
      return true;
  }
  return false;
}

bool has_subcommands(std::string_view name) { return is_listed(kSubcommands, name); }

// May a word from `at` on be a subcommand of this program (`under`: one below that subcommand) that is a launcher? The first word that is no
// option is the subcommand, unless it stands behind an option, whose value it may be.
static bool may_name_launcher(std::string_view name, std::span<const Word> words, std::size_t at,
                              std::string_view under) {
  bool is_behind_option = false;
  for (std::size_t place = at; place < words.size(); ++place) {
    const Word& word = words[place];
    if (word.is_literal() && (word.text.starts_with('-') || word.text.starts_with('+'))) {  // `rustup +nightly run`
      is_behind_option = true;
      continue;
    }
    for (const RunRest& one : kRunRest) {
      if (one.program != name || (!under.empty() && (one.subcommand != under || one.second.empty()))) continue;
      const std::string_view wanted = under.empty() ? one.subcommand : one.second;
      if (word.text.empty() ? word.is_literal() : !wanted.starts_with(word.text)) continue;
      if (!under.empty() || one.second.empty() || may_name_launcher(name, words, place + 1, wanted)) return true;
    }
    if (!is_behind_option && (word.is_literal() || !word.may_be_option())) return false;
    is_behind_option = !word.is_literal() && word.may_be_option();
  }
  return false;
}

// Past the options of `uv run` and `coverage run` that change neither what is run nor where. -m: the word behind it is a module of Python.
static std::size_t behind_plain_options(std::string_view name, std::span<const Word> words, std::size_t from) {
  const bool is_uv = name == "uv";
  if (!is_uv && name != "coverage") return from;
  while (from < words.size() && words[from].is_literal() &&
         is_listed(is_uv ? "--frozen --locked --no-sync --offline --no-dev --all-extras --quiet -q --verbose -v"
                         : "--branch --append -a --parallel-mode -p",
                   words[from].text))
    ++from;
  const bool is_module = from + 1 < words.size() && (words[from].is("-m") || words[from].is("--module"));
  const bool has_name = is_module && words[from + 1].is_literal() && !words[from + 1].text.empty();
  return has_name && is_name_start(words[from + 1].text.front()) ? from + 1 : from;
}

RunBehind run_behind_subcommand(std::string_view name, std::span<const Word> words) {
  const RunsOther* other = std::ranges::find(kRunsOthers, name, &RunsOther::program);
  const bool is_other = other != std::end(kRunsOthers);
  if (!is_other && std::ranges::find(kRunRest, name, &RunRest::program) == std::end(kRunRest)) return {};
  std::size_t at = 1;
  if (is_other)
    for (; at < words.size() && words[at].is_literal() && words[at].text.starts_with('-'); ++at) {
      const std::string_view option = std::string_view(words[at].text).substr(0, words[at].text.find('='));
      const bool has_value = is_listed(other->with_value, option);
      if (!has_value && !is_listed(other->flags, option))
        return {words.size() == 2 ? Behind::Nothing : Behind::Unknown};
      if (has_value && option.size() == words[at].text.size() && ++at < words.size() && words[at].splits)
        return {Behind::Unknown};
    }
  if (at >= words.size()) return {};
  for (const RunRest& one : kRunRest) {
    if (one.program != name || !words[at].is(one.subcommand)) continue;
    std::size_t from = at + 1;
    if (!one.second.empty() && (from >= words.size() || !words[from].is(one.second))) continue;
    from += one.second.empty() ? 0 : 1;
    for (std::size_t operand = 0; operand < one.operands && from < words.size(); ++operand, ++from)
      if (words[from].splits || words[from].may_be_option()) return {Behind::Unknown};
    if (one.operands > 0 && from < words.size() && words[from].is("--")) ++from;
    from = behind_plain_options(name, words, from);
    // Behind this, npm takes no option.
    const bool is_npm = name == "npm", ends_options = is_npm && from < words.size() && words[from].is("--");
    if (ends_options) ++from;
    else if (from < words.size() && words[from].may_be_option()) return {Behind::Unknown};
    if (is_npm && from >= words.size()) return {Behind::Unknown};  // it starts a shell
    // The text of a line: `bun exec 'rm x'`.
    if (name == "bun" && one.subcommand == "exec") return {Behind::Unknown};
    return {Behind::Command, from, at > 1 || one.subcommand == "explore"};
  }
  // The subcommand may stand behind options and their values, or be shortened.
  for (std::size_t place = at; place < words.size(); ++place) {
    const Word& word = words[place];
    if (!word.is_literal() && (word.splits || place == at)) return {Behind::Unknown};
    for (const RunRest& one : kRunRest)
      if (word.is_literal() && one.program == name && one.second.empty() && !word.text.empty() &&
          (place == at ? one.subcommand.starts_with(word.text) : one.subcommand == word.text) &&
          !(is_other && is_listed(other->own, word.text)))
        return {Behind::Unknown};
    if (is_other) break;
  }
  if (!is_other && may_name_launcher(name, words, at, {})) return {Behind::Unknown};
  if (is_other && !is_listed(other->own, words[at].text)) return {Behind::Command, at, at > 1};
  return {};
}

}  // namespace baton::shell
