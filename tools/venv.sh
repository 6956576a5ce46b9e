# shellcheck shell=bash
# Sourced by the scripts in tools/, from the root of the repository.
#
# The tools have environments of their own: `.venv` is the user's.
#
# prepare EXTRA: makes .venv-tools and installs tfkit-dl[EXTRA] into it, unless that was done already for this
# pyproject.toml; then sets the environment. PYTHON names another interpreter than python3. Programs are compiled
# again, unless TFKIT_CACHE names a folder: what is checked is what XLA makes of this source.

prepare() {
  set_environment
  make_venv && install "$1"
}

# prepare_oldest: makes .venv-oldest, with the oldest TensorFlow that pyproject.toml admits.
prepare_oldest() {
  set_environment
  local version stamp=.venv-oldest/installed
  version=$(sed -n 's/.*"tensorflow>=\([0-9.]*\)".*/\1/p' pyproject.toml)
  [[ -f $stamp && $(<"$stamp") == "$version" ]] && return 0
  echo "Installing TensorFlow $version into .venv-oldest (minutes the first time)" >&2
  "${PYTHON:-python3}" -m venv --clear .venv-oldest &&
    .venv-oldest/bin/python -m pip install -qq --disable-pip-version-check --no-input \
      -e . "tensorflow==$version.*" pytest &&
    echo "$version" >"$stamp"
}

# prepare_convert: makes .venv-convert, with JAX and PyTorch on top of the packages of .venv-tools, which are not
# installed twice. Builds of PyTorch for GPUs bring Triton, whose LLVM and TensorFlow's end the process when both are
# imported: hence one version, which is installed for CPUs.
prepare_convert() {
  prepare test || return 1
  local digest stamp=.venv-convert/installed
  digest=$(cksum <pyproject.toml)
  [[ -f $stamp && $(<"$stamp") == "$digest" ]] && return 0
  echo "Installing JAX and PyTorch into .venv-convert (minutes the first time)" >&2
  .venv-tools/bin/python -m venv --clear .venv-convert &&
    .venv-tools/bin/python -c '
import pathlib, sysconfig
(folder,) = pathlib.Path(".venv-convert").glob("lib/*/site-packages")
packages = sysconfig.get_path("purelib")
(folder / "tools.pth").write_text(f"import site; site.addsitedir({packages!r})\n")' &&
    .venv-convert/bin/python -m pip install -qq --disable-pip-version-check --no-input --no-compile \
      "tfkit-dl[jax]" flax optax torch==2.13.0 &&
    echo "$digest" >"$stamp"
}

set_environment() {
  export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2} TFKIT_CACHE=${TFKIT_CACHE:-off}
  if [[ -z ${TFKIT_DATA:-} && -d ../shared/data ]]; then
    TFKIT_DATA=$(cd ../shared/data && pwd)
    export TFKIT_DATA
  fi
}

make_venv() {
  local interpreter=${PYTHON:-python3}
  [[ -x .venv-tools/bin/python ]] && return 0
  if ! "$interpreter" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "tfkit needs Python 3.11 or newer. Found: $("$interpreter" --version 2>&1)" >&2
    echo "Install one, or name it: PYTHON=/path/to/python3.12 $0" >&2
    return 1
  fi
  echo "Making .venv-tools with $("$interpreter" --version)" >&2
  "$interpreter" -m venv --clear .venv-tools && return 0
  rm -rf .venv-tools # half of one would look like a whole one the next time
  return 1
}

install() {
  local extra=$1 digest stamp
  digest=$(.venv-tools/bin/python -c '
import hashlib, pathlib
print(hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes()).hexdigest())') || return 1
  for stamp in ".venv-tools/installed-$extra" .venv-tools/installed-test; do # "test" has all the other extras
    [[ -f $stamp && $(<"$stamp") == "$digest" ]] && return 0
  done
  echo "Installing tfkit-dl[$extra] into .venv-tools (minutes the first time)" >&2
  # Modules are compiled when they are imported, which most of them never are.
  .venv-tools/bin/python -m pip install -qq --disable-pip-version-check --no-input --no-compile \
    -e ".[$extra]" || return 1
  echo "$digest" >".venv-tools/installed-$extra"
}
