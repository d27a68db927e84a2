#!/bin/bash
# Installs what Ingot is built and tested with, on Debian 12 and 13. Says nothing and takes no time
# when all of it is there. `scripts/setup.sh lint` adds the tools of `make format` and `make lint`;
# `scripts/setup.sh demo` leaves out those that tests alone need.
set -euo pipefail

packages=(
  g++ make cmake ninja-build ccache pkg-config
  llvm-19-dev liblld-19-dev zlib1g-dev libzstd-dev
  libsimdjson-dev libxxhash-dev libfmt-dev libcli11-dev libsodium-dev
  libgtest-dev libbenchmark-dev
)
# A model can be made for either machine on either machine: the kernels of the foreign one need its
# compiler.
case "$(uname -m)" in
  x86_64) packages+=(g++-aarch64-linux-gnu) ;;
  aarch64) packages+=(g++-x86-64-linux-gnu) ;;
  *) echo "setup: Ingot is built on x86_64 or aarch64, this machine is $(uname -m)" >&2; exit 1 ;;
esac
if [[ "${1:-}" != demo ]]; then
  packages+=(qemu-user clang-19 libclang-rt-19-dev)
fi
if [[ "${1:-}" == lint ]]; then
  packages+=(clang-format-19 clang-tidy-19)
fi

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this script knows Debian only; install by other means: ${packages[*]}" >&2
  exit 1
fi

# Prints those packages that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "${packages[@]}" 2>/dev/null | sed -n 's/^ii *//p' || true)
  printf '%s\n' "${packages[@]}" | grep -vxF -f <(printf '%s\n' "$installed" "-") || true
}

mapfile -t missing < <(missing_packages)
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: these packages are missing and installing them takes root or sudo: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"
}

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup: apt-get failed (its output is above); wanted: ${missing[*]}" >&2
  exit 1
fi

mapfile -t missing < <(missing_packages)
if ((${#missing[@]} != 0)); then
  echo "setup: still missing after the installation: ${missing[*]}" >&2
  exit 1
fi
