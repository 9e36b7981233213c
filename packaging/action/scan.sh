#!/usr/bin/env bash
# The step of the GitHub Action. SALLYPORT names the program; npx fetches it otherwise.
set -euo pipefail
if [ -n "${SALLYPORT:-}" ]; then program=("$SALLYPORT"); else program=(npx -y "sallyport@${VERSION:-latest}"); fi
options=(--mcp-config "${CONFIG:-.mcp.json}" --format sarif -o "${SARIF:-sallyport.sarif}")
[ ! -f "${LOCK:-sallyport.lock}" ] || options+=(--lock "${LOCK:-sallyport.lock}")
for what in ${FAIL_ON:-}; do options+=(--fail-on "$what"); done
"${program[@]}" scan "${options[@]}"
