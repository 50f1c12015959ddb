#!/usr/bin/env bash
# install_deps.sh -- installs what building and testing need and this machine lacks, by package
# name, on Debian 12, Ubuntu 24.04 and their like. Does nothing, quickly, where all is present.
#
# CUDA's headers, NVRTC and CUPTI come from the toolkit where there is one, else from NVIDIA's wheels on
# PyPI (scripts/cuda-wheels.txt), laid out under .deps/cuda as a toolkit would be. Nothing outside
# the repository is touched but the system's packages.
#
#   install_deps.sh             to build and test
#   install_deps.sh --learner   also to train policies
#   install_deps.sh --browser   also to test the report in a browser
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build make pkg-config python3
  libfmt-dev libspdlog-dev nlohmann-json3-dev libexpected-dev libcli11-dev libtomlplusplus-dev
  libxxhash-dev libzstd-dev libsqlite3-dev libsqlitecpp-dev
  libeigen3-dev
  libgtest-dev librapidcheck-dev libbenchmark-dev
  node-d3
)
# What `gemmsmith train` needs: 600 MB that nothing else uses. OpenBLAS, because the reference BLAS
# that libtorch is content with trains several times slower.
learner_packages=(libtorch-dev libopenblas0-pthread)

# What draws the report where it is tested: 400 MB, and on Ubuntu a snap, so the test is skipped where
# there is no browser.
browser_packages=(chromium)

say() { echo "install_deps: $*" >&2; }

# The tools are often installed by other means than the package.
is_present() {
  case "$1" in
    g++ | cmake | make | python3) command -v "$1" >/dev/null && return 0 ;;
    ninja-build) command -v ninja >/dev/null && return 0 ;;
    pkg-config) command -v pkg-config >/dev/null && return 0 ;;
  esac
  dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

apt_install() {
  if ! command -v apt-get >/dev/null; then
    say "this is no Debian or Ubuntu: install what corresponds to: $*"
    exit 3
  fi
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "not root and no sudo: have an administrator run: apt-get install $*"
      exit 3
    fi
    root=(sudo)
  fi
  say "installing $*"
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do is_present "$package" || missing+=("$package"); done
  if [ ${#missing[@]} -gt 0 ]; then apt_install "${missing[@]}"; fi
}

# A folder that holds all the CUDA headers and libraries which the build and the tests use.
is_whole_toolkit() {
  local folder=$1 header
  for header in cuda.h nvrtc.h cuda_runtime_api.h cuda_fp16.h cublasLt.h cupti_range_profiler.h; do
    [ -f "$folder/include/$header" ] || [ -f "$folder/extras/CUPTI/include/$header" ] || return 1
  done
  compgen -G "$folder/lib*/libnvrtc.so.1[23]*" >/dev/null
}

install_cuda() {
  local folder
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" .deps/cuda /usr/local/cuda; do
    if [ -n "$folder" ] && is_whole_toolkit "$folder"; then return; fi
  done
  if ! python3 -m pip --version >/dev/null 2>&1; then apt_install python3-pip; fi
  say "no CUDA toolkit: taking headers, NVRTC and CUPTI from PyPI (about 500 MB to download, once)"
  mkdir -p .deps
  local work
  work=$(mktemp -d .deps/wheels.XXXXXX)
  # shellcheck disable=SC2064  # the folder's name is known now
  trap "rm -rf '$work'" EXIT
  # `pip download` installs nothing, so a system whose Python is managed by apt allows it.
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --dest "$work/wheels" --requirement scripts/cuda-wheels.txt
  python3 scripts/unpack_cuda_wheels.py "$work/wheels" "$work/cuda"
  rm -rf .deps/cuda
  mv "$work/cuda" .deps/cuda
  is_whole_toolkit .deps/cuda || { say "the wheels lack a header or NVRTC"; exit 3; }
}

case "${1:-}" in
  "") ;;
  --learner) packages+=("${learner_packages[@]}") ;;
  --browser) packages+=("${browser_packages[@]}") ;;
  *) say "unknown argument '$1': expected --learner, --browser or nothing"; exit 2 ;;
esac
install_packages
install_cuda
