#!/usr/bin/env bash
# gpu_check.sh RESULTS [BUILD] -- every device test and the sanitizer lanes, on a machine with a GPU.
# Logs, tables and JUnit files go to the folder RESULTS; a summary line a lane is printed at the end.
# A lane that this machine cannot run says `unavailable: reason` and the rest goes on. Exit 0: nothing
# failed; 1: something did.
set -u
results=${1:?usage: scripts/gpu_check.sh RESULTS [BUILD]}
build=${2:-build/release}
mkdir -p "$results"
export GEMMSMITH_GPU_RESULTS=$results
summary=$results/summary.txt
: >"$summary"
failed=0

note() { echo "$1" | tee -a "$summary"; }

# lane NAME COMMAND...: its output to RESULTS/NAME.log, one line to the summary.
lane() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$results/$name.log" 2>&1; then
    note "$name: ok ($((SECONDS - start)) s)"
  else
    note "$name: FAILED, exit $? ($((SECONDS - start)) s), see $name.log"
    failed=1
  fi
}

find_program() { # NAME: under the build folder
  find "$build" -type f -name "$1" -perm -u+x 2>/dev/null | head -n 1
}

gpu_tests=$(find_program gpu_tests)
if [ -z "$gpu_tests" ]; then
  note "unavailable: no gpu_tests under $build; build it first (cmake --build $build --target gpu_tests)"
  exit 1
fi
if ! nvidia-smi >"$results/nvidia-smi.log" 2>&1; then
  note "nvidia-smi: unavailable: it is missing or sees no GPU"
fi

suite() { # NAME: of the GPU tests
  lane "$1" "$gpu_tests" --gtest_filter="$1.*" --gtest_output="xml:$results/$1.xml"
}
for name in Exactness EpilogueTest BatchTest BatchBench GroupedKernels DirectTest SplitTest FieldReports TuningFieldReports CudaBenchTest EvalTest CountersTest SameKernel; do
  suite "$name"
done
lane FullDevice "$gpu_tests" --gtest_filter='*FullDeviceTest.*'
for program in vendor_check gpu_runtime_tests; do
  path=$(find_program "$program")
  if [ -n "$path" ]; then lane "$program" "$path"; else note "$program: unavailable: not built"; fi
done

plans=${GEMMSMITH_PLANS:-data/plans/h200.plans}

# The monitor beside a process that serves by these plans.
program=$(find_program gemmsmith)
monitor_test=$(find_program gpu_monitor_test)
if [ -n "$monitor_test" ] && [ -n "$program" ]; then
  lane monitor env GEMMSMITH_PROGRAM="$program" GEMMSMITH_PLANS="$plans" \
    "$monitor_test" --gtest_output="xml:$results/monitor.xml"
else
  note "monitor: unavailable: gpu_monitor_test or gemmsmith is not built"
fi

# The faces that serve: host cost side by side, then PyTorch alone, preloaded and routed. Another
# Python than python3 is named in GEMMSMITH_PYTHON.
host_cost=$(find_program gpu_host_cost)
if [ -n "$host_cost" ]; then lane gpu_host_cost "$host_cost" "$plans"; else note "gpu_host_cost: unavailable: not built"; fi
python=${GEMMSMITH_PYTHON:-python3}
preload=$(find "$build" -name libgemmsmith_blas.so 2>/dev/null | head -n 1)
package=$(find "$build" -type d -path '*tests/python/package' 2>/dev/null | head -n 1)
if ! "$python" -c "import torch" 2>/dev/null; then
  note "torch: unavailable: $python has no torch"
elif [ -z "$preload" ]; then
  note "torch: unavailable: libgemmsmith_blas.so is not built"
else
  lane torch "$python" tests/gpu/torch_check --preload "$preload" --package "$package" \
    --plans "$plans" --out "$results/torch"
fi

# The sanitizer watches launches of our families alone: vendor kernels confuse its tools.
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
families=DirectTest.FamiliesOnRaggedAndTinyShapes
watched=$families:SplitTest.SumsThroughTheWorkspaceAreExact
sanitize() { # TOOL FILTER
  "$sanitizer" --tool "$1" --error-exitcode 9 "$gpu_tests" --gtest_filter="$2"
}
if [ -z "$sanitizer" ]; then
  note "memcheck, racecheck, initcheck, synccheck: unavailable: no compute-sanitizer on this machine"
else
  # The control: a planted bug must be found, or the tool cannot work here.
  GEMMSMITH_PLANT_BUG=1 sanitize memcheck DirectTest.PlantedOutOfBoundsWrite \
    >"$results/planted.log" 2>&1
  control=$?
  if [ "$control" -eq 9 ] && grep -q "Invalid __global__ write" "$results/planted.log"; then
    note "planted bug: found by memcheck"
    lane memcheck sanitize memcheck "$watched"
    lane racecheck sanitize racecheck "$families:SplitTest.SumsOfOneCtaAnSmAreExact"
    # Informative: barriers of part of a CTA, which warp-specialised kernels use on purpose, raise
    # false alarms in synccheck.
    for tool in initcheck synccheck; do
      sanitize "$tool" "$watched" >"$results/$tool.log" 2>&1
      note "$tool (informative): exit $?"
    done
  else
    reason=$(grep -m 1 -iE "not supported|error" "$results/planted.log")
    note "memcheck, racecheck: unavailable: the planted bug was not found (exit $control: $reason)"
  fi
fi
# Last, for a GPU has been seen to leave its machine after a fault made on purpose.
suite FaultyKernelsTest
[ "$failed" -eq 0 ] && note "all lanes: ok"
exit "$failed"
