//! Files of sources with several charges or dipole moments, and of targets: text and `.npy` (docs/guides/files.md).
//!
//! Columns are `x,y,z`, for the first set of charges `q` and `px,py,pz`, for the second one `q2` and `px2,py2,pz2`, and so on. Names may
//! have capital letters, and `m`, `mass` and `charge` stand for `q`. Other columns are left out.

use super::npy;
use super::particles::{Field, ParticleError, Particles};
use super::problem::{Geometry, Sources};
use super::text::{self, Columns};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

/// One set of charges, of dipole moments, or of both.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Set {
    pub charges: Option<Vec<f64>>,
    pub dipoles: Option<[Vec<f64>; 3]>,
}

impl Set {
    fn sources(&self) -> Sources<'_> {
        let dipoles = self.dipoles.as_ref().map(|[x, y, z]| [&x[..], y, z]);
        Sources { charges: self.charges.as_deref(), dipoles }
    }
}

/// The contents of a problem's files.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Input {
    /// The sources with their first charges, or with charges of 0 where they have none.
    pub particles: Particles,
    /// The charges and dipole moments of the sources, where these are not one charge each; else empty.
    pub sets: Vec<Set>,
    /// Where the field is wanted, if not at the sources.
    pub targets: Option<[Vec<f64>; 3]>,
}

impl From<Particles> for Input {
    fn from(particles: Particles) -> Input {
        Input { particles, ..Input::default() }
    }
}

/// Names that stand for `q`.
pub(super) const CHARGES: [&str; 3] = ["m", "mass", "charge"];

/// The columns of a dipole moment.
const MOMENT: [&str; 3] = ["px", "py", "pz"];

impl Input {
    /// Whether there are only particles with a charge each, which are their own targets.
    pub fn is_plain(&self) -> bool {
        self.sets.is_empty() && self.targets.is_none()
    }

    /// Some of the sources; targets are left out.
    pub fn part(&self, range: Range<usize>) -> Input {
        let cut = |column: &Vec<f64>| column[range.clone()].to_vec();
        let Particles { x, y, z, q } = &self.particles;
        let set = |set: &Set| Set {
            charges: set.charges.as_ref().map(cut),
            dipoles: set.dipoles.as_ref().map(|p| p.each_ref().map(cut)),
        };
        Input {
            particles: Particles { x: cut(x), y: cut(y), z: cut(z), q: cut(q) },
            sets: self.sets.iter().map(set).collect(),
            targets: None,
        }
    }

    pub fn geometry(&self) -> Geometry<'_> {
        let targets = self.targets.as_ref().map(|[x, y, z]| [&x[..], y, z]);
        Geometry { sources: self.particles.columns(), targets }
    }

    /// The charges and dipole moments of the sources, set by set.
    pub fn sources(&self) -> Vec<Sources<'_>> {
        match self.sets.is_empty() {
            true => vec![self.particles.q[..].into()],
            false => self.sets.iter().map(Set::sources).collect(),
        }
    }

    /// Reads text with a header.
    pub fn from_csv(text: &str) -> Result<Input, ParticleError> {
        Input::from_csv_noting(text, &mut Vec::new())
    }

    /// The same with the names of columns that are left out.
    pub fn from_csv_noting(text: &str, ignored: &mut Vec<String>) -> Result<Input, ParticleError> {
        Input::from_separated(text, None, ignored)
    }

    /// The same with the character between values, where it is stated.
    pub fn from_separated(text: &str, stated: Option<char>, ignored: &mut Vec<String>) -> Result<Input, ParticleError> {
        Input::from_columns(text::read_separated((text, stated), "x,y,z,q", &known, ignored)?)
    }

    /// Reads an array of numbers with the columns x, y, z, q, or these and px, py, pz, or these and q2, q3, ...; or one of records,
    /// whose fields have the names of columns.
    pub fn from_npy(bytes: &[u8]) -> Result<Input, ParticleError> {
        Input::from_npy_noting(bytes, &mut Vec::new())
    }

    /// The same with the names of fields that are left out.
    pub fn from_npy_noting(bytes: &[u8], ignored: &mut Vec<String>) -> Result<Input, ParticleError> {
        Input::from_columns(npy::read_columns(bytes, &SOURCES, &known, ignored)?)
    }

    /// Takes the columns of another file by their names; others are noted.
    pub fn from_named(columns: Columns, ignored: &mut Vec<String>) -> Result<Input, ParticleError> {
        Input::from_columns(text::named(columns, &known, ignored)?)
    }

    fn from_columns(columns: Columns) -> Result<Input, ParticleError> {
        let mut columns: HashMap<String, Vec<f64>> = columns.into_iter().collect();
        let missing =
            |name: &str| ParticleError::File(format!("column `{name}` is missing; a header is such as `x,y,z,q`"));
        let mut place = |name: &str| columns.remove(name).ok_or_else(|| missing(name));
        let [x, y, z] = [place("x")?, place("y")?, place("z")?];
        let mut sets = Vec::new();
        while !columns.is_empty() || sets.is_empty() {
            let mut take = |base: &str| columns.remove(&named(base, sets.len()));
            let charges = take("q");
            let dipoles = match MOMENT.map(&mut take) {
                [Some(x), Some(y), Some(z)] => Some([x, y, z]),
                [None, None, None] if charges.is_some() => None,
                [None, None, None] => return Err(missing(&named("q", sets.len()))),
                found => {
                    let axis = found.iter().position(Option::is_none).expect("one of them is missing");
                    return Err(missing(&named(MOMENT[axis], sets.len())));
                }
            };
            sets.push(Set { charges, dipoles });
        }
        let is_plain = matches!(&sets[..], [Set { charges: Some(_), dipoles: None }]);
        let q = match is_plain {
            true => sets.pop().and_then(|set| set.charges).expect("a plain set has charges"),
            false => sets[0].charges.clone().unwrap_or_else(|| vec![0.0; x.len()]),
        };
        Ok(Input { particles: Particles { x, y, z, q }, sets, targets: None })
    }

    /// The sources as an array that is read back: of numbers where that is enough, else of records.
    pub fn to_npy(&self) -> Vec<u8> {
        let columns = self.columns();
        let (names, columns): (Vec<&str>, Vec<&[f64]>) =
            columns.iter().map(|(name, column)| (&name[..], *column)).unzip();
        let mut bytes = npy::head_named(self.particles.len(), &names, &SOURCES);
        npy::put_rows(&mut bytes, &columns);
        bytes
    }

    /// All columns of the sources, with their names.
    pub fn columns(&self) -> Vec<(String, &[f64])> {
        let [x, y, z] = self.particles.columns();
        let mut columns: Vec<(String, &[f64])> = vec![("x".into(), x), ("y".into(), y), ("z".into(), z)];
        for (k, set) in self.sources().iter().enumerate() {
            columns.extend(set.charges.map(|q| (named("q", k), q)));
            let moments = MOMENT.into_iter().zip(set.dipoles.into_iter().flatten());
            columns.extend(moments.map(|(base, p)| (named(base, k), p)));
        }
        columns
    }
}

/// A column's name for the set of this index: 2 and on are written behind it.
fn named(base: &str, set: usize) -> String {
    if set == 0 { base.into() } else { format!("{base}{}", set + 1) }
}

/// The base of the name of a column of a set, and the set's index.
fn set_of(name: &str) -> Option<(&str, usize)> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[base.len()..];
    let set = match digits {
        "" => 0,
        // No zeros in front.
        digits => digits.parse::<usize>().ok().filter(|k| *k >= 2 && k.to_string() == digits)? - 1,
    };
    (base == "q" || MOMENT.contains(&base)).then_some((base, set))
}

/// The column that a name in small letters stands for.
fn known(name: &str) -> Option<String> {
    if ["x", "y", "z"].contains(&name) {
        return Some(name.into());
    }
    if let Some((base, set)) = set_of(name) {
        return Some(named(base, set));
    }
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let charge = CHARGES.contains(&base).then(|| format!("q{}", &name[base.len()..]))?;
    set_of(&charge).map(|(base, set)| named(base, set))
}

/// The targets' coordinates alone.
fn known_of_targets(name: &str) -> Option<String> {
    ["x", "y", "z"].contains(&name).then(|| name.into())
}

/// Reads targets: text with the columns `x,y,z` in any order. Others are left out and noted.
pub fn targets_from_csv(text: &str, ignored: &mut Vec<String>) -> Result<[Vec<f64>; 3], ParticleError> {
    targets_from_separated(text, None, ignored)
}

/// The same with the character between values, where it is stated.
pub fn targets_from_separated(
    text: &str,
    stated: Option<char>,
    ignored: &mut Vec<String>,
) -> Result<[Vec<f64>; 3], ParticleError> {
    targets(text::read_separated((text, stated), "x,y,z", &known_of_targets, ignored)?)
}

/// Columns of an array up to which they are charges.
const MOST_COLUMNS: usize = 1 << 16;

/// Columns of arrays of sources, and of targets.
pub const SOURCES: npy::Shape = npy::Shape {
    columns: |width| match width {
        7 => Some(["x", "y", "z", "q", "px", "py", "pz"].map(String::from).into()),
        4..=MOST_COLUMNS => {
            Some((0..width).map(|k| if k < 3 { ["x", "y", "z"][k].into() } else { named("q", k - 3) }).collect())
        }
        _ => None,
    },
    words: "(n, 4) with the columns x, y, z, q, (n, 7) with these and px, py, pz, or (n, 4 + k) with k more charges",
};
pub const TARGETS: npy::Shape = npy::Shape {
    columns: |width| (width == 3).then(|| ["x", "y", "z"].map(String::from).into()),
    words: "(n, 3) with the columns x, y, z",
};

/// Reads targets: an array with the columns x, y and z, or of records with these fields.
pub fn targets_from_npy(bytes: &[u8], ignored: &mut Vec<String>) -> Result<[Vec<f64>; 3], ParticleError> {
    targets(npy::read_columns(bytes, &TARGETS, &known_of_targets, ignored)?)
}

/// Takes the coordinates of another file by their names; others are noted.
pub fn targets_from_named(columns: Columns, ignored: &mut Vec<String>) -> Result<[Vec<f64>; 3], ParticleError> {
    targets(text::named(columns, &known_of_targets, ignored)?)
}

fn targets(columns: Columns) -> Result<[Vec<f64>; 3], ParticleError> {
    let mut columns: HashMap<String, Vec<f64>> = columns.into_iter().collect();
    match ["x", "y", "z"].map(|axis| columns.remove(axis)) {
        [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
        _ => Err(ParticleError::File("the header of a file of targets must have `x,y,z`".into())),
    }
}

/// The columns of some fields with their names: `potential,gx,...` of the first set of charges, `potential2,...` of the second.
pub fn columns_of(fields: &[Field]) -> Vec<(String, &[f64])> {
    let of = |(k, field)| {
        let columns: Vec<(&'static str, &[f64])> = Field::columns(field);
        columns.into_iter().map(move |(name, column)| (named(name, k), column))
    };
    fields.iter().enumerate().flat_map(of).collect()
}

/// Columns as CSV that is read back to the bit.
pub fn to_csv(columns: &[(String, &[f64])]) -> String {
    csv_head(columns) + &csv_rows(columns)
}

/// The first line of such a file.
pub fn csv_head(columns: &[(String, &[f64])]) -> String {
    columns.iter().map(|c| &c.0[..]).collect::<Vec<_>>().join(",") + "\n"
}

/// The lines behind it.
pub fn csv_rows(columns: &[(String, &[f64])]) -> String {
    let mut text = String::new();
    for k in 0..columns.first().map_or(0, |c| c.1.len()) {
        for (c, column) in columns.iter().enumerate() {
            let comma = if c == 0 { "" } else { "," };
            write!(text, "{comma}{:?}", column.1[k]).expect("a String takes any text");
        }
        text.push('\n');
    }
    text
}
