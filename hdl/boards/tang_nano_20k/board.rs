// Sipeed Tang Nano 20K. Its BL616 shows itself as an FT2232: channel A is the programmer, B the serial port. The board's
// own name is unknown to openFPGALoader before 0.11, so the cable is named instead.
Board {
    name: "tang-nano-20k",
    summary: "Sipeed Tang Nano 20K with a GW2AR-18",
    device: device_of("gw2ar-18"),
    constraints: include_str!("pins.cst"),
    oscillator_mhz: 27.0,
    usual_mhz: 81.0,
    full_mhz: 81.0,
    pll: &pll::RPLL_GW2A,
    leds: Leds { alive: true, error: true, active_low: true },
    fixed_pins: &[],
    loader: &["--cable", "ft2232"],
    baud: 2_000_000,
    ethernet: None,
}
