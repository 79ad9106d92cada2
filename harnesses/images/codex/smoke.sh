test "$(codex --version)" = "codex-cli 0.171.0" || { echo "codex --version says $(codex --version)"; exit 1; }
