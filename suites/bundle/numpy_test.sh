#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numpy_test.sh W4CHECK FAULT: makes a bundle, fills it with the NumPy kernel of numpy_kernel.py (FAULT none) or with a
# copy that is wrong on purpose, and looks for the verdict and its reason. Exit 4 where there is no h5py: skipped.
set -euo pipefail
w4check=$1 fault=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import h5py, numpy' 2>/dev/null; then python=$candidate; break; fi
done
[ -n "$python" ] || { echo "no python3 with h5py and numpy"; exit 4; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$folder/kernel.py bundle=$folder/cases.h5

half='total = np.zeros((x.shape[0], n), np.float16)\n    for i in range(k): total = total + x[:, i, None].astype(np.float16) * w[i].astype(np.float16)\n    return total'
case $fault in
  none) edit='' check='' reason='' ;;
  nibble_order) edit='/None, :, None/s/arange(0, 32, 4/arange(28, -1, -4/'
    check=address.code reason='the eight nibbles of a word are read in reverse order' ;;
  zero_off_by_one) edit='s/astype(np.float32) + 1$/astype(np.float32)/'
    check=value.table reason='the zero point is read one too low' ;;
  half_sums) edit="s/return x.astype(np.float32) @ w/$half/"
    check=exact.dense24 reason='sums are rounded to fp16 on the way' ;;
  *) echo "no fault $fault"; exit 2 ;;
esac
# The README shows this very script.
awk '/^```python$/ && !seen { on = seen = 1; next } /^```$/ { on = 0 } on' "$here/../../harness/bundle/README.md" |
  cmp - "$here/numpy_kernel.py"
sed "$edit" "$here/numpy_kernel.py" >"$script"
if [ "$fault" != none ] && cmp -s "$script" "$here/numpy_kernel.py"; then echo "the fault is not in the script"; exit 1; fi

"$w4check" bundle make --layout gptq_v1 --zero code_m1 --group 32 --n 32 --k 256 --kernel numpy -o "$bundle"
"$python" "$script" "$bundle"
status=0
"$w4check" bundle judge "$bundle" --json "$folder/run.json" --junit "$folder/run.xml" >"$folder/text" || status=$?
cat "$folder/text"
if [ "$fault" = none ]; then
  [ $status -eq 0 ]
else
  [ $status -eq 1 ]
  grep -A1 "^FAIL  $check" "$folder/text" | grep -q "what     $reason"
fi
grep -q '"schema": "w4check.run/1"' "$folder/run.json"
grep -q '<testsuite ' "$folder/run.xml"
