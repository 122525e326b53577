#!/usr/bin/env bash
# Makes docs/img/policies.gif: the first seconds of an episode of several runs' int8 policies side
# by side, at the speed of the tasks, by `octet eval --video` and ffmpeg.
# usage: tools/policies_gif.sh OCTET OUT.gif COLUMNS RUN...     RUN: a run folder with policy.oct
# SECONDS_LONG=5 FPS=12.5 WIDTH=200 HEIGHT=150 COLOURS=32 SEED=1 are the defaults.
set -euo pipefail
octet=$(realpath "${1:?usage: tools/policies_gif.sh OCTET OUT.gif COLUMNS RUN...}")
out=${2:?a file} columns=${3:?columns}
shift 3
long=${SECONDS_LONG:-5} fps=${FPS:-12.5} width=${WIDTH:-200} height=${HEIGHT:-150}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

inputs=() filter='' layout='' number=0
for run in "$@"; do
    "$octet" eval "$run/policy.oct" --episodes 1 --seed "${SEED:-1}" \
        --video "$work/$number.mp4" --video-size "$((2 * width))x$((2 * height))" --video-seconds "$long"
    inputs+=(-i "$work/$number.mp4")
    filter+="[$number:v]fps=$fps,scale=$width:$height:flags=area[v$number];"
    row=$((number / columns))
    layout+="${layout:+|}$((number % columns * (width + 4)))_$((row * (height + 4)))"
    number=$((number + 1))
done
for ((i = 0; i < number; i++)); do filter+="[v$i]"; done
filter+="xstack=inputs=$number:layout=$layout:fill=0xC8CDD3,split[a][b];"
filter+="[a]palettegen=max_colors=${COLOURS:-32}:reserve_transparent=0[p];"
filter+="[b][p]paletteuse=dither=none:diff_mode=rectangle"
ffmpeg -loglevel error -y "${inputs[@]}" -filter_complex "$filter" "$out"
ls -l "$out"
