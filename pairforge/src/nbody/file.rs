//! Bodies of files: the columns x, y, z, m, vx, vy and vz.

use super::Bodies;
use fmm::data::npy::{self, Shape};
use fmm::data::particles::ParticleError;
use fmm::data::text::{self, Columns};

/// The columns, in the order of an array's.
const NAMES: [&str; 7] = ["x", "y", "z", "m", "vx", "vy", "vz"];

/// Columns of arrays of bodies.
pub const SHAPE: Shape = Shape {
    columns: |width| (width == NAMES.len()).then(|| NAMES.map(String::from).into()),
    words: "(n, 7) with the columns x, y, z, m, vx, vy, vz",
};

/// The column that a name in small letters stands for.
fn known(name: &str) -> Option<String> {
    match name {
        "mass" | "q" | "charge" => Some("m".into()),
        name => NAMES.contains(&name).then(|| name.into()),
    }
}

/// Reads text with the character between values, where it is stated; the names of columns that are left out are noted.
pub fn from_separated(text: &str, stated: Option<char>, ignored: &mut Vec<String>) -> Result<Bodies, ParticleError> {
    bodies(text::read_separated((text, stated), "x,y,z,m,vx,vy,vz", &known, ignored)?)
}

/// Reads an array of numbers with seven columns, or of records with these fields.
pub fn from_npy(bytes: &[u8], ignored: &mut Vec<String>) -> Result<Bodies, ParticleError> {
    bodies(npy::read_columns(bytes, &SHAPE, &known, ignored)?)
}

/// Takes the columns of another file by their names.
pub fn from_named(columns: Columns, ignored: &mut Vec<String>) -> Result<Bodies, ParticleError> {
    bodies(text::named(columns, &known, ignored)?)
}

fn bodies(mut columns: Columns) -> Result<Bodies, ParticleError> {
    let mut take = |name: &str| {
        let place = columns.iter().position(|(known, _)| known == name);
        let missing = || ParticleError::File(format!("column `{name}` is missing; bodies have {}", NAMES.join(",")));
        place.map(|place| columns.swap_remove(place).1).ok_or_else(missing)
    };
    let [x, y, z, mass, vx, vy, vz] = NAMES;
    let (position, mass) = ([take(x)?, take(y)?, take(z)?], take(mass)?);
    Ok(Bodies { mass, position, velocity: [take(vx)?, take(vy)?, take(vz)?] })
}
