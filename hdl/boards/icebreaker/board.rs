// 1BitSquared iCEBreaker. Its FT2232H has the flash on channel A and the serial port on B.
Board {
    name: "icebreaker",
    summary: "1BitSquared iCEBreaker with an iCE40 UP5K; holds small kernels such as p2p_small",
    device: device_of("up5k"),
    constraints: include_str!("pins.pcf"),
    oscillator_mhz: 12.0,
    usual_mhz: 12.0,
    full_mhz: 12.0,
    pll: &pll::SB_PLL40_PAD,
    leds: Leds { alive: false, error: true, active_low: true },
    fixed_pins: &[],
    loader: &["--board", "ice40_generic"],
    baud: 1_000_000,
    ethernet: None,
}
