test "$(openhands-runner --version)" = "openhands-sdk 1.58.2" || { echo "openhands-runner --version says $(openhands-runner --version)"; exit 1; }
