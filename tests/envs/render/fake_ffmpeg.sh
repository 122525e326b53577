#!/bin/sh
# Stands for ffmpeg in test_octet_video.py. Writes its arguments and what it read next to itself.
# FAKE_FFMPEG: unset: ends well; "fail": ends with 3 after a few bytes; "late": reads all, then
# fails; "hang": reads nothing and never ends; "linger": reads all and never ends; "die": killed.
here=$(dirname "$0")
printf '%s\n' "$@" >"$here/argv"
for out in "$@"; do :; done
out=${out#file:}
echo "a part" >"$out"
case "$FAKE_FFMPEG" in
fail)
    head -c 100 >/dev/null
    printf 'first line\nthe codec is missing\n' >&2
    exit 3
    ;;
late)
    cat >/dev/null
    echo "no room on the disk" >&2
    exit 1
    ;;
hang)
    echo $$ >"$here/pid"
    sleep 1000
    ;;
linger)
    cat >/dev/null
    echo $$ >"$here/pid"
    sleep 1000
    ;;
die)
    kill -9 $$
    ;;
esac
cat >"$here/bytes"
echo "a whole video" >"$out"
