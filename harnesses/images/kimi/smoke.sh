test "$(kimi-stdin --version </dev/null)" = 2.1.0 || { echo "kimi-stdin --version says $(kimi-stdin --version </dev/null)"; exit 1; }
