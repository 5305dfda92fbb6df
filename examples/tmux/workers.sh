#!/bin/sh
# A server, unless ADABKB_URL names one, and some workers, in the windows of a tmux session: ./workers.sh [WORKERS]
set -eu
cd "$(dirname "$0")"
workers=${1:-2}
session=svm
adabkb=$(command -v adabkb) || { # its path, because tmux may have another PATH
    echo "error: there is no adabkb on the PATH; install it: pip install 'adabkb-service[server]'" >&2
    exit 1
}

if [ -n "${ADABKB_URL:-}" ]; then
    tmux new-session -d -s "$session" -n watch "ADABKB_URL=$ADABKB_URL $adabkb study watch svm; exec sh"
else
    export ADABKB_URL="http://127.0.0.1:${ADABKB_PORT:-8000}"
    tmux new-session -d -s "$session" -n server \
        "ADABKB_PORT=${ADABKB_PORT:-8000} ADABKB_HOST=${ADABKB_HOST:-127.0.0.1} ADABKB_HOSTS=${ADABKB_HOSTS:-} $adabkb serve; exec sh"
fi
adabkb study create ../program/study.json --retry-for 60 # waits until the server is there; opens the study if it exists
for number in $(seq "$workers"); do
    tmux new-window -d -t "$session" -n "worker-$number" \
        "ADABKB_URL=$ADABKB_URL $adabkb run svm --logs logs -- ../program/train.sh --C {C} --gamma {gamma}; exec sh"
done
echo "$workers workers are in the tmux session $session: tmux attach -t $session"
