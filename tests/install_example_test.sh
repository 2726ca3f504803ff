#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs libbaton into an empty folder, builds each example program against that package alone, and compares what the
# programs print with what they should.
set -euo pipefail
build=$1 source=$2 compiler=$3 flags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"
for example in exit_signal session_decision; do
  cmake -S "$source/examples/$example" -B "$work/$example" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
  cmake --build "$work/$example" > "$work/build.log" || { cat "$work/build.log"; exit 1; }
  "$work/$example/$example" > "$work/out.txt"
  diff -u "$source/examples/$example/expected.txt" "$work/out.txt"
done
