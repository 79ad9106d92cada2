test "$(vibe --version)" = "vibe 3.0.2" || { echo "vibe --version says $(vibe --version)"; exit 1; }
