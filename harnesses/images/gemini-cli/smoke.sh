test "$(GEMINI_CLI_NO_RELAUNCH=true gemini --version)" = 0.61.0 || { echo "gemini --version says $(gemini --version)"; exit 1; }
