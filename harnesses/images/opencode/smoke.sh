test "$(opencode --version)" = 1.18.33 || { echo "opencode --version says $(opencode --version)"; exit 1; }
