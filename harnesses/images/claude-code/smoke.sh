test "$(claude --version | cut -d' ' -f1)" = 2.1.332 || { echo "claude --version says $(claude --version)"; exit 1; }
