// SPDX-License-Identifier: Apache-2.0
// Inside protection: programs by what they do with folders and texts.
#pragma once

#include <array>
#include <string_view>

#include "shell/parse.h"

namespace baton::protection {

// Is `name` one of `names`, which are separated by blanks? An empty name is not.
bool is_one_of(std::string_view name, std::string_view names);

// The program of a command by its base name; empty when the command has none or an expansion decides it.
std::string_view program_of(const shell::Command& command);

// Does the line run one of these programs, in whatever version (`python3.11` is `python3`)?
bool runs_one_of(const shell::Parsed& parsed, std::string_view programs);

// Does a statement of a text that is run name something that removes, moves, copies or links whole folders (`shutil.rmtree(`, `mv`,
// `renameSync(`, `Remove-Item`)? A plain English word among these counts only where it is called.
bool handles_folders(std::string_view statement);

// Programs for which a folder that is written is one that is gone, or another, afterwards.
inline constexpr std::string_view kTakesAway =
    "rm rmdir chmod chown chgrp unlink shred find chattr setfacl setfattr chcon restorecon trash trash-put "
    "gio rimraf exch rename prename file-rename rename.ul perl-rename mmv del-cli shx srm wipe rip safe-rm grm grmdir "
    "gchmod gchown gchgrp gunlink gshred chflags xattr";
inline constexpr std::string_view kRemoves =
    "rm rmdir chmod chown chgrp unlink shred chattr setfacl setfattr chcon restorecon trash trash-put gio rimraf exch "
    "rename prename file-rename rename.ul perl-rename mmv del-cli shx srm wipe rip safe-rm grm grmdir gchmod gchown "
    "gchgrp "
    "gunlink gshred chflags xattr mv gmv ln gln link";
// A folder comes to lie over another, or has another name.
inline constexpr std::string_view kMounts =
    "mount bindfs sshfs unionfs mergerfs fuse-overlayfs overlayfs losetup umount squashfuse archivemount";
// Programs that run, or read as commands or names of files, the text in one of their words or on their standard input.
inline constexpr std::string_view kRunsText =
    "python python2 python3 pypy pypy3 ipython node nodejs perl ruby php lua luajit deno bun awk gawk mawk nawk "
    "Rscript R "
    "julia tclsh expect ed ex vi vim nvim emacs sqlite3 psql mysql mongosh gdb lldb osascript pwsh powershell guile "
    "racket "
    "ghc runghc elixir erl iex swift kotlin scala groovy jshell go xargs gxargs parallel read mapfile readarray socat "
    "apply_patch applypatch patch cpio bsdcpio afio pax ftp sftp dc m4 "
    "tsx ts-node original-awk bpython jruby pike yq gojq vimdiff view rvim gvim cmd";
inline constexpr std::string_view kCopies = "cp gcp xcp rcp rsync scp ditto install ginstall";
inline constexpr std::string_view kMoves = "mv gmv";
inline constexpr std::string_view kLinks = "ln gln link";
inline constexpr std::string_view kPacks = "tar gtar bsdtar star zip 7z 7za 7zr 7zz pax cpio jar rar";
inline constexpr std::string_view kUnpacks =
    "tar gtar bsdtar star unzip bsdunzip unp cabextract 7z 7za 7zr 7zz p7zip pax cpio jar unrar rar bsdcpio ar patch "
    "gpatch unsquashfs unar atool aunpack dtrx "
    "patool dpkg dpkg-deb stow";
// What these are given is packed with another name: `x.json.gz` becomes `x.json`. In any case.
inline constexpr std::array<std::string_view, 25> kPacked = {
    ".gz",  "-gz", ".z",  "-z",  "_z",   ".bz2", ".bz",  ".xz",  ".zst", ".lz4", ".lzma", ".lz",  ".lzo",
    ".lrz", ".rz", ".sz", ".zz", ".gpg", ".pgp", ".asc", ".sig", ".age", ".br",  ".enc",  ".des3"};
// They take a packed file away and leave what was in it, under the name without the ending; an option may give another ending.
inline constexpr std::string_view kOpens =
    "gunzip gzip uncompress compress pigz unpigz zcat bunzip2 bzip2 pbzip2 lbzip2 lbunzip2 unxz xz pixz unlzma lzma "
    "lzip "
    "plzip unlzip lzop unlzop zstd unzstd unlz4 lz4 lrzip lrunzip brotli unbrotli";
// They write files of names that come from elsewhere, into a folder that they are given or the current one.
inline constexpr std::string_view kFetches =
    "wget curl aria2c http https svn hg fossil jj degit rclone gsutil aws s3cmd";
// Their words are text, not files.
inline constexpr std::string_view kPrints = "echo printf : true false test [ export alias";
// Their first operand is text.
inline constexpr std::string_view kSearches = "grep egrep fgrep zgrep rg ag ack sed gsed awk gawk mawk nawk jq yq";

// What compilers, editors and tests leave behind: nothing of Baton's is called so.
inline constexpr std::string_view kLeftovers =
    "*.pyc *.pyo *.o *.obj *.class *.orig *.rej *.swp *~ *.gcda *.gcno *.tsbuildinfo *.egg-info .DS_Store Thumbs.db "
    "__pycache__ "
    "node_modules .pytest_cache .mypy_cache .ruff_cache .ipynb_checkpoints";

}  // namespace baton::protection
