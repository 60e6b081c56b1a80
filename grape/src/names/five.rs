//! The calls of GRAPE-5. Those that end in `MC` take a device number first, the others are for device 0.

use super::{array, calls, count, room};
use crate::grape5::{self, Board};
use std::ffi::c_int;

type Triples = *const [f64; 3];
type Numbers = *const f64;

fn set_n(device: c_int, n: c_int) {
    let n = count("the number of sources", n);
    grape5::with(device, |board| board.set_n(n));
}

unsafe fn set_sources(
    device: c_int,
    (address, n): (c_int, c_int),
    positions: Option<Triples>,
    masses: Option<Numbers>,
) {
    let (address, n) = (count("an address", address), count("the number of sources", n));
    grape5::with(device, |board| {
        // SAFETY: the caller gives arrays of so many elements.
        unsafe {
            if let Some(positions) = positions {
                board.set_positions(address, array("an array of positions", positions, n));
            }
            if let Some(masses) = masses {
                board.set_masses(address, array("an array of masses", masses, n));
            }
        }
    });
}

unsafe fn set_targets(device: c_int, n: c_int, positions: Triples) {
    let n = count("the number of targets", n);
    // SAFETY: the caller gives an array of so many elements.
    let positions = unsafe { array("an array of positions", positions, n) };
    grape5::with(device, |board| board.set_targets(positions));
}

unsafe fn get_forces(device: c_int, n: c_int, accelerations: *mut [f64; 3], potentials: *mut f64) {
    let n = count("the number of targets", n);
    grape5::with(device, |board| {
        // SAFETY: the caller gives arrays of so many elements.
        unsafe { write(board.forces(), room(accelerations, n), room(potentials, n)) };
    });
}

fn write(forces: &[[f64; 4]], accelerations: &mut [[f64; 3]], potentials: &mut [f64]) {
    for (to, force) in accelerations.iter_mut().zip(forces) {
        *to = [force[1], force[2], force[3]];
    }
    for (to, force) in potentials.iter_mut().zip(forces) {
        *to = force[0];
    }
}

unsafe fn calculate(device: c_int, positions: Triples, accelerations: *mut [f64; 3], potentials: *mut f64, n: c_int) {
    let n = count("the number of targets", n);
    // SAFETY: the caller gives an array of so many elements.
    let positions = unsafe { array("an array of positions", positions, n) };
    grape5::with(device, |board| {
        board.set_targets(positions);
        board.run();
        // SAFETY: as above.
        unsafe { write(board.forces(), room(accelerations, n), room(potentials, n)) };
    });
}

calls! {
    g5_open g5_open_() { grape5::open() }

    g5_close g5_close_() { grape5::close() }

    g5_get_number_of_pipelines g5_get_number_of_pipelines_() -> c_int { grape5::PIPELINES as c_int }

    g5_get_number_of_pipelinesMC g5_get_number_of_pipelinesmc_(value _device: c_int) -> c_int { grape5::PIPELINES as c_int }

    g5_get_jmemsize g5_get_jmemsize_() -> c_int { grape5::MEMORY as c_int }

    g5_get_jmemsizeMC g5_get_jmemsizemc_(value _device: c_int) -> c_int { grape5::MEMORY as c_int }

    /// The range follows from the particles.
    g5_set_range g5_set_range_(value _low: f64, value _high: f64, value _mass: f64) {}

    g5_set_rangeMC g5_set_rangemc_(value _device: c_int, value _low: f64, value _high: f64, value _mass: f64) {}

    g5_set_eps_to_all g5_set_eps_to_all_(value eps: f64) { grape5::set_eps(eps) }

    g5_set_n g5_set_n_(value n: c_int) { set_n(0, n) }

    g5_set_nMC g5_set_nmc_(value device: c_int, value n: c_int) { set_n(device, n) }

    g5_set_xj g5_set_xj_(value address: c_int, value n: c_int, array x: Triples) {
        unsafe { set_sources(0, (address, n), Some(x), None) }
    }

    g5_set_xjMC g5_set_xjmc_(value device: c_int, value address: c_int, value n: c_int, array x: Triples) {
        unsafe { set_sources(device, (address, n), Some(x), None) }
    }

    g5_set_mj g5_set_mj_(value address: c_int, value n: c_int, array m: Numbers) {
        unsafe { set_sources(0, (address, n), None, Some(m)) }
    }

    g5_set_mjMC g5_set_mjmc_(value device: c_int, value address: c_int, value n: c_int, array m: Numbers) {
        unsafe { set_sources(device, (address, n), None, Some(m)) }
    }

    g5_set_xmj g5_set_xmj_(value address: c_int, value n: c_int, array x: Triples, array m: Numbers) {
        unsafe { set_sources(0, (address, n), Some(x), Some(m)) }
    }

    g5_set_xmjMC g5_set_xmjmc_(value device: c_int, value address: c_int, value n: c_int, array x: Triples, array m: Numbers) {
        unsafe { set_sources(device, (address, n), Some(x), Some(m)) }
    }

    g5_set_xi g5_set_xi_(value n: c_int, array x: Triples) { unsafe { set_targets(0, n, x) } }

    g5_set_xiMC g5_set_ximc_(value device: c_int, value n: c_int, array x: Triples) { unsafe { set_targets(device, n, x) } }

    g5_run g5_run_() { grape5::with(0, Board::run) }

    g5_runMC g5_runmc_(value device: c_int) { grape5::with(device, Board::run) }

    g5_get_force g5_get_force_(value n: c_int, array a: *mut [f64; 3], array p: *mut f64) { unsafe { get_forces(0, n, a, p) } }

    g5_get_forceMC g5_get_forcemc_(value device: c_int, value n: c_int, array a: *mut [f64; 3], array p: *mut f64) {
        unsafe { get_forces(device, n, a, p) }
    }

    g5_calculate_force_on_x g5_calculate_force_on_x_(array x: Triples, array a: *mut [f64; 3], array p: *mut f64, value n: c_int) {
        unsafe { calculate(0, x, a, p, n) }
    }

    g5_calculate_force_on_xMC g5_calculate_force_on_xmc_(
        value device: c_int, array x: Triples, array a: *mut [f64; 3], array p: *mut f64, value n: c_int
    ) {
        unsafe { calculate(device, x, a, p, n) }
    }
}
