//! Devices that only their vendors' tools route: what they have by their data sheets, and the rules by which figures on them are
//! predicted. Nothing of it was measured here.
//!
//! - **Lanes** are those that fit by the estimate of `--fit` beside a shell for the link, as the family's target file maps them; UltraScale+
//!   is mapped as 7 series, whose tables, carry chains and shift registers it has, and Arria 10, Stratix 10 and Agilex 7 as Cyclone V, whose
//!   adaptive logic modules they have. A module counts as one table of six inputs, a block memory of 20 Kbit as one of 10, and a multiplier of
//!   27 x 18 bits as one of 25 x 18. Pipelines are cut for the family's usual clock.
//! - **The clock** is that usual clock for the slow families of 28 nm, whose delays the target file has. Of faster ones it is the vendor's
//!   default for user logic, as [`Part::clock`] says.
//! - **PCI Express** brings the rate of its lanes behind their coding, of which packets of 256 bytes leave 256 of 280.
//! - **Watts** are the card's greatest by its vendor, so that energy is an upper bound; of bare chips there is none.

use crate::kernel::fit::NETWORK;
use hdl::board::Device;
use pg2::report::area::Area;

/// A device that one might buy, on a board or card.
#[derive(Debug)]
pub struct Part {
    pub device: Device,
    pub link: PartLink,
    pub mhz: f64,
    /// Sources of the clock, of the resources, and of the watts.
    pub clock: &'static str,
    pub resources: &'static str,
    pub watts: Option<(f64, &'static str)>,
}

/// The way to the host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PartLink {
    /// A generation of PCI Express, 2 to 4, and its lanes.
    Pcie(u32, u32),
    /// Gigabits a second.
    Ethernet(u32),
}

/// DMA for PCI Express with sixteen lanes, and with eight or fewer: Intel's example design and its multichannel engine (user guides
/// 683527 and 683821). They are taken for AMD's devices too.
const SIXTEEN: Area = Area { tables: 57_099, registers: 119_054, multipliers: 0, memories: 571 };
const EIGHT: Area = Area { tables: 22_914, registers: 69_774, multipliers: 0, memories: 397 };

impl PartLink {
    /// Bytes a second in each direction.
    pub fn rate(self) -> f64 {
        match self {
            PartLink::Pcie(generation, lanes) => {
                let lane = match generation {
                    2 => 5e9 * 8.0 / 10.0,
                    3 => 8e9 * 128.0 / 130.0,
                    _ => 16e9 * 128.0 / 130.0,
                };
                lanes as f64 * lane / 8.0 * 256.0 / 280.0
            }
            PartLink::Ethernet(gigabits) => gigabits as f64 * 125e6,
        }
    }

    /// The part of the device that it takes.
    pub fn shell(self) -> Area {
        match self {
            PartLink::Pcie(_, 16) => SIXTEEN,
            // Of two lanes or four on a small device, the queues are half as wide.
            PartLink::Pcie(_, lanes) if lanes <= 4 => {
                Area { tables: EIGHT.tables / 2, registers: EIGHT.registers / 2, memories: 60, ..EIGHT }
            }
            PartLink::Pcie(..) => EIGHT,
            PartLink::Ethernet(_) => NETWORK,
        }
    }

    /// Bits of the streams that such a link fills.
    pub fn stream_bits(self) -> u32 {
        if let PartLink::Ethernet(1) = self { 32 } else { 128 }
    }

    pub fn words(self) -> String {
        match self {
            PartLink::Pcie(generation, lanes) => format!("PCI Express {generation} with {lanes} lanes"),
            PartLink::Ethernet(gigabits) => format!("Ethernet at {gigabits} Gbit/s"),
        }
    }
}

/// Delays of the family's target file.
const DELAYS: &str = "the family's target file, for which pipelines are cut";
/// Vitis's default for kernels.
const VITIS: &str = "the default clock of kernels in Vitis (UG1393)";
/// The interface of Intel's acceleration stack.
const CCI: &str = "the clock of the interface of Intel's acceleration stack (pClk)";

const fn device(names: [&'static str; 3], of: [u32; 4], memory_bits: u32) -> Device {
    let [name, summary, target] = names;
    let [luts, flip_flops, multipliers, memories] = of;
    Device { name, summary, target, route: &[], luts, flip_flops, multipliers, memories, memory_bits }
}

/// Every part. Block memories are those of the family's target file: half a block of 36 Kbit on AMD's devices.
pub static PARTS: &[Part] = &[
    Part {
        device: device(["artix7-100t", "AMD XC7A100T-2, as on LiteFury", "xc7"], [63_400, 126_800, 240, 270], 18_432),
        link: PartLink::Pcie(2, 4),
        mhz: 150.0,
        clock: DELAYS,
        resources: "DS180",
        watts: None,
    },
    Part {
        device: device(["artix7-200t", "AMD XC7A200T-2, as on NiteFury", "xc7"], [134_600, 269_200, 740, 730], 18_432),
        link: PartLink::Pcie(2, 4),
        mhz: 150.0,
        clock: DELAYS,
        resources: "DS180",
        watts: None,
    },
    Part {
        device: device(
            ["kintex7-325t", "AMD XC7K325T-2, as on the KC705", "xc7"],
            [203_800, 407_600, 840, 890],
            18_432,
        ),
        link: PartLink::Pcie(2, 8),
        mhz: 150.0,
        clock: DELAYS,
        resources: "DS180",
        watts: None,
    },
    Part {
        device: device(
            ["zu9eg", "AMD Zynq UltraScale+ ZU9EG, as on the ZCU102", "xc7"],
            [274_080, 548_160, 2_520, 1_824],
            18_432,
        ),
        link: PartLink::Ethernet(10),
        mhz: 300.0,
        clock: VITIS,
        resources: "DS891",
        watts: None,
    },
    Part {
        device: device(["alveo-u50", "AMD Alveo U50", "xc7"], [871_680, 1_743_360, 5_952, 2_688], 18_432),
        link: PartLink::Pcie(3, 16),
        mhz: 300.0,
        clock: VITIS,
        resources: "DS965",
        watts: Some((75.0, "the card's maximum (DS965)")),
    },
    Part {
        device: device(["alveo-u280", "AMD Alveo U280", "xc7"], [1_303_680, 2_607_360, 9_024, 4_032], 18_432),
        link: PartLink::Pcie(3, 16),
        mhz: 300.0,
        clock: VITIS,
        resources: "DS963",
        watts: Some((225.0, "the card's maximum (DS963)")),
    },
    Part {
        device: device(
            ["cyclone5-se-a6", "Intel 5CSEBA6, as on the DE10-Nano", "cyclonev"],
            [41_910, 166_036, 112, 553],
            10_240,
        ),
        link: PartLink::Ethernet(1),
        mhz: 150.0,
        clock: DELAYS,
        resources: "CV-51001",
        watts: None,
    },
    Part {
        device: device(
            ["arria10-gx1150", "Intel 10AX115, as on the PAC with Arria 10 GX", "cyclonev"],
            [427_200, 1_708_800, 1_518, 2_713],
            10_240,
        ),
        link: PartLink::Pcie(3, 8),
        mhz: 200.0,
        clock: CCI,
        resources: "A10-OVERVIEW (683332)",
        watts: Some((66.0, "the card's thermal design power")),
    },
    Part {
        device: device(
            ["stratix10-gx2800", "Intel 1SG280, as on the Bittware 520N", "cyclonev"],
            [933_120, 3_732_480, 5_760, 11_721],
            10_240,
        ),
        link: PartLink::Pcie(3, 8),
        mhz: 250.0,
        clock: CCI,
        resources: "S10-OVERVIEW (683729)",
        watts: Some((225.0, "the card's maximum")),
    },
    Part {
        device: device(["agilex7-f014", "Intel AGF014", "cyclonev"], [487_200, 1_948_800, 4_510, 7_110], 10_240),
        link: PartLink::Pcie(4, 16),
        mhz: 250.0,
        clock: CCI,
        resources: "Agilex 7 product table",
        watts: None,
    },
];

/// The part of that name.
pub fn part(name: &str) -> Option<&'static Part> {
    PARTS.iter().find(|part| part.device.name == name)
}

/// The device of that name: one that is routed here, or a part.
pub fn device_of(name: &str) -> Option<&'static Device> {
    hdl::board::device(name).or_else(|| part(name).map(|part| &part.device))
}

/// The names of all devices.
pub fn names() -> Vec<&'static str> {
    hdl::board::DEVICES.iter().chain(PARTS.iter().map(|part| &part.device)).map(|device| device.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdl::circuit::target::target;

    #[test]
    fn parts_have_names_of_their_own_a_family_and_its_block_memories() {
        let names = names();
        for (k, part) in PARTS.iter().enumerate() {
            let device = &part.device;
            assert_eq!(names.iter().filter(|name| **name == device.name).count(), 1, "{}", device.name);
            let target = target(device.target).expect("a family");
            assert_eq!(target.memory_bits, device.memory_bits, "{}", device.name);
            assert!(part.mhz >= target.usual_mhz && device.luts > part.link.shell().tables as u32, "{k}");
        }
    }

    #[test]
    fn links_bring_what_their_lanes_and_packets_leave() {
        for (link, rate) in
            [(PartLink::Pcie(2, 4), 1.829e9), (PartLink::Pcie(3, 16), 14.40e9), (PartLink::Ethernet(10), 1.25e9)]
        {
            assert!((link.rate() / rate - 1.0).abs() < 1e-3, "{link:?}: {}", link.rate());
        }
    }
}
