//! LAMMPS dumps: frames of text, each with a box and a table of atoms.

use super::lines::Lines;
use super::{Found, Outcome, Wanted, arrays, boxed};
use fmm::data::particles::ParticleError;
use fmm::shown::shown;

const BEGIN: &str = "ITEM:";

pub fn is_dump(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// A frame: what stands before its atoms, whose names are in the last line that was read.
#[derive(Default)]
struct Head<'t> {
    step: String,
    atoms: usize,
    bounds: Option<Bounds>,
    names: Vec<&'t str>,
}

/// The box of a frame: its corner, and its edges as vectors, of which the first lies along x and the second in the plane of x and y.
#[derive(Clone, Copy)]
struct Bounds {
    low: [f64; 3],
    edges: [[f64; 3]; 3],
    is_periodic: bool,
}

/// The frames of which a message names the first ones.
const SHOWN: usize = 8;

pub fn read(bytes: Vec<u8>, inside: Option<&str>, wanted: Wanted) -> Outcome {
    let mut lines = Lines::of(&bytes)?;
    let mut steps: Vec<String> = Vec::new();
    let mut chosen = None;
    while !lines.is_at_end() {
        let head = head(&mut lines)?;
        let is_wanted = match inside {
            Some("last") => true,
            None | Some("first") => steps.is_empty(),
            Some(step) => head.step == step,
        };
        steps.push(head.step.clone());
        let count = head.atoms;
        if is_wanted {
            chosen = Some((lines.clone(), head));
        }
        if is_wanted && inside.is_some_and(|place| place != "last") {
            break;
        }
        skip(&mut lines, count)?;
    }
    let shown_steps = || {
        let some = steps.iter().take(SHOWN).map(|s| shown(s)).collect::<Vec<_>>().join(", ");
        if steps.len() > SHOWN { some + ", ..." } else { some }
    };
    match chosen {
        Some(_) if inside.is_none() && steps.len() > 1 => super::wrong(format!(
            "it has {} frames, of the timesteps {}; name one behind the file, as in FILE:/{}, FILE:/first or FILE:/last",
            steps.len(),
            shown_steps(),
            shown(&steps[1])
        )),
        Some((mut lines, head)) => atoms(&mut lines, head, wanted),
        None => super::wrong(format!(
            "it has no frame `{}`; its timesteps are {}",
            shown(inside.unwrap_or_default()),
            shown_steps()
        )),
    }
}

/// Reads up to the line that names the columns of the atoms.
fn head<'t>(lines: &mut Lines<'t>) -> Result<Head<'t>, ParticleError> {
    let mut head = Head::default();
    let mut has_atoms = false;
    loop {
        let line = lines.needed("`ITEM: ATOMS`")?;
        if line.trim().is_empty() {
            continue;
        }
        let Some(item) = line.strip_prefix(BEGIN).map(str::trim) else {
            return lines.wrong(format!("`{}` stands where a line `ITEM: ...` should", shown(line)));
        };
        match item {
            "TIMESTEP" => head.step = lines.needed("the timestep")?.trim().to_string(),
            "NUMBER OF ATOMS" => {
                let text = lines.needed("the number of atoms")?.trim();
                let Ok(count) = text.parse() else {
                    return lines.wrong(format!("`{}` is no number of atoms", shown(text)));
                };
                (head.atoms, has_atoms) = (count, true);
            }
            _ if item.starts_with("BOX BOUNDS") => head.bounds = Some(bounds(lines, item)?),
            _ if item.starts_with("ATOMS") => {
                head.names = item["ATOMS".len()..].split_whitespace().collect();
                if !has_atoms {
                    return lines.wrong("the number of atoms is missing before them (`ITEM: NUMBER OF ATOMS`)");
                }
                // The shortest atom is a digit for each column, with what parts it.
                if head.atoms.saturating_mul(2 * head.names.len().max(1)) > lines.left().saturating_add(1) {
                    return lines.wrong(format!(
                        "{} atoms were announced, but {} bytes follow; the file may have been cut",
                        head.atoms,
                        lines.left()
                    ));
                }
                return Ok(head);
            }
            // Units and time have a line each.
            _ => drop(lines.needed("the value of an item")?),
        }
    }
}

fn bounds(lines: &mut Lines, item: &str) -> Result<Bounds, ParticleError> {
    let (is_periodic, is_general) = (item.contains("pp"), item.contains("abc"));
    let mut rows = Vec::new();
    for _ in 0..3 {
        let line = lines.needed("the bounds of the box")?;
        let row: Result<Vec<f64>, _> = line.split_whitespace().map(|text| lines.number("a bound", text)).collect();
        rows.push(row?);
    }
    let wide = |count: usize| rows.iter().all(|row| row.len() >= count);
    if is_general && wide(4) {
        // Three edges, each with a coordinate of the corner behind it.
        let edges = [0, 1, 2].map(|k| [rows[k][0], rows[k][1], rows[k][2]]);
        return Ok(Bounds { low: [rows[0][3], rows[1][3], rows[2][3]], edges, is_periodic });
    }
    if !wide(2) {
        return lines.wrong("the bounds of the box are three lines of two numbers, or of three where it is tilted");
    }
    let tilt = if wide(3) { [rows[0][2], rows[1][2], rows[2][2]] } else { [0.0; 3] };
    let [xy, xz, yz] = tilt;
    // The bounds are those of the box around a tilted one.
    let (left, right) =
        ([xy, xz, xy + xz].into_iter().fold(0.0, f64::min), [xy, xz, xy + xz].into_iter().fold(0.0, f64::max));
    let low = [rows[0][0] - left, rows[1][0] - yz.min(0.0), rows[2][0]];
    let high = [rows[0][1] - right, rows[1][1] - yz.max(0.0), rows[2][1]];
    let edges = [[high[0] - low[0], 0.0, 0.0], [xy, high[1] - low[1], 0.0], [xz, yz, high[2] - low[2]]];
    Ok(Bounds { low, edges, is_periodic })
}

impl Bounds {
    /// The place of scaled coordinates.
    fn place(&self, s: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|axis| self.low[axis] + (0..3).map(|k| s[k] * self.edges[k][axis]).sum::<f64>())
    }

    fn note(&self) -> Option<String> {
        let is_tilted = (0..3).any(|k| (0..3).any(|axis| k != axis && self.edges[k][axis] != 0.0));
        match (self.is_periodic, is_tilted) {
            (false, _) => None,
            (true, true) => Some("its tilted periodic box is not used; `fmm --periodic` takes cubes".into()),
            (true, false) => Some(boxed([0, 1, 2].map(|k| self.edges[k][k]), true)),
        }
    }
}

fn skip(lines: &mut Lines, atoms: usize) -> Result<(), ParticleError> {
    (0..atoms).try_for_each(|_| lines.needed("an atom").map(drop))
}

/// Names of coordinates, those that come first being taken: as they are, unwrapped, scaled, and both.
const COORDINATES: [[&str; 3]; 4] = [["x", "y", "z"], ["xu", "yu", "zu"], ["xs", "ys", "zs"], ["xsu", "ysu", "zsu"]];
/// LAMMPS's names of dipole moments.
const MOMENTS: [&str; 3] = ["mux", "muy", "muz"];

fn atoms(lines: &mut Lines, head: Head, wanted: Wanted) -> Outcome {
    let Head { atoms, bounds, names, .. } = head;
    let place = |name: &str| names.iter().position(|n| *n == name);
    let listed = || names.iter().take(32).map(|n| shown(n)).collect::<Vec<_>>().join(" ");
    let found = COORDINATES.iter().enumerate().find_map(|(k, axes)| {
        let places = axes.map(place);
        (places.iter().flatten().count() == 3).then(|| (k >= 2, places.map(|p| p.expect("there are three"))))
    });
    let Some((is_scaled, places)) = found else {
        return lines.wrong(format!(
            "its atoms have the columns {}; x y z are needed, or xu yu zu, xs ys zs or xsu ysu zsu",
            listed()
        ));
    };
    let taken: Vec<(String, usize)> = (names.iter().enumerate())
        .filter_map(|(k, name)| match MOMENTS.iter().position(|m| m == name) {
            Some(axis) => Some((["px", "py", "pz"][axis].to_string(), k)),
            None if arrays::is_used(name) && !places.contains(&k) && !["x", "y", "z"].contains(name) => {
                Some((name.to_string(), k))
            }
            None => None,
        })
        .collect();
    if wanted.has_charges && !taken.iter().any(|(name, _)| arrays::is_charge(name) || name == "px") {
        return lines.wrong(format!(
            "its atoms have the columns {}, of which none is a charge; dump q too (or mass)",
            listed()
        ));
    }
    let (bounds, note) = match (bounds, is_scaled) {
        (None, true) => return lines.wrong("scaled coordinates need `ITEM: BOX BOUNDS`"),
        (None, false) => (None, None),
        (Some(bounds), _) => (Some(bounds).filter(|_| is_scaled), bounds.note()),
    };
    let mut axes = [(); 3].map(|()| Vec::with_capacity(atoms));
    let mut columns: Vec<Vec<f64>> = taken.iter().map(|_| Vec::with_capacity(atoms)).collect();
    let mut fields: Vec<&str> = Vec::new();
    for _ in 0..atoms {
        let line = lines.needed("an atom")?;
        fields.clear();
        fields.extend(line.split_whitespace());
        if fields.len() != names.len() {
            return lines.wrong(format!("{} values are needed, here are {}", names.len(), fields.len()));
        }
        let mut position = [0.0; 3];
        for (axis, k) in places.iter().enumerate() {
            position[axis] = lines.number(names[*k], fields[*k])?;
        }
        let position = bounds.map_or(position, |bounds| bounds.place(position));
        axes.iter_mut().zip(position).for_each(|(axis, x)| axis.push(x));
        for (column, (name, k)) in columns.iter_mut().zip(&taken) {
            column.push(lines.number(name, fields[*k])?);
        }
    }
    let is_ignored = |k: &usize| !places.contains(k) && !taken.iter().any(|(_, t)| t == k);
    let ignored = (0..names.len()).filter(is_ignored).map(|k| names[k].to_string()).collect();
    let mut all = super::Columns::new();
    all.extend(["x", "y", "z"].map(String::from).into_iter().zip(axes));
    all.extend(taken.into_iter().map(|(name, _)| name).zip(columns));
    Ok(Found { columns: all, ignored, notes: note.into_iter().collect() })
}
