// Colorlight i9 v7.2 on its extension board, whose CMSIS-DAP probe is also the serial port.
Board {
    name: "colorlight-i9",
    summary: "Colorlight i9 v7.2 with an LFE5U-45F, on its extension board",
    device: device_of("ecp5-45"),
    constraints: include_str!("pins.lpf"),
    oscillator_mhz: 25.0,
    usual_mhz: 75.0,
    full_mhz: 70.0,
    pll: &pll::EHXPLLL,
    leds: Leds { alive: false, error: false, active_low: true },
    fixed_pins: &[],
    loader: &["--board", "colorlight-i9"],
    // The probe is a microcontroller, which drops bytes at more.
    baud: 1_000_000,
    // As LiteX-Boards has it for this board: the PHY delays the clock that goes out, and the FPGA what comes in, by 2 ns in steps
    // of 25 ps.
    ethernet: Some(&Ethernet { constraints: include_str!("ethernet.lpf"), rx_delay: 80, tx_delay: 0 }),
}
