//! The calls of GRAPE-6.

use super::{array, calls, count, room};
use crate::grape6::{self, PIPELINES, Source, Targets};
use fmm::direct::hermite::{Motion, Target};
use std::ffi::c_int;

type Triples = *const [f64; 3];
type Numbers = *const f64;

/// The status of a call that has targets of another number than there are, or none.
const FAILED: c_int = -1;

/// The status of a neighbour list that is longer than the room for it.
const TOO_LONG: c_int = 1;

/// The nearest neighbour of a target that has none.
const NONE: c_int = -1;

unsafe fn triple(name: &str, of: Numbers) -> [f64; 3] {
    // SAFETY: the caller gives three numbers.
    let of = unsafe { array(name, of, 3) };
    [of[0], of[1], of[2]]
}

unsafe fn first_half(
    (cluster, sources, n): (c_int, c_int, c_int),
    index: *const c_int,
    places: [Triples; 4],
    potentials: Numbers,
    eps2: f64,
    h2: Numbers,
) {
    let _ = potentials;
    let (sources, n) = (count("the number of sources", sources), count("the number of targets", n));
    // SAFETY: the caller gives arrays of so many elements.
    let (index, [x, v, a, jerk], h2) = unsafe {
        let names = ["positions", "velocities", "accelerations", "jerks"];
        let places: [&[[f64; 3]]; 4] = [0, 1, 2, 3].map(|k| array(names[k], places[k], n));
        let h2: &[f64] = if h2.is_null() { &[] } else { array("squares of radii", h2, n) };
        (array("indices", index, n), places, h2)
    };
    let at = (0..n).map(|k| Target { position: x[k], velocity: v[k], index: index[k] }).collect();
    let guess = (0..n).map(|k| Motion { potential: 0.0, acceleration: a[k], jerk: jerk[k] }).collect();
    grape6::with(cluster, |cluster| cluster.set_targets(Targets { at, guess, eps2, h2: h2.to_vec(), sources }));
}

unsafe fn last_half(
    (cluster, n): (c_int, c_int),
    accelerations: *mut [f64; 3],
    jerks: *mut [f64; 3],
    potentials: *mut f64,
    nearest: Option<*mut c_int>,
) -> c_int {
    let n = count("the number of targets", n);
    grape6::with(cluster, |cluster| {
        if n > cluster.targets().at.len() {
            return FAILED;
        }
        // SAFETY: the caller gives arrays of so many elements.
        let (accelerations, jerks, potentials) =
            unsafe { (room(accelerations, n), room(jerks, n), room(potentials, n)) };
        let motions = cluster.motions();
        accelerations.iter_mut().zip(&motions).for_each(|(to, of)| *to = of.acceleration);
        jerks.iter_mut().zip(&motions).for_each(|(to, of)| *to = of.jerk);
        potentials.iter_mut().zip(&motions).for_each(|(to, of)| *to = of.potential);
        if let Some(nearest) = nearest {
            // SAFETY: as above.
            let room = unsafe { room(nearest, n) };
            room.iter_mut().zip(cluster.nearest()).for_each(|(to, found)| *to = found.unwrap_or(NONE));
        }
        0
    })
}

unsafe fn neighbour_list(
    (cluster, target, most): (c_int, c_int, c_int),
    length: *mut c_int,
    list: *mut c_int,
) -> c_int {
    let (target, most) = (count("the number of a target", target), count("the length of a list", most));
    grape6::with(cluster, |cluster| {
        let found = cluster.neighbours(target);
        let is_whole = found.len() <= most;
        let kept = &found[..found.len().min(most)];
        // SAFETY: the caller gives a number and a list of that length.
        unsafe {
            room(length, 1).iter_mut().for_each(|length| *length = kept.len() as c_int);
            room(list, most).iter_mut().zip(kept).for_each(|(to, index)| *to = *index);
        }
        if is_whole { 0 } else { TOO_LONG }
    })
}

calls! {
    g6_open g6_open_(value cluster: c_int) -> c_int { grape6::open(cluster); 0 }

    g6_open_special g6_open_special_(value cluster: c_int, value _boards: c_int, array _board: *const c_int) -> c_int { grape6::open(cluster); 0 }

    g6_close g6_close_(value cluster: c_int) -> c_int { grape6::close(cluster); 0 }

    g6_reset g6_reset_(value _cluster: c_int) -> c_int { 0 }

    g6_reset_fofpga g6_reset_fofpga_(value _cluster: c_int) -> c_int { 0 }

    g6_npipes g6_npipes_() -> c_int { PIPELINES as c_int }

    /// The units of space and time follow from the particles. Codes give them as numbers of several types.
    g6_set_tunit g6_set_tunit_() -> c_int { 0 }

    g6_set_xunit g6_set_xunit_() -> c_int { 0 }

    g6_set_ti g6_set_ti_(value cluster: c_int, value time: f64) -> c_int {
        grape6::with(cluster, |cluster| cluster.set_time(time));
        0
    }

    /// Sources are taken at once.
    g6_initialize_jp_buffer g6_initialize_jp_buffer_(value _cluster: c_int, value _size: c_int) -> c_int { 0 }

    g6_flush_jp_buffer g6_flush_jp_buffer_(value _cluster: c_int) -> c_int { 0 }

    g6_setup_njdata g6_setup_njdata_(value _cluster: c_int, value _n: c_int) -> c_int { 0 }

    g6_set_neighbour_list_sort_mode g6_set_neighbour_list_sort_mode_(value _mode: c_int) -> c_int { 0 }

    g6_set_overflow_flag_test_mode g6_set_overflow_flag_test_mode_(value _acceleration: c_int, value _jerk: c_int, value _potential: c_int) -> c_int { 0 }

    g6_set_j_particle g6_set_j_particle_(
        value cluster: c_int, value address: c_int, value index: c_int, value time: f64, value _step: f64, value mass: f64,
        array snap: Numbers, array jerk: Numbers, array acceleration: Numbers, array velocity: Numbers, array position: Numbers
    ) -> c_int {
        // SAFETY: the caller gives arrays of three numbers.
        let source = unsafe {
            Source {
                index,
                time,
                mass,
                snap: triple("snap/18", snap),
                jerk: triple("jerk/6", jerk),
                acceleration: triple("a/2", acceleration),
                velocity: triple("a velocity", velocity),
                position: triple("a position", position),
            }
        };
        let address = count("an address", address);
        grape6::with(cluster, |cluster| cluster.set_source(address, source));
        0
    }

    g6calc_firsthalf g6calc_firsthalf_(
        value cluster: c_int, value sources: c_int, value n: c_int, array index: *const c_int, array x: Triples, array v: Triples,
        array a: Triples, array jerk: Triples, array potential: Numbers, value eps2: f64, array h2: Numbers
    ) {
        unsafe { first_half((cluster, sources, n), index, [x, v, a, jerk], potential, eps2, h2) }
    }

    g6calc_lasthalf g6calc_lasthalf_(
        value cluster: c_int, value _sources: c_int, value n: c_int, array _index: *const c_int, array _x: Triples, array _v: Triples,
        value _eps2: f64, array _h2: Numbers, array a: *mut [f64; 3], array jerk: *mut [f64; 3], array potential: *mut f64
    ) -> c_int {
        unsafe { last_half((cluster, n), a, jerk, potential, None) }
    }

    g6calc_lasthalf2 g6calc_lasthalf2_(
        value cluster: c_int, value _sources: c_int, value n: c_int, array _index: *const c_int, array _x: Triples, array _v: Triples,
        value _eps2: f64, array _h2: Numbers, array a: *mut [f64; 3], array jerk: *mut [f64; 3], array potential: *mut f64,
        array nearest: *mut c_int
    ) -> c_int {
        unsafe { last_half((cluster, n), a, jerk, potential, Some(nearest)) }
    }

    /// Finds the neighbour lists of the targets that were given last.
    g6_read_neighbour_list g6_read_neighbour_list_(value cluster: c_int) -> c_int {
        grape6::with(cluster, |cluster| cluster.find_neighbours());
        0
    }

    g6_get_neighbour_list g6_get_neighbour_list_(
        value cluster: c_int, value target: c_int, value most: c_int, array length: *mut c_int, array list: *mut c_int
    ) -> c_int {
        unsafe { neighbour_list((cluster, target, most), length, list) }
    }
}
