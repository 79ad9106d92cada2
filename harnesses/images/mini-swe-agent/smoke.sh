test "$(mini-swe-runner --version)" = "mini-swe-agent 2.4.6" || { echo "mini-swe-runner --version says $(mini-swe-runner --version)"; exit 1; }
HOME=/tmp mini-swe-runner --state /tmp/none --session smoke --resume --model openai/none </dev/null | grep -q no_session || { echo "mini-swe-runner does not start"; exit 1; }
