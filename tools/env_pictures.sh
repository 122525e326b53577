#!/usr/bin/env bash
# Draws docs/img/env-classic.png, env-minatar.png and env-dmc.png: one picture of each family of
# environments, by `octet env render` and ffmpeg.
# usage: tools/env_pictures.sh OCTET [FOLDER]     FOLDER: docs/img by default
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
octet=$(realpath "${1:?usage: tools/env_pictures.sh OCTET [FOLDER]}")
out=$(realpath "${2:-$root/docs/img}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# draw NUMBER ID SIZE STEPS SEED
draw() {
    "$octet" env render "$2" --size "$3" --steps "$4" --seed "$5" --out "$work/$1.png"
}

# sheet NAME COLUMNSxROWS COLOURS: what was drawn, in the order of the numbers, with few colours
sheet() {
    ffmpeg -loglevel error -y -i "$work/%02d.png" -filter_complex \
        "tile=$2:padding=6:color=0xC8CDD3[t];[t]split[a][b];[a]palettegen=max_colors=$3:reserve_transparent=0[p];[b][p]paletteuse=dither=none" \
        -frames:v 1 "$out/env-$1.png"
    rm "$work"/*.png
}

draw 00 CartPole-v1 300x240 30 3
draw 01 MountainCar-v0 300x240 60 1
draw 02 Acrobot-v1 300x240 60 2
draw 03 Pendulum-v1 300x240 10 3
sheet classic 4x1 64

number=0
for game in Asterix Breakout Freeway Seaquest SpaceInvaders; do
    draw "0$number" "MinAtar/$game-v1" 240x240 120 3
    number=$((number + 1))
done
sheet minatar 5x1 32

number=0
for task in acrobot_swingup ball_in_cup_catch cartpole_swingup cheetah_run finger_turn_easy \
    fish_swim hopper_stand humanoid_stand pendulum_swingup point_mass_easy reacher_easy \
    swimmer_swimmer6 swimmer_swimmer15 walker_stand; do
    draw "$(printf %02d "$number")" "dmc:$task" 240x180 0 5
    number=$((number + 1))
done
sheet dmc 7x2 128
ls -l "$out"/env-{classic,minatar,dmc}.png
