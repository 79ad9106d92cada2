test "$(qwen --version)" = 0.24.4 || { echo "qwen --version says $(qwen --version)"; exit 1; }
