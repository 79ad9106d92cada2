# What every image must be able to do.
set -e
for program in bash cargo cc curl git go jq node npm npx ps python3 rg rustc; do command -v "$program" >/dev/null || { echo "$program is missing"; exit 1; }; done
python3 -c 'import sys, ssl, sqlite3, http.server; sys.exit(sys.version_info < (3, 11))'
python3 -c 'import ssl; assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 0, "no trusted certificates"'
test -x /usr/local/lib/stamina/warden
node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)' || { echo "node is too old"; exit 1; }
npm --version >/dev/null
