// Radiona ULX3S, v2.0 to v3.1. The FT231X is both the programmer and the serial port; it keeps up with 3 Mbaud.
Board {
    name: "ulx3s",
    summary: "Radiona ULX3S with an LFE5U-85F",
    device: device_of("ecp5-85"),
    constraints: include_str!("pins.lpf"),
    oscillator_mhz: 25.0,
    usual_mhz: 75.0,
    full_mhz: 75.0,
    pll: &pll::EHXPLLL,
    leds: Leds { alive: true, error: true, active_low: false },
    // Holding it high keeps the ESP32 from taking over the board.
    fixed_pins: &[("wifi_gpio0", true)],
    loader: &["--board", "ulx3s"],
    baud: 3_000_000,
    ethernet: None,
}
