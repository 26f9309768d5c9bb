#!/usr/bin/env bash
# Submits a generation, waits for it and downloads its files. Needs bash and curl 7.76 or newer.
#
#   export GENROUTER_URL=http://127.0.0.1:8080 GENROUTER_API_KEY=gr_test_...
#   ./generate.sh sim-image-1 '{"prompt": "a tin robot"}' robot.png
#
# The second file of a result is saved as robot-2.png, and so on. A repeated call with the same IDEMPOTENCY_KEY in the environment returns
# the first generation and is charged once. Exit codes: 0 files saved, 1 generation failed, 2 any other error.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
  exit 0
fi
die() {
  echo "$1" >&2
  exit "${2:-2}"
}
[[ $# -eq 3 ]] || die "usage: generate.sh MODEL INPUT FILE, as in generate.sh sim-image-1 '{\"prompt\": \"a tin robot\"}' robot.png"
model=$1 input=$2 file=$3
url=${GENROUTER_URL:-http://127.0.0.1:8080}
[[ ${GENROUTER_API_KEY:-} =~ ^[A-Za-z0-9_]+$ ]] || die "GENROUTER_API_KEY: must be set to an API key, gr_live_... or gr_test_..."
[[ $model =~ ^[A-Za-z0-9._-]+$ ]] || die "MODEL: may contain letters, digits, '.', '_' and '-'"
[[ -d $(dirname -- "$file") && ! -d $file ]] || die "FILE: $file must be a file name in an existing directory"
idempotency_key=${IDEMPOTENCY_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}

# Sends one request and prints the response body. curl repeats it after 429, 5xx and refused connections, and obeys Retry-After. The key is
# given in a file descriptor, because other users of the machine can read the arguments of a process.
request() {
  curl --silent --show-error --fail-with-body --location --max-time 60 --retry 10 --retry-connrefused \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "$GENROUTER_API_KEY") "$@"
}
# Prints the first value of a text field of the JSON on standard input. A quote inside a JSON string is escaped, so it cannot match.
field() { grep -o "\"$1\": *\"[^\"]*\"" | head -n 1 | sed 's/^[^:]*: *"\(.*\)"$/\1/'; }

generation=$(request "$url/v1/generations" --header 'Content-Type: application/json' --header "Idempotency-Key: $idempotency_key" \
  --data-binary "{\"model\": \"$model\", \"input\": $input}") || die "not accepted: $generation"
id=$(field id <<<"$generation")

status=$(field status <<<"$generation")
while [[ $status == queued || $status == running ]]; do
  sleep 1
  generation=$(request "$url/v1/generations/$id") || die "$id: no status: $generation"
  status=$(field status <<<"$generation")
done
[[ $status == succeeded ]] || die "$id: $status: $generation" 1

count=$(grep -o '"urls": *\[[^]]*\]' <<<"$generation" | grep -o '"[^"]*"' | tail -n +2 | wc -l)
for ((n = 1; n <= count; n++)); do
  name=$file path=/v1/generations/$id/content
  if ((n > 1)); then
    path+=/$n
    ending=${file##*/}
    [[ $ending == *.* ]] && ending=.${ending##*.} || ending=
    name=${file%"$ending"}-$n$ending
  fi
  request "$url$path" --output "$name.part" || {
    rm -f -- "$name.part"
    die "$id: file $n was not downloaded"
  }
  mv -- "$name.part" "$name"
  echo "$name"
done
