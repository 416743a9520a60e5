# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the other scripts share. To be sourced after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
if [[ -d ${JUNO_LLAMA_DIR:-} ]]; then
  JUNO_LLAMA_DIR=$(cd "$JUNO_LLAMA_DIR" && pwd) # the next line leaves the folder that a relative path refers to
fi
cd "$root"
mkdir -p "$logs"

# The compiler cache is in the checkout, like all that scripts write, and knows files by their place in it, so that it
# can be shared between clones through CCACHE_DIR.
export CCACHE_DIR=${CCACHE_DIR:-$root/.cache/ccache} CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# A git hook exports these; they would point every git call below at the wrong repository.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

# Ends the script even if the interrupted program took the signal as an ordinary failure.
trap 'exit 130' INT
trap 'exit 143' TERM

jobs=$(getconf _NPROCESSORS_ONLN)
export jobs

microseconds() {
  local now=${EPOCHREALTIME:-$SECONDS.000000}
  echo "${now/[.,]/}"
}

log_of() { echo "$logs/${1//[^A-Za-z0-9.]/-}.log"; }

# likely_reason LOG: the first line that looks like one. CMake puts the message on a line of its own.
likely_reason() {
  awk '
    found && NF { print substr(found " " $0, 1, 250); exit }
    !found && tolower($0) ~ /(^|[^a-z-])(error|fatal)( |:)/ {
      if (!/:$/) { print substr($0, 1, 250); exit }
      found = $0
    }' "$1"
}

# try TEXT COMMAND...: runs the command (or function) with its output in a log and prints one line when it ends.
# Leaves the exit status in $status and returns 0, because a function called in a condition (`if f`, `f || g`) would
# lose `set -e` inside; for the same reason never call try or step in a condition.
try() {
  local text=$1 begin elapsed log prefix note
  shift
  log=$(log_of "$text")
  note_file=$log.note
  rm -f "$note_file"
  begin=$(microseconds)
  if [[ -t 1 ]]; then printf '[ ...  ] %s\r' "$text"; fi
  set +e
  (
    set -e
    "$@"
  ) >"$log" 2>&1 </dev/null
  status=$?
  set -e
  elapsed=$(($(microseconds) - begin))
  printf -v prefix '[%4d.%ds]' $((elapsed / 1000000)) $((elapsed / 100000 % 10))
  note=
  if [[ -s $note_file ]]; then note=$(<"$note_file"); fi
  rm -f "$note_file"
  if ((status == 0)); then
    echo "$prefix $text${note:+: $note}"
  else
    if [[ -z $note ]]; then note=$(likely_reason "$log"); fi
    echo "$prefix FAILED $text${note:+: $note} (log: ${log#"$root"/})" >&2
  fi
}

# step TEXT COMMAND...: like try, but a failure ends the script.
step() {
  try "$@"
  if ((status != 0)); then exit 1; fi
}

# configure PRESET: for a step.
configure() { cmake --preset "$1" ${JUNO_LLAMA_DIR:+"-DJUNO_LLAMA_DIR=$JUNO_LLAMA_DIR"}; }

# Inside a step: what the step's line shall say besides its name.
note() { echo "$*" | tee "$note_file"; }

# Inside a step: ends it as failed, with the reason.
fail() {
  note "$@"
  exit 1
}
