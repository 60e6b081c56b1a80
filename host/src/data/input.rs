//! Files of sources with several charges or dipole moments, and of targets: CSV and `.npy` (docs/fmm.md, Files).
//!
//! Columns are `x,y,z`, for the first set of charges `q` and `px,py,pz`, for the second one `q2` and `px2,py2,pz2`, and so on.

use super::npy;
use super::particles::{Field, ParticleError, Particles, number};
use super::problem::{Geometry, Sources};
use pg2::report::shown::shown;
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

/// What the files of a problem hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Input {
    /// The sources with their first charges, or with charges of 0 where they have none.
    pub particles: Particles,
    /// What the sources carry, where that is not one charge each; else empty.
    pub sets: Vec<Set>,
    /// Where the field is wanted, if not at the sources.
    pub targets: Option<[Vec<f64>; 3]>,
}

impl From<Particles> for Input {
    fn from(particles: Particles) -> Input {
        Input { particles, ..Input::default() }
    }
}

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

    /// What the sources carry, set by set.
    pub fn sources(&self) -> Vec<Sources<'_>> {
        match self.sets.is_empty() {
            true => vec![self.particles.q[..].into()],
            false => self.sets.iter().map(Set::sources).collect(),
        }
    }

    /// Reads CSV with a header. Files of particles with one charge each are read by [`Particles::from_csv`].
    pub fn from_csv(text: &str) -> Result<Input, ParticleError> {
        let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let has_more = |name: &str| set_of(name).is_some_and(|(base, set)| base != "q" || set > 0);
        match names(header).into_iter().any(has_more) {
            true => Input::from_columns(read(text)?),
            false => Ok(Particles::from_csv(text)?.into()),
        }
    }

    /// Reads an array with the columns x, y, z, q, or these and px, py, pz.
    pub fn from_npy(bytes: &[u8]) -> Result<Input, ParticleError> {
        let wide = ["x", "y", "z", "q", "px", "py", "pz"];
        let columns = npy::read_columns(bytes, &NPY_WIDTHS.map(|width| &wide[..width]))?;
        if columns.len() > 4 {
            return Input::from_columns(wide.map(String::from).into_iter().zip(columns).collect());
        }
        let [x, y, z, q] = columns.try_into().expect("there are four columns");
        Ok(Particles { x, y, z, q }.into())
    }

    fn from_columns(mut columns: Vec<(String, Vec<f64>)>) -> Result<Input, ParticleError> {
        let mut take = |name: &str| {
            let at = columns.iter().position(|(n, _)| n == name)?;
            Some(columns.swap_remove(at).1)
        };
        let missing = |name: &str| ParticleError::File(format!("column `{name}` is missing"));
        let mut place = |name: &str| take(name).ok_or_else(|| missing(name));
        let [x, y, z] = [place("x")?, place("y")?, place("z")?];
        let mut sets = Vec::new();
        while !columns.is_empty() {
            let mut take = |base: &str| {
                let name = named(base, sets.len());
                let at = columns.iter().position(|(n, _)| *n == name)?;
                Some(columns.swap_remove(at).1)
            };
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
        let q = sets.first().and_then(|set| set.charges.clone()).unwrap_or_else(|| vec![0.0; x.len()]);
        Ok(Input { particles: Particles { x, y, z, q }, sets, targets: None })
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

fn names(header: &str) -> Vec<&str> {
    header.trim_start_matches('\u{feff}').split(',').map(|n| n.trim().trim_matches('"')).collect()
}

/// Reads targets: CSV with the columns `x,y,z` in any order.
pub fn targets_from_csv(text: &str) -> Result<[Vec<f64>; 3], ParticleError> {
    let columns = read(text)?;
    let of = |axis: &str| columns.iter().find(|(name, _)| name == axis).map(|(_, column)| column.clone());
    match (["x", "y", "z"].map(of), columns.len()) {
        ([Some(x), Some(y), Some(z)], 3) => Ok([x, y, z]),
        _ => Err(ParticleError::File("the header of a file of targets must be `x,y,z`".into())),
    }
}

/// The columns of an array of sources, and of one of targets.
pub const NPY_WIDTHS: [usize; 2] = [4, 7];
pub const NPY_WIDTH_OF_TARGETS: usize = 3;

/// Reads targets: an array with the columns x, y and z.
pub fn targets_from_npy(bytes: &[u8]) -> Result<[Vec<f64>; 3], ParticleError> {
    let columns = npy::read_columns(bytes, &[&["x", "y", "z"]])?;
    Ok(columns.try_into().expect("there are three columns"))
}

/// Reads the columns of a file, which are those of sources.
fn read(text: &str) -> Result<Vec<(String, Vec<f64>)>, ParticleError> {
    let mut lines = text.lines().enumerate().map(|(k, l)| (k + 1, l.trim())).filter(|(_, l)| !l.is_empty());
    let (line, header) =
        lines.next().ok_or_else(|| ParticleError::File("the file is empty; its first line must be a header".into()))?;
    let names = names(header);
    for (k, name) in names.iter().enumerate() {
        let wrong = |what: String| Err(ParticleError::Line { line, what });
        if !["x", "y", "z"].contains(name) && set_of(name).is_none() {
            return wrong(format!(
                "`{}` is no column of a particle file; there are x,y,z,q and px,py,pz, and with 2 and on behind them q2, px2",
                shown(name)
            ));
        }
        if names[..k].contains(name) {
            return wrong(format!("column `{name}` stands there twice"));
        }
    }
    let mut columns: Vec<(String, Vec<f64>)> = names.iter().map(|name| (name.to_string(), Vec::new())).collect();
    for (line, text) in lines {
        let fields: Vec<&str> = text.split(',').collect();
        if fields.len() != columns.len() {
            let what = format!("{} values are needed, here are {}", columns.len(), fields.len());
            return Err(ParticleError::Line { line, what });
        }
        for ((name, column), field) in columns.iter_mut().zip(fields) {
            column.push(number(field, name).map_err(|what| ParticleError::Line { line, what })?);
        }
    }
    Ok(columns)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Input::from_csv(text).expect_err("the text is wrong").to_string()
    }

    #[test]
    fn sets_are_read_by_the_names_of_their_columns_and_read_back() {
        let text = "pz,q2,x,py,y,px,z,px2,py2,pz2,q3\n1,2,3,4,5,6,7,8,9,10,-0.1\n";
        let input = Input::from_csv(text).expect("good text");
        assert_eq!((input.particles.position(0), input.particles.q[0]), ([3.0, 5.0, 7.0], 0.0));
        let set = |q: Option<f64>, p: Option<[f64; 3]>| Set {
            charges: q.map(|q| vec![q]),
            dipoles: p.map(|p| p.map(|p| vec![p])),
        };
        let wanted = [set(None, Some([6.0, 4.0, 1.0])), set(Some(2.0), Some([8.0, 9.0, 10.0])), set(Some(-0.1), None)];
        assert_eq!(input.sets, wanted);
        assert_eq!(Input::from_csv(&to_csv(&input.columns())).expect("own text"), input);
        let plain = Input::from_csv("x,y,z,q\n1,2,3,4\n").expect("good text");
        assert!(plain.is_plain() && plain.sources()[0].charges == Some(&[4.0]));
    }

    #[test]
    fn mistakes_in_names_are_told() {
        assert_eq!(error("x,y,z,q,q3\n1,2,3,4,5\n"), "column `q2` is missing");
        assert_eq!(error("x,y,z,q,px,pz\n1,2,3,4,5,6\n"), "column `py` is missing");
        assert_eq!(error("x,y,q,q2\n1,2,3,4\n"), "column `z` is missing");
        assert!(error("x,y,z,q,q2,m\n").contains("`m` is no column"));
        assert!(error("x,y,z,q,q02,q2\n").contains("`q02` is no column"));
        assert!(error("x,y,z,q,q2,q2\n").contains("twice"));
        assert_eq!(error("x,y,z,q,q2\n1,2,3,4\n"), "line 2: 5 values are needed, here are 4");
        assert_eq!(error("x,y,z,q,q2\n1,2,3,4,inf\n"), "line 2: q2 = `inf` is not a finite number");
        assert!(targets_from_csv("x,y,z,q\n").is_err() && targets_from_csv("x,y\n").is_err());
        assert_eq!(targets_from_csv("z,x,y\n1,2,3\n"), Ok([vec![2.0], vec![3.0], vec![1.0]]));
    }
}
