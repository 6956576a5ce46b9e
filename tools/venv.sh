# shellcheck shell=bash
# Sourced by tools/test and tools/demo, from the root of the repository.
#
# ensure_venv EXTRA: makes .venv and installs tfkit[EXTRA] into it, unless that was done already for
# this pyproject.toml. PYTHON names another interpreter than python3.

ensure_venv() {
  local extra=$1 interpreter=${PYTHON:-python3} digest stamp
  if [[ ! -x .venv/bin/python ]]; then
    if ! "$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "tfkit needs Python 3.11 or newer. Found: $("$interpreter" --version 2>&1)." >&2
      echo "Install one, or name it: PYTHON=/path/to/python3.12 $0" >&2
      return 1
    fi
    echo "Making .venv with $("$interpreter" --version)" >&2
    if ! "$interpreter" -m venv --clear .venv; then
      rm -rf .venv
      return 1
    fi
  fi

  digest=$(.venv/bin/python -c '
import hashlib, pathlib
print(hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes()).hexdigest())') || return 1
  for stamp in ".venv/installed-$extra" .venv/installed-test; do # "test" has all the other extras
    [[ -f $stamp && $(<"$stamp") == "$digest" ]] && return 0
  done
  echo "Installing tfkit[$extra] into .venv (minutes the first time)" >&2
  .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input -e ".[$extra]" ||
    return 1
  echo "$digest" >".venv/installed-$extra"
}
