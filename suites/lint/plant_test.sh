#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that the lint scripts can fail: each rule says nothing about a small clean tree, and names exactly the fault
# that is planted in it. `plant_test.sh RULE` is one ctest entry; RULE: layers, format, or a rule of tools/dev/lint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
dev=$PWD/tools/dev
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
export W4_ROOT=$tree

fail() { echo "FAIL: $*"; exit 1; }

write() {  # path, lines
  mkdir -p "$(dirname "$tree/$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

spdx='// SPDX-License-Identifier: Apache-2.0'
clean_tree() {
  local file
  rm -rf "${tree:?}"/*
  for file in README.md reference/README.md kernels/README.md kernels/cpu/README.md harness/README.md \
              harness/report/README.md fixtures/README.md suites/README.md tools/README.md; do
    write "$file" "What is here."
  done
  cp .clang-format "$tree/"
  write reference/a.hpp "$spdx" "#pragma once" "#include <vector>"
  write reference/a.cpp "$spdx" '#include "reference/a.hpp"' "" "#include <cstdint>"
  write kernels/cpu/k.cpp "$spdx" "#include <hwy/highway.h>" "" '#include "kernels/abi/w4_kernel.h"' '#include "kernels/cpu/half.hpp"'
  write harness/h.cpp "$spdx" "#include <unistd.h>" "" '#include "kernels/abi/w4_kernel.h"'
  write harness/report/json.cpp "$spdx" "#include <nlohmann/json.hpp>" "" '#include "reference/a.hpp"'
  write suites/t.cpp "$spdx" "#include <catch2/catch_test_macros.hpp>" "" '#include "harness/h.hpp"'
  write tools/run "#!/bin/sh" "# SPDX-License-Identifier: Apache-2.0" "echo done"
}

# The rule's own command.
check() {
  case "$1" in
    layers) "$dev/layers" ;;
    format) "$dev/format" --check ;;
    *) "$dev/lint" "$1" ;;
  esac
}

patterns=()
plant() {  # what is said of it, path, lines: one more faulty file; @ in path and pattern becomes a number of its own
  local number=$((${#patterns[@]} + 1))
  write "${2//@/$number}" "${@:3}"
  patterns+=("${1//@/$number}")
}

# Each planted fault is named on exactly one line, and there is no other line.
expect_planted() {
  local output status=0 lines pattern
  output=$(check "$rule" 2>&1) || status=$?
  [ $status -eq 1 ] || fail "exit $status where 1 is due; said: $output"
  for pattern in "${patterns[@]}"; do
    [ "$(grep -cE "$pattern" <<<"$output")" -eq 1 ] || fail "not one line matches '$pattern' in: $output"
  done
  lines=$(grep -cvE '^layers: [0-9]+ includes' <<<"$output")
  [ "$lines" -eq ${#patterns[@]} ] || fail "$lines lines for ${#patterns[@]} planted faults: $output"
}

rule=${1:?usage: plant_test.sh RULE}
clean_tree
status=0
output=$(check "$rule" 2>&1) || status=$?
if [ $status -eq 4 ]; then echo "$output"; exit 4; fi
[ $status -eq 0 ] || fail "a clean tree gave exit $status: $output"

case "$rule" in
  layers)
    layer() { plant "^$1:2: .*$2" "$1" "$spdx" "$3"; }
    layer reference/b@.cpp 'reference may not include "harness/h.hpp"' '#include "harness/h.hpp"'
    layer reference/b@.cpp 'reference may not include "kernels/abi' '#include "kernels/abi/w4_kernel.h"'
    layer reference/b@.cpp 'reference may not include <unistd.h>' '#include <unistd.h>'
    layer reference/b@.cpp 'reference may not include <hwy/highway.h>' '  #  include <hwy/highway.h>'
    layer reference/fast/b@.cpp 'may not include <nlohmann' '#include <nlohmann/json.hpp>'
    layer kernels/cpu/b@.cpp 'may not include "reference/a.hpp"' '#include "reference/a.hpp"'
    layer kernels/cpu/b@.cpp 'may not include "harness/h.hpp"' '#include	"harness/h.hpp"'
    layer kernels/cpu/b@.cpp 'may not include "kernels/mutants/half.h"' '#include "kernels/mutants/half.h"'
    layer kernels/mutants/b@.c 'may not include <hwy' '#include <hwy/highway.h>'
    layer harness/run/b@.cpp 'may not include "kernels/cpu/half.h"' '#include "kernels/cpu/half.h"'
    layer harness/run/b@.cpp 'may not include <nlohmann' '#include <nlohmann/json.hpp>'
    layer harness/run/b@.cpp 'may not include "suites/' '#include "suites/support/property.hpp"'
    layer harness/worker/b@.cpp 'may not include <hdf5.h>' '#include <hdf5.h>'
    layer harness/run/b@.cpp 'may not include <rapidcheck.h>' '#include <rapidcheck.h>'
    layer harness/report/b@.hpp 'in a header' '#include <nlohmann/json.hpp>'
    layer suites/b@.cpp 'may not include "kernels/cpu/' '#include "kernels/cpu/k.hpp"'
    layer tools/b@.cpp 'may not include <catch2' '#include <catch2/catch_test_macros.hpp>'
    layer tools/b@.cpp 'may not include "kernels/abi' '#include "kernels/abi/w4_kernel.h"'
    layer harness/run/b@.cpp 'not rooted' '#include "engine.hpp"'
    layer harness/run/b@.cpp 'not rooted' '#include "../h.hpp"'
    layer kernels/cpu/b@.cpp 'dots in a path' '#include "kernels/cpu/../../reference/a.hpp"'
    layer harness/run/b@.cpp 'include of a macro' '#include HEADER'
    plant '^fixtures/b@.cpp:1: .*no row' fixtures/b@.cpp "$spdx"
    ;;
  format) plant '^reference/b.cpp: not formatted' reference/b.cpp "$spdx" 'int   x  =1;' ;;
  shell) plant 'tools/b: line 2' tools/b '#!/usr/bin/env bash' 'if true; then (echo; fi' ;;
  spdx)
    plant '^reference/b.cpp:1: no SPDX' reference/b.cpp '// Some file.'
    plant '^tools/b:1: no SPDX' tools/b '#!/bin/sh' 'echo'
    plant '^harness/CMakeLists.txt:1: no SPDX' harness/CMakeLists.txt '# Some file.'
    ;;
  registry)
    plant '^tools/b:2: names a package registry' tools/b '#!/bin/sh' "apt_source=http://deb.deb""ian.org/x"
    plant '^README.md:1: names a package registry' README.md "from py""pi.org"
    ;;
  machine_path)
    plant '^reference/b.cpp:1: absolute' reference/b.cpp "auto p = \"/ho""me/me/x\";"
    plant '^README.md:1: absolute' README.md "/wo""rk/x"
    ;;
  readme)
    plant '^harness/run: no README.md' harness/run/b.cpp "$spdx"
    plant '^fixtures/layers: no README.md' fixtures/layers/x/y/data.bin x
    ;;
  *) fail "no fault is known for the rule $rule" ;;
esac
expect_planted
echo "$rule: a clean tree passes; each of ${#patterns[@]} planted faults is named, and nothing else"
