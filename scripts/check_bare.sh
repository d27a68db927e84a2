#!/bin/bash
# The two commands of the README on machines where nothing is installed: makes a bare Debian of each
# suite in a folder, with make and nothing else, gives it the last commit, and times `make demo` and
# `make test` there:
#   scripts/check_bare.sh [SUITE...]                (bookworm and trixie otherwise: Debian 12 and 13)
# Needs root, mmdebstrap and 10 GB for each in $TMPDIR; takes about half an hour for each on two
# cores. Packages come from the archive that this machine's apt has; INGOT_MIRROR names another one.
# Prints a line for each command, with the bound for two cores; fails where one fails or takes
# longer. What the commands said is in build/bare/SUITE.COMMAND.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suites=("$@")
((${#suites[@]})) || suites=(bookworm trixie)
((EUID == 0)) || { echo "check_bare: chroot needs root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "check_bare: there is no mmdebstrap; apt-get install mmdebstrap" >&2; exit 1; }
mirror=${INGOT_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  grep -oE '(https?|mirror|file)[^ ]*/debian/?( |$)' | head -1)}
logs=$PWD/build/bare
mkdir -p "$logs"
root=$(mktemp -d)
remove() {
  local folder
  for folder in proc dev; do ! mountpoint -q "$root/$folder" || umount -R "$root/$folder"; done
  rm -rf --one-file-system "$root"
}
trap remove EXIT

failed=0
check() {  # SUITE COMMAND MINUTES
  local begin outcome=passed minutes
  mmdebstrap --quiet --variant=minbase --include=make "$1" "$root" $mirror
  mount --bind /proc "$root/proc"
  mount --rbind /dev "$root/dev"
  git clone --quiet . "$root/ingot"
  begin=$SECONDS
  chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin make -C /ingot "$2" >"$logs/$1.$2.log" 2>&1 || outcome=FAILED
  minutes=$(awk "BEGIN { printf \"%.1f\", ($SECONDS - $begin) / 60 }")
  awk "BEGIN { exit !($minutes > $3) }" && outcome+=', too long'
  printf '%-10s make %-5s %5s of %2s minutes  %s\n' "$1" "$2" "$minutes" "$3" "$outcome"
  [[ $outcome == passed ]] || failed=1
  remove
}
for suite in "${suites[@]}"; do
  check "$suite" demo 7
  check "$suite" test 18
done
exit $failed
