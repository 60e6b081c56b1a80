#!/usr/bin/env bash
# Makes the figures of docs/results/hardware.md and keeps their reports in docs/hardware. Names choose among them:
#   scripts/hardware.sh p2p_max10 ecp5_1
# Everything that the tools write and say stays under out/hardware.
set -euo pipefail
cd "$(dirname "$0")/.."
pairforge=${PAIRFORGE:-${CARGO_TARGET_DIR:-target}/release/pairforge}
out=${OUT:-out/hardware}
kept=docs/hardware
mkdir -p "$out" "$kept"

# Name and arguments of `pairforge synth`; one figure a line.
figures() {
    cat <<'END'
p2p_max10     p2p_paper --area-only --target max10
m2l_max10     m2l_paper --area-only --target max10
log_max10     gravity_log --area-only --target max10
p2p_ecp5      p2p_paper --area-only --target ecp5
p2p_gowin     p2p_paper --area-only --target gowin
p2p_ice40     p2p_paper --area-only --target ice40
p2p_cyclonev  p2p_paper --area-only --target cyclonev
p2p_xc7       p2p_paper --area-only --target xc7
ecp5_1        p2p_paper --device ecp5-85 --pipelines 1
ecp5_1_dsp3   p2p_paper --device ecp5-85 --pipelines 1 --dsp 3
ecp5_4        p2p_paper --device ecp5-85 --pipelines 4 --seeds 1
ecp5_8        p2p_paper --device ecp5-85 --pipelines 8 --seeds 1
ecp5_16       p2p_paper --device ecp5-85 --pipelines 16 --seeds 1
ecp5_32       p2p_paper --device ecp5-85 --pipelines 32 --freq 85 --seeds 1
ulx3s         p2p_paper --board ulx3s --freq 75
colorlight_i9 p2p_paper --board colorlight-i9 --freq 75
colorlight_i9_ethernet p2p_paper --board colorlight-i9 --ethernet
colorlight_i9_fmm p2p m2l_4 --board colorlight-i9 --ethernet --pipelines 3,1 --ii 1,32 --freq 70 --schedule 75 --seeds 1
tang_nano_20k p2p_paper --board tang-nano-20k --freq 81
icebreaker    p2p_small --board icebreaker --freq 12
icebreaker_p2p p2p --board icebreaker --freq 12 --ii 32 --jmem 64 --seed 2
END
}

figures | while read -r name arguments; do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
        continue
    fi
    echo "$name: pairforge synth $arguments"
    # shellcheck disable=SC2086
    "$pairforge" synth $arguments -o "$out/$name" </dev/null
    { echo "\$ pairforge synth $arguments -o DIR"; echo; cat "$out/$name/report.txt"; } > "$kept/$name.txt"
done
