//! How many pipelines a device holds, with the lane groups that they make, by counting cells.

use crate::Area;
use hdl::board::Device;
use hdl::engine::usual_groups;

/// A lane group's module to be measured: what each group has besides its lanes.
#[derive(Debug)]
pub struct GroupSample<'a> {
    pub verilog: &'a str,
    /// Its module.
    pub top: &'a str,
}

/// How many pipelines a device holds, and what would be used up first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fits {
    pub pipelines: u64,
    /// The lane groups that they make.
    pub groups: u64,
    pub bound: &'static str,
    pub resources: Vec<Resource>,
}

/// One resource of a device, and what of it the parts of an engine take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    pub name: &'static str,
    /// The amount that an engine takes once.
    pub shell: u64,
    /// The amount that each lane group takes: its copy of the j memory, lists, sequencer and collector.
    pub group: u64,
    pub lane: u64,
    /// The amount that the device has.
    pub all: u64,
}

/// The areas that it follows from: of the whole design, of one of its `groups` and of one of its `lanes`, and of a group of as
/// many lanes as larger engines have.
pub(crate) struct Parts<'a> {
    pub design: &'a Area,
    pub lanes: u64,
    pub groups: u64,
    pub lane: &'a Area,
    pub own_group: &'a Area,
    pub full_group: &'a Area,
}

/// The numbers of lanes that engines have: those that make groups of a usual size.
fn sizes() -> impl Iterator<Item = u32> {
    (1..=255).filter(|n| *n <= 8 || usual_groups(*n) > 1)
}

/// The resources of a device that are too few for a design even if all of it is packed as tightly as can be.
pub(crate) fn lacks(design: &Area, device: &Device) -> Option<String> {
    let rows = [
        ("lookup tables", design.luts, device.luts),
        ("flip-flops", design.flip_flops, device.flip_flops),
        ("multipliers", design.multipliers, device.multipliers),
        ("block memories", design.memories, device.memories),
    ];
    let (name, needed, there) = rows.into_iter().find(|(_, needed, there)| *needed > *there as u64)?;
    Some(format!("it takes {needed} {name} of {there}"))
}

/// Whether a device could hold the lanes of the smallest engine of several groups.
pub(crate) fn takes_groups(device: &Device, lane: &Area) -> bool {
    let smallest = sizes().find(|n| usual_groups(*n) > 1).expect("large engines have several groups") as u64;
    let lanes = Area {
        luts: smallest * lane.luts,
        flip_flops: smallest * lane.flip_flops,
        multipliers: smallest * lane.multipliers,
        memories: smallest * lane.memories,
        ..Area::default()
    };
    lacks(&lanes, device).is_none()
}

/// How many lanes fit in the groups that engines of their number usually have, each resource used to its last.
pub(crate) fn fits(device: &Device, parts: &Parts) -> Fits {
    let shell = parts.design.less(parts.lanes, parts.lane).less(parts.groups, parts.own_group);
    // Where a flip-flop has no way into an element beside a table, elements are what is used up.
    let luts = |area: &Area| if device.target == "ice40" { area.logic_elements_most() } else { area.luts };
    let of = |name, area: fn(&Area) -> u64, all: u32| Resource {
        name,
        shell: area(&shell),
        group: area(parts.full_group),
        lane: area(parts.lane),
        all: all as u64,
    };
    let mut resources = vec![
        of("lookup tables", |a| a.luts, device.luts),
        of("flip-flops", |a| a.flip_flops, device.flip_flops),
        of("multipliers", |a| a.multipliers, device.multipliers),
        of("block memories", |a| a.memories, device.memories),
    ];
    if device.target == "ice40" {
        let whole =
            luts(parts.design).saturating_sub(parts.lanes * luts(parts.lane) + parts.groups * luts(parts.own_group));
        resources[0] = Resource {
            name: "logic cells",
            shell: whole,
            group: luts(parts.full_group),
            lane: luts(parts.lane),
            all: device.luts as u64,
        };
    }
    let mut found = Fits { bound: "nothing", ..Fits::default() };
    for lanes in sizes() {
        let groups = usual_groups(lanes) as u64;
        let over = |r: &&Resource| r.shell + groups * r.group + lanes as u64 * r.lane > r.all;
        match resources.iter().find(over) {
            // The first that does not fit says what is used up.
            Some(r) if found.bound == "nothing" => found.bound = r.name,
            Some(_) => {}
            None => (found.pipelines, found.groups, found.bound) = (lanes as u64, groups, "nothing"),
        }
    }
    Fits { resources, ..found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(luts: u64, flip_flops: u64, multipliers: u64, memories: u64) -> Area {
        Area { luts, flip_flops, multipliers, memories, ..Area::default() }
    }

    #[test]
    fn each_lane_group_takes_block_memories_of_its_own() {
        let device = hdl::board::device("ecp5-85").expect("it is in the list");
        // About what p2p_paper takes: a group's copy of the j memory is what is used up.
        let (lane, group) = (area(1500, 1300, 4, 1), area(1800, 1500, 0, 33));
        let design = area(1500 + 1800 + 900, 1300 + 1500 + 800, 4, 35);
        let parts = Parts { design: &design, lanes: 1, groups: 1, lane: &lane, own_group: &group, full_group: &group };
        let fits = fits(device, &parts);
        assert_eq!((fits.pipelines, fits.groups, fits.bound), (35, 5, "block memories"));
        // All groups' memories together are within the device's.
        let memories = &fits.resources[3];
        assert_eq!((memories.shell, memories.group, memories.lane, memories.all), (1, 33, 1, 208));
        let taken = |groups, lanes| memories.shell + groups * memories.group + lanes * memories.lane;
        assert!(taken(5, 35) <= memories.all && taken(6, 36) > memories.all);
    }

    #[test]
    fn what_a_device_lacks_is_known_before_it_is_filled() {
        let device = hdl::board::device("up5k").expect("it is in the list");
        assert_eq!(lacks(&area(5000, 5280, 8, 30), device), None);
        assert_eq!(lacks(&area(5000, 10, 0, 33), device).as_deref(), Some("it takes 33 block memories of 30"));
        assert_eq!(lacks(&area(7252, 10, 0, 33), device).as_deref(), Some("it takes 7252 lookup tables of 5280"));
        // Ten lanes are the fewest in two groups.
        assert!(takes_groups(device, &area(528, 500, 0, 3)) && !takes_groups(device, &area(529, 500, 0, 3)));
    }

    #[test]
    fn lanes_beyond_one_device_are_none() {
        let device = hdl::board::device("up5k").expect("it is in the list");
        let lane = area(9000, 10, 0, 0);
        let none = Area::default();
        let parts = Parts { design: &lane, lanes: 1, groups: 1, lane: &lane, own_group: &none, full_group: &none };
        let fits = fits(device, &parts);
        assert_eq!((fits.pipelines, fits.bound), (0, "logic cells"));
    }
}
