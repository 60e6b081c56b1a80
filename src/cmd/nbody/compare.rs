//! Two integrations of the same bodies on two backends, and where they part.

use super::Args;
use super::figure::thinned;
use super::track::{Noted, Track};
use std::fmt::Write as _;
use terminal::chart::{Axis, Chart, Series, Style};
use terminal::failure::Failure;

/// Notes how far the bodies of a second integration are from those of the first one.
pub fn note(tracks: &mut [Track]) -> Result<(), Failure> {
    let [one, two] = tracks else { return Ok(()) };
    let (first, second) = (one.integrator.observed()?, two.integrator.observed()?);
    let columns = first.bodies.position.iter().zip(&second.bodies.position);
    let squares = columns.map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
    let apart = (squares.sum::<f64>() / first.bodies.len() as f64).sqrt();
    two.log.last_mut().expect("this time was noted").apart = apart;
    Ok(())
}

/// Change of the energy since the beginning, as a part of it.
fn error(track: &Track, now: &Noted) -> f64 {
    let first = track.log[0].sums.energy();
    (now.sums.energy() - first) / first
}

/// The times with the errors of both energies, and the distance.
pub fn table(one: &Track, two: &Track) -> String {
    let mut text = String::from("time,error,error_compared,rms_distance\n");
    for (first, second) in one.log.iter().zip(&two.log) {
        let errors = (error(one, first), error(two, second));
        writeln!(text, "{:?},{:?},{:?},{:?}", first.sums.time, errors.0, errors.1, second.apart)
            .expect("a string grows");
    }
    text
}

/// The same as a figure.
pub fn figure(one: &Track, two: &Track, args: &Args) -> String {
    let curve = |track: &Track| thinned(&track.log).map(|now| (now.sums.time, error(track, now).abs())).collect();
    let apart = thinned(&two.log).map(|now| (now.sums.time, now.apart)).collect();
    let chart = Chart {
        title: format!("{} beside {}", two.backend, one.backend),
        note: format!("{} bodies, steps of {}", one.len(), args.step),
        x: Axis::linear("time"),
        y: Axis::log("magnitude"),
        series: vec![
            Series::new(format!("energy error, {}", one.backend), 0, Style::Curve, curve(one)),
            Series::new(format!("energy error, {}", two.backend), 1, Style::Curve, curve(two)),
            Series::new("rms distance of bodies", 2, Style::Curve, apart),
        ],
        rules: Vec::new(),
    };
    chart.svg()
}
