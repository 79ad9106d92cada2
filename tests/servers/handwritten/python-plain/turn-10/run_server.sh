#!/usr/bin/env bash
# usage: bash run_server.sh PORT
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
export PYTHONDONTWRITEBYTECODE=1
exec python3 server.py "$1"
