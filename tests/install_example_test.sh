#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs libbaton into an empty folder, builds examples/exit_signal against that package alone, and compares what the
# program prints with what it should.
set -euo pipefail
build=$1 source=$2 compiler=$3 flags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
cmake -S "$source/examples/exit_signal" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
program=$(find "$work/build" -maxdepth 1 -type f -perm -u+x ! -name '*.so*' | head -n 1)
"$program" > "$work/out.txt"
diff -u "$source/examples/exit_signal/expected.txt" "$work/out.txt"
