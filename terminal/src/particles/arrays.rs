//! Particles in several arrays with names, as `.npz` files and groups of HDF5 have them.

use super::{Found, Outcome, Wanted, wrong};
use fmm::data::npy::{Array, Numbers};
use fmm::data::particles::ParticleError;
use fmm::data::text::Columns;
use fmm::shown::shown;

/// Names of arrays of positions, and of dipole moments.
const POSITIONS: [&str; 8] = ["coordinates", "pos", "position", "positions", "xyz", "xy", "r", "x"];
const MOMENTS: [&str; 4] = ["dipole", "dipoles", "moment", "moments"];
const CHARGES: [&str; 6] = ["masses", "mass", "m", "charges", "charge", "q"];
const OTHERS: [&str; 8] = ["x", "y", "z", "re", "im", "px", "py", "pz"];

/// The name without a number behind it, in small letters.
fn base(name: &str) -> String {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).to_lowercase()
}

/// Whether an array or a column of this name may be one of particles.
pub fn is_used(name: &str) -> bool {
    let base = base(name);
    [&POSITIONS[..], &MOMENTS, &CHARGES, &OTHERS].iter().any(|names| names.contains(&&base[..]))
}

pub fn is_charge(name: &str) -> bool {
    CHARGES.contains(&&base(name)[..])
}

/// The columns that arrays are by their names. One array alone may have any name, and two may have NumPy's: `arr_0` and `arr_1`.
pub fn columns(arrays: Vec<(String, Array)>, wanted: Wanted, ignored: Vec<String>) -> Outcome {
    let mut found = Found { ignored, ..Found::default() };
    if let [(name, _)] = &arrays[..]
        && !CHARGES.contains(&&base(name)[..])
    {
        let (name, array) = arrays.into_iter().next().expect("there is one");
        alone(&name, array, wanted, &mut found)?;
        return Ok(found);
    }
    let is_numbered = arrays.len() == 2 && arrays.iter().all(|(name, _)| name.starts_with("arr_"));
    for (k, (name, array)) in arrays.into_iter().enumerate() {
        let name = if is_numbered { ["coordinates", "q"][k].to_string() } else { name };
        add(&name, array, &mut found)?;
    }
    Ok(found)
}

/// The coordinates of an array, without charges.
pub fn positions((name, array): (String, Array), ignored: Vec<String>) -> Outcome {
    let mut found = Found { ignored, ..Found::default() };
    add(&name, array, &mut found)?;
    Ok(found)
}

/// The columns of a single array, as those of an `.npy` file.
pub fn alone(name: &str, array: Array, wanted: Wanted, found: &mut Found) -> Result<(), ParticleError> {
    let words = wanted.shape.words;
    match array.columns {
        Numbers::Line(_) => wrong(format!(
            "`{}` has one dimension; {words} is needed, or names such as x, y, z and q of several arrays",
            shown(name)
        )),
        Numbers::Rows(columns) => {
            let Some(names) = (wanted.shape.columns)(columns.len()) else {
                let (rows, width) = (array.rows, columns.len());
                return wrong(format!(
                    "the shape of `{}` is ({rows}, {width}); {words} is needed, or a group of arrays with charges among them",
                    shown(name)
                ));
            };
            found.columns.extend(names.into_iter().zip(columns));
            Ok(())
        }
        Numbers::Records(columns, others) => {
            found.columns.extend(renamed(columns));
            found.ignored.extend(others);
            Ok(())
        }
    }
}

/// Plural names, as other files have them.
fn renamed(columns: Columns) -> Columns {
    let one = |name: String| match &name.to_lowercase()[..] {
        "masses" => "mass".into(),
        "charges" => "charge".into(),
        _ => name,
    };
    columns.into_iter().map(|(name, column)| (one(name), column)).collect()
}

/// Adds what an array is by its name.
fn add(name: &str, array: Array, found: &mut Found) -> Result<(), ParticleError> {
    let small = name.to_lowercase();
    let columns = match array.columns {
        Numbers::Records(..) => {
            found.ignored.push(name.into());
            return Ok(());
        }
        Numbers::Line(column) => {
            found.columns.extend(renamed(vec![(name.into(), column)]));
            return Ok(());
        }
        Numbers::Rows(columns) => columns,
    };
    let axes: Option<[&str; 3]> = match &small[..] {
        of if POSITIONS.contains(&of) => Some(["x", "y", "z"]),
        of if MOMENTS.contains(&of) => Some(["px", "py", "pz"]),
        "velocities" => Some(["vx", "vy", "vz"]),
        _ => None,
    };
    match (axes, columns.len()) {
        (Some(axes), 2 | 3) => found.columns.extend(axes.map(String::from).into_iter().zip(columns)),
        (None, 1..) if is_charge(name) => {
            let named = |k: usize| if k == 0 { name.to_string() } else { format!("q{}", k + 1) };
            let columns = columns.into_iter().enumerate().map(|(k, column)| (named(k), column));
            found.columns.extend(renamed(columns.collect()));
        }
        (Some(_), width) => {
            let rows = array.rows;
            return wrong(format!("the shape of `{}` is ({rows}, {width}); (n, 3) is needed", shown(name)));
        }
        _ => found.ignored.push(name.into()),
    }
    Ok(())
}
