# Shared by run and full: copy the checkout to a temporary folder, so that nothing of the developer's is used by accident.
set -euo pipefail
exec </dev/null
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTEST_ADDOPTS HYPOTHESIS_PROFILE FLUIDIO_FLUID
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
started=$SECONDS

step() { printf '\n=== %s (%d s)\n' "$*" $((SECONDS - started)); }
fail() { printf '\n*** %s\n' "$*" >&2; exit 1; }

find_python() { # find_python 3.11: print a stock interpreter of that version
    local candidate
    for candidate in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python3 "$(command -v "python$1" || true)" "$(command -v python3 || true)"; do
        [ -x "$candidate" ] || continue
        [ "$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" = "$1" ] || continue
        "$candidate" -c 'import sys; raise SystemExit(sys.prefix != sys.base_prefix)' || continue
        echo "$candidate"
        return
    done
    fail "no Python $1 outside a virtual environment"
}

copy_checkout() { # copy_checkout DIR: what git knows or would add, links as links
    mkdir -p "$1"
    (cd "$repository" && git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' path; do if [ -e "$path" ] || [ -L "$path" ]; then printf '%s\0' "$path"; fi; done |
        tar c --null --no-recursion -T -) | tar x -C "$1"
}

use_python() { # use_python INTERPRETER BINDIR: make `python3` and `python` mean it
    mkdir -p "$2"
    ln -sf "$1" "$2/python3"
    ln -sf "$1" "$2/python"
    export PATH="$2:$PATH"
}

readme_command() { # readme_command WORD: the one set-up line of the README that ends in WORD's command
    local found
    found=$(grep -E "^python3 -m venv .*$1" "$repository/README.md")
    [ "$(wc -l <<<"$found")" = 1 ] || fail "README.md must have exactly one line 'python3 -m venv ... $1', found: $found"
    echo "$found"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/fluidio-ci.XXXXXX")
trap 'rm -rf "$work"' EXIT
