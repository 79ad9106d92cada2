test "$(kimi --version)" = "kimi, version 1.34.0" || { echo "kimi --version says $(kimi --version)"; exit 1; }
