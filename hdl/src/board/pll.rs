//! Phase-locked loops: from a board's oscillator to the clock that a design was made for.
//!
//! A loop divides its input by R, multiplies by F and divides by Q. Which products are legal is a matter of three
//! ranges of the data sheets: the phase detector's, the oscillator's (VCO) and the output's.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Where the feedback divider F takes its clock from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// The output: it is F times the phase detector's, and the VCO is Q times the output.
    Output,
    /// The VCO: it is F times the phase detector's, and the output is a Q-th of it.
    Vco,
}

/// A kind of loop. Frequencies are in MHz.
#[derive(Debug)]
pub struct Pll {
    /// The primitive's name.
    pub name: &'static str,
    /// The family that has it: the name of a [`crate::circuit::target::Target`].
    pub target: &'static str,
    pub feedback: Feedback,
    /// Input dividers are 1 to this, feedback dividers too.
    pub most_r: u32,
    pub most_f: u32,
    pub q: &'static [u32],
    pub phase_detector: RangeInclusive<f64>,
    pub vco: RangeInclusive<f64>,
    pub output: RangeInclusive<f64>,
    /// The primitive with its connections to `clk_in`, `clk` and `locked`; and to `core_clk`, with that divider of the VCO, where
    /// the loop has a second output.
    text: fn(&Setting, Option<u32>) -> String,
}

/// Every kind, by the word that a board names it with.
pub static KINDS: &[(&str, &Pll)] = &[
    ("ehxplll", &EHXPLLL),
    ("rpll-gw2ar", &RPLL_GW2AR),
    ("rpll-gw2a", &RPLL_GW2A),
    ("sb-pll40-pad", &SB_PLL40_PAD),
    ("mmcme2", &MMCME2),
    ("mmcme4", &MMCME4),
    ("altera-pll", &ALTERA_PLL),
];

/// The dividers of a loop and what comes of them, in MHz.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    pub input: f64,
    pub r: u32,
    pub f: u32,
    pub q: u32,
    pub phase_detector: f64,
    pub vco: f64,
    pub output: f64,
}

/// How a design is clocked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    /// By the oscillator itself.
    Oscillator,
    Loop(Setting),
}

impl Pll {
    /// The fastest clock from an oscillator of `input` MHz that is not above `wanted`, and its frequency. The
    /// error says what is possible.
    pub fn source(&self, input: f64, wanted: f64) -> Result<(Source, f64), String> {
        let direct = (input <= wanted).then_some((Source::Oscillator, input));
        let looped = self.best(input, wanted).map(|s| (Source::Loop(s), s.output));
        // The oscillator needs no time to lock, so it wins where it is as fast.
        direct.into_iter().chain(looped).reduce(|a, b| if b.1 > a.1 + 1e-9 { b } else { a }).ok_or_else(|| {
            let least = self.settings(input).map(|s| s.output).fold(input, f64::min);
            format!("from {input} MHz the slowest clock of {} is {least} MHz, not {wanted}", self.name)
        })
    }

    /// The same by the loop in any case, since its second output is needed.
    pub fn looped(&self, input: f64, wanted: f64) -> Result<(Setting, f64), String> {
        let none = || format!("from {input} MHz, {} makes no clock of at most {wanted} MHz", self.name);
        self.best(input, wanted).map(|s| (s, s.output)).ok_or_else(none)
    }

    fn best(&self, input: f64, wanted: f64) -> Option<Setting> {
        self.settings(input).filter(|s| s.output <= wanted * (1.0 + 1e-9)).max_by(|a, b| self.order(a, b))
    }

    /// Faster first, then the one with the faster phase detector (less jitter), then with the VCO in mid-range.
    fn order(&self, a: &Setting, b: &Setting) -> std::cmp::Ordering {
        let middle = (self.vco.start() + self.vco.end()) / 2.0;
        let off = |s: &Setting| (s.vco - middle).abs();
        let near = |x: f64, y: f64| if (x - y).abs() < 1e-9 { std::cmp::Ordering::Equal } else { x.total_cmp(&y) };
        near(a.output, b.output)
            .then(near(a.phase_detector, b.phase_detector))
            .then(near(off(b), off(a)))
            .then(b.q.cmp(&a.q))
    }

    /// Every legal setting.
    fn settings(&self, input: f64) -> impl Iterator<Item = Setting> {
        let of = move |(r, f, q): (u32, u32, u32)| {
            let phase_detector = input / r as f64;
            let product = phase_detector * f as f64;
            let (vco, output) = match self.feedback {
                Feedback::Output => (product * q as f64, product),
                Feedback::Vco => (product, product / q as f64),
            };
            Setting { input, r, f, q, phase_detector, vco, output }
        };
        let legal = |s: &Setting| self.vco.contains(&s.vco) && self.output.contains(&s.output);
        let detector = move |r: &u32| self.phase_detector.contains(&(input / *r as f64));
        // One of both clocks is known without q, and leaves few pairs of r and f.
        let beside = move |(r, f): &(u32, u32)| {
            let product = input / *r as f64 * *f as f64;
            match self.feedback {
                Feedback::Output => self.output.contains(&product),
                Feedback::Vco => self.vco.contains(&product),
            }
        };
        let pairs = (1..=self.most_r).filter(detector).flat_map(|r| (1..=self.most_f).map(move |f| (r, f)));
        let triples = pairs.filter(beside).flat_map(|(r, f)| self.q.iter().map(move |&q| (r, f, q)));
        triples.map(of).filter(legal)
    }

    /// The body of a module with the ports `clk_in`, `clk` and `locked`.
    pub fn verilog(&self, source: &Source) -> String {
        match source {
            Source::Oscillator => "    assign clk = clk_in;\n    assign locked = 1'b1;".into(),
            Source::Loop(setting) => (self.text)(setting, None),
        }
    }

    /// The same with the port `core_clk` too: the VCO's frequency divided by `divider`.
    pub fn verilog_of_two(&self, setting: &Setting, divider: u32) -> String {
        (self.text)(setting, Some(divider))
    }
}

/// An instance with parameters and connections, in the order given.
fn instance(primitive: &str, parameters: &[(&str, String)], connections: &[(&str, &str)]) -> String {
    let mut text = format!("    {primitive} #(\n");
    let list = |items: Vec<String>| items.join(",\n");
    let _ = writeln!(text, "{}", list(parameters.iter().map(|(n, v)| format!("        .{n}({v})")).collect()));
    let _ = writeln!(text, "    ) pll (");
    let _ = writeln!(text, "{}", list(connections.iter().map(|(n, v)| format!("        .{n}({v})")).collect()));
    text.push_str("    );");
    text
}

fn quoted(text: impl ToString) -> String {
    format!("\"{}\"", text.to_string())
}

const UP_TO_128: [u32; 128] = {
    let mut all = [0; 128];
    let mut k = 0;
    while k < 128 {
        all[k] = k as u32 + 1;
        k += 1;
    }
    all
};

/// Lattice ECP5 (data sheet FPGA-DS-02012), with feedback from CLKOP.
pub static EHXPLLL: Pll = Pll {
    name: "EHXPLLL",
    target: "ecp5",
    feedback: Feedback::Output,
    most_r: 128,
    most_f: 128,
    q: &UP_TO_128,
    phase_detector: 3.125..=400.0,
    vco: 400.0..=800.0,
    output: 3.125..=400.0,
    text: ehxplll,
};

fn ehxplll(s: &Setting, second: Option<u32>) -> String {
    // Half of the output's period in VCO clocks: the edges of CLKOP then lie on those of the input.
    let phase = s.q / 2;
    let mut parameters = vec![
        ("PLLRST_ENA", quoted("DISABLED")),
        ("INTFB_WAKE", quoted("DISABLED")),
        ("STDBY_ENABLE", quoted("DISABLED")),
        ("DPHASE_SOURCE", quoted("DISABLED")),
        ("OUTDIVIDER_MUXA", quoted("DIVA")),
        ("OUTDIVIDER_MUXB", quoted("DIVB")),
        ("OUTDIVIDER_MUXC", quoted("DIVC")),
        ("OUTDIVIDER_MUXD", quoted("DIVD")),
        ("CLKI_DIV", s.r.to_string()),
        ("CLKOP_ENABLE", quoted("ENABLED")),
        ("CLKOP_DIV", s.q.to_string()),
        ("CLKOP_CPHASE", phase.to_string()),
        ("CLKOP_FPHASE", "0".into()),
        ("FEEDBK_PATH", quoted("CLKOP")),
        ("CLKFB_DIV", s.f.to_string()),
    ];
    let mut connections = vec![
        ("RST", "1'b0"),
        ("STDBY", "1'b0"),
        ("CLKI", "clk_in"),
        ("CLKOP", "clk"),
        ("CLKFB", "clk"),
        ("CLKINTFB", ""),
        ("PHASESEL0", "1'b0"),
        ("PHASESEL1", "1'b0"),
        ("PHASEDIR", "1'b1"),
        ("PHASESTEP", "1'b1"),
        ("PHASELOADREG", "1'b1"),
        ("PLLWAKESYNC", "1'b0"),
        ("ENCLKOP", "1'b0"),
        ("LOCK", "locked"),
    ];
    if let Some(divider) = second {
        parameters.extend([
            ("CLKOS_ENABLE", quoted("ENABLED")),
            ("CLKOS_DIV", divider.to_string()),
            ("CLKOS_CPHASE", (divider / 2).to_string()),
            ("CLKOS_FPHASE", "0".into()),
        ]);
        connections.push(("CLKOS", "core_clk"));
    }
    instance("EHXPLLL", &parameters, &connections)
}

/// Gowin GW2AR and GW2A of speed grade C8/I7 (data sheets DS226 and DS102), whose loops differ in the name of the device alone.
pub static RPLL_GW2AR: Pll = gw2a(|s, _| rpll(s, "GW2AR-18C"));
pub static RPLL_GW2A: Pll = gw2a(|s, _| rpll(s, "GW2A-18C"));

const fn gw2a(text: fn(&Setting, Option<u32>) -> String) -> Pll {
    Pll {
        name: "rPLL",
        target: "gowin",
        feedback: Feedback::Output,
        most_r: 64,
        most_f: 64,
        q: &[2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128],
        phase_detector: 3.0..=500.0,
        vco: 500.0..=1250.0,
        output: 3.90625..=625.0,
        text,
    }
}

fn rpll(s: &Setting, device: &str) -> String {
    instance(
        "rPLL",
        &[
            ("FCLKIN", quoted(s.input)),
            ("DEVICE", quoted(device)),
            ("IDIV_SEL", (s.r - 1).to_string()),
            ("FBDIV_SEL", (s.f - 1).to_string()),
            ("ODIV_SEL", s.q.to_string()),
            ("DYN_IDIV_SEL", quoted("false")),
            ("DYN_FBDIV_SEL", quoted("false")),
            ("DYN_ODIV_SEL", quoted("false")),
            ("DYN_DA_EN", quoted("false")),
            ("PSDA_SEL", quoted("0000")),
            ("DUTYDA_SEL", quoted("1000")),
            ("CLKFB_SEL", quoted("internal")),
            ("CLKOUT_BYPASS", quoted("false")),
            ("CLKOUTP_BYPASS", quoted("false")),
            ("CLKOUTD_BYPASS", quoted("false")),
            ("DYN_SDIV_SEL", "2".into()),
            ("CLKOUTD_SRC", quoted("CLKOUT")),
            ("CLKOUTD3_SRC", quoted("CLKOUT")),
        ],
        &[
            ("CLKIN", "clk_in"),
            ("CLKFB", "1'b0"),
            ("RESET", "1'b0"),
            ("RESET_P", "1'b0"),
            ("FBDSEL", "6'b0"),
            ("IDSEL", "6'b0"),
            ("ODSEL", "6'b0"),
            ("PSDA", "4'b0"),
            ("DUTYDA", "4'b0"),
            ("FDLY", "4'b0"),
            ("CLKOUT", "clk"),
            ("CLKOUTP", ""),
            ("CLKOUTD", ""),
            ("CLKOUTD3", ""),
            ("LOCK", "locked"),
        ],
    )
}

/// Lattice iCE40 (technical note FPGA-TN-02052), fed by a pin.
pub static SB_PLL40_PAD: Pll = Pll {
    name: "SB_PLL40_PAD",
    target: "ice40",
    feedback: Feedback::Vco,
    most_r: 16,
    most_f: 128,
    q: &[2, 4, 8, 16, 32, 64],
    phase_detector: 10.0..=133.0,
    vco: 533.0..=1066.0,
    output: 16.0..=275.0,
    text: sb_pll40_pad,
};

fn sb_pll40_pad(s: &Setting, _: Option<u32>) -> String {
    let filter = match s.phase_detector {
        f if f < 17.0 => 1,
        f if f < 26.0 => 2,
        f if f < 44.0 => 3,
        f if f < 66.0 => 4,
        f if f < 101.0 => 5,
        _ => 6,
    };
    instance(
        "SB_PLL40_PAD",
        &[
            ("FEEDBACK_PATH", quoted("SIMPLE")),
            ("DIVR", format!("4'd{}", s.r - 1)),
            ("DIVF", format!("7'd{}", s.f - 1)),
            ("DIVQ", format!("3'd{}", s.q.ilog2())),
            ("FILTER_RANGE", format!("3'd{filter}")),
        ],
        &[
            ("PACKAGEPIN", "clk_in"),
            ("PLLOUTGLOBAL", "clk"),
            ("RESETB", "1'b1"),
            ("BYPASS", "1'b0"),
            ("LOCK", "locked"),
        ],
    )
}

/// AMD 7 series of speed grade -1 (data sheet DS181), with whole multipliers and dividers.
pub static MMCME2: Pll = Pll {
    name: "MMCME2_BASE",
    target: "xc7",
    feedback: Feedback::Vco,
    most_r: 106,
    most_f: 64,
    q: &UP_TO_128,
    phase_detector: 10.0..=450.0,
    vco: 600.0..=1200.0,
    output: 4.69..=800.0,
    text: |s, _| mmcm("MMCME2_BASE", s),
};

/// AMD UltraScale+ of speed grade -1 and faster (data sheet DS925), with whole multipliers and dividers.
pub static MMCME4: Pll = Pll {
    name: "MMCME4_BASE",
    target: "xc7",
    feedback: Feedback::Vco,
    most_r: 106,
    most_f: 64,
    q: &UP_TO_128,
    phase_detector: 10.0..=450.0,
    vco: 800.0..=1600.0,
    output: 6.25..=667.0,
    text: |s, _| mmcm("MMCME4_BASE", s),
};

fn mmcm(primitive: &str, s: &Setting) -> String {
    let parameters = [
        ("CLKIN1_PERIOD", format!("{:.3}", 1000.0 / s.input)),
        ("DIVCLK_DIVIDE", s.r.to_string()),
        ("CLKFBOUT_MULT_F", format!("{:.3}", s.f as f64)),
        ("CLKOUT0_DIVIDE_F", format!("{:.3}", s.q as f64)),
    ];
    let connections = [
        ("CLKIN1", "clk_in"),
        ("CLKFBIN", "feedback"),
        ("CLKFBOUT", "feedback"),
        ("CLKOUT0", "made"),
        ("PWRDWN", "1'b0"),
        ("RST", "1'b0"),
        ("LOCKED", "locked"),
    ];
    format!(
        "    wire feedback, made;\n{}\n    BUFG buffer (.I(made), .O(clk));",
        instance(primitive, &parameters, &connections)
    )
}

/// Intel Cyclone V of speed grades 6 and 7 (data sheet CV-51002). Quartus finds the dividers from the frequencies; those of
/// [`Setting`] show that there are some.
pub static ALTERA_PLL: Pll = Pll {
    name: "altera_pll",
    target: "cyclonev",
    feedback: Feedback::Vco,
    most_r: 16,
    most_f: 64,
    q: &UP_TO_128,
    phase_detector: 5.0..=325.0,
    vco: 600.0..=1400.0,
    output: 5.0..=460.0,
    text: |s, _| altera_pll(s),
};

fn altera_pll(s: &Setting) -> String {
    let mhz = |mhz: f64| quoted(format!("{mhz:.6} MHz"));
    instance(
        "altera_pll",
        &[
            ("fractional_vco_multiplier", quoted("false")),
            ("reference_clock_frequency", mhz(s.input)),
            ("operation_mode", quoted("direct")),
            ("number_of_clocks", "1".into()),
            ("output_clock_frequency0", mhz(s.output)),
            ("phase_shift0", quoted("0 ps")),
            ("duty_cycle0", "50".into()),
            ("pll_type", quoted("General")),
            ("pll_subtype", quoted("General")),
        ],
        &[
            ("rst", "1'b0"),
            ("refclk", "clk_in"),
            ("fbclk", "1'b0"),
            ("fboutclk", ""),
            ("outclk", "clk"),
            ("locked", "locked"),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (loop, oscillator) of all boards.
    fn loops() -> impl Iterator<Item = (&'static Pll, f64)> {
        crate::board::BOARDS.iter().map(|b| (b.pll, b.oscillator_mhz))
    }

    #[test]
    fn every_setting_is_within_the_data_sheet() {
        for (pll, input) in loops() {
            for wanted in (12..400).step_by(7).map(f64::from).filter(|w| *w >= input) {
                let (source, mhz) = pll.source(input, wanted).unwrap();
                assert!(mhz <= wanted * (1.0 + 1e-9), "{}: {mhz} for {wanted}", pll.name);
                let Source::Loop(s) = source else {
                    assert_eq!(mhz, input);
                    continue;
                };
                // From the dividers alone, as the silicon computes it.
                let (r, f, q) = (s.r as f64, s.f as f64, s.q as f64);
                let (vco, output) = match pll.feedback {
                    Feedback::Output => (input / r * f * q, input / r * f),
                    Feedback::Vco => (input / r * f, input / r * f / q),
                };
                assert!((output - mhz).abs() < 1e-9 && pll.output.contains(&output), "{}: {s:?}", pll.name);
                assert!(pll.vco.contains(&vco), "{}: {s:?}", pll.name);
                assert!(pll.phase_detector.contains(&(input / r)), "{}: {s:?}", pll.name);
                assert!((1..=pll.most_r).contains(&s.r) && (1..=pll.most_f).contains(&s.f) && pll.q.contains(&s.q));
            }
        }
    }

    #[test]
    fn usual_clocks_are_met_closely() {
        // The vendors' calculators give these frequencies too.
        for (pll, input, wanted, least) in [
            (&EHXPLLL, 25.0, 100.0, 100.0),
            (&EHXPLLL, 25.0, 150.0, 150.0),
            (&EHXPLLL, 25.0, 133.0, 132.14),
            (&RPLL_GW2AR, 27.0, 108.0, 108.0),
            (&RPLL_GW2AR, 27.0, 100.0, 99.0),
            (&MMCME2, 100.0, 150.0, 150.0),
            (&MMCME4, 125.0, 200.0, 200.0),
            (&ALTERA_PLL, 50.0, 120.0, 120.0),
            (&SB_PLL40_PAD, 12.0, 30.0, 30.0),
            (&SB_PLL40_PAD, 12.0, 20.0, 19.87),
        ] {
            let (_, mhz) = pll.source(input, wanted).unwrap();
            assert!((least..=wanted + 1e-9).contains(&mhz), "{} for {wanted}: {mhz}", pll.name);
        }
    }

    #[test]
    fn the_oscillator_is_used_where_it_is_as_good() {
        assert_eq!(SB_PLL40_PAD.source(12.0, 15.0), Ok((Source::Oscillator, 12.0)));
        assert_eq!(EHXPLLL.source(25.0, 25.0), Ok((Source::Oscillator, 25.0)));
        assert!(EHXPLLL.source(25.0, 3.0).unwrap_err().contains("the slowest clock of EHXPLLL is 3.125 MHz"));
    }
}
