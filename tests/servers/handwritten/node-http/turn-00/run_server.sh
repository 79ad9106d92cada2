#!/usr/bin/env bash
# usage: bash run_server.sh PORT
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
exec node server.mjs "${1:?port missing}"
