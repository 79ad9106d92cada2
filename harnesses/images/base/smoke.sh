# What every image must be able to do.
set -e
for program in bash curl git ps python3; do command -v "$program" >/dev/null || { echo "$program is missing"; exit 1; }; done
python3 -c 'import sys, ssl, sqlite3, http.server; sys.exit(sys.version_info < (3, 11))'
python3 -c 'import ssl; assert ssl.create_default_context().cert_store_stats()["x509_ca"] > 0, "no trusted certificates"'
test -x /usr/local/lib/stamina/warden
