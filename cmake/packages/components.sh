# shellcheck shell=bash disable=SC2154
# Sourced by the parts of package.sh that ship what others have made: lists of components (SBOMs) in SPDX 2.3.

# list_components LIST ARGUMENTS...: see components.py.
list_components() {
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) python3 cmake/packages/components.py "$@"
}

# check_components LIST: the list is valid for the tools of the SPDX project.
check_components() {
  local python=$out/components-python
  [ -x "$python/bin/pyspdxtools" ] || {
    need python3 python3-venv
    python3 -m venv "$python"
    logged components-pip "$python/bin/pip" install --disable-pip-version-check \
      -r cmake/packages/requirements-components.txt
  }
  logged components "$python/bin/pyspdxtools" -i "$1"
}
