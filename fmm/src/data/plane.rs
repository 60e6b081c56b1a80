//! Points of a plane with strengths: their files (text and `.npy`) and random ones (docs/guides/files.md).

use super::input::CHARGES;
use super::npy;
use super::particles::ParticleError;
use super::random::{Charge, Random};
use super::text::{self, Columns};
use std::collections::HashMap;

/// Sources in the order of the input.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Points {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub re: Vec<f64>,
    /// Imaginary parts, where strengths are complex.
    pub im: Option<Vec<f64>>,
}

/// Where random points lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// The unit square.
    Uniform,
    /// Each coordinate normal about 1/2 with variance 1/100, redrawn until inside the unit square.
    Normal,
    /// x uniform, y as in [`Distribution::Normal`].
    Layer,
}

impl Points {
    pub fn len(&self) -> usize {
        self.x.len()
    }

    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// All columns with their names, as files have them.
    pub fn columns(&self) -> Vec<(String, &[f64])> {
        let mut columns: Vec<(String, &[f64])> = vec![("x".into(), &self.x), ("y".into(), &self.y)];
        match &self.im {
            None => columns.push(("q".into(), &self.re)),
            Some(im) => columns.extend([("re".into(), &self.re[..]), ("im".into(), &im[..])]),
        }
        columns
    }

    /// Reads text: a header that names `x,y,q` or `x,y,re,im` in any order, then one point a line. Other columns are left out and noted.
    pub fn from_csv(text: &str, ignored: &mut Vec<String>) -> Result<Points, ParticleError> {
        Points::from_separated(text, None, ignored)
    }

    /// The same with the character between values, where it is stated.
    pub fn from_separated(
        text: &str,
        stated: Option<char>,
        ignored: &mut Vec<String>,
    ) -> Result<Points, ParticleError> {
        Points::from_columns(text::read_separated((text, stated), "x,y,q", &known, ignored)?)
    }

    /// Reads an array with the columns x, y and q, or x, y, re and im, or one of records with such fields.
    pub fn from_npy(bytes: &[u8], ignored: &mut Vec<String>) -> Result<Points, ParticleError> {
        Points::from_columns(npy::read_columns(bytes, &SOURCES, &known, ignored)?)
    }

    /// Takes the columns of another file by their names; others are noted.
    pub fn from_named(columns: Columns, ignored: &mut Vec<String>) -> Result<Points, ParticleError> {
        Points::from_columns(text::named(columns, &known, ignored)?)
    }

    fn from_columns(columns: Columns) -> Result<Points, ParticleError> {
        let mut columns: HashMap<String, Vec<f64>> = columns.into_iter().collect();
        match ["x", "y", "q", "re", "im"].map(|name| columns.remove(name)) {
            [Some(x), Some(y), Some(re), None, None] => Ok(Points { x, y, re, im: None }),
            [Some(x), Some(y), None, Some(re), Some(im)] => Ok(Points { x, y, re, im: Some(im) }),
            _ => Err(ParticleError::File("the header of a file of points must have `x,y,q` or `x,y,re,im`".into())),
        }
    }

    /// Draws `n` points: for each its position, then its strength, of which the imaginary part, if there is one, comes last.
    pub fn random(n: usize, distribution: Distribution, charge: Charge, is_complex: bool, seed: u64) -> Points {
        let mut random = Random::new(seed);
        let mut points = Points { im: is_complex.then(Vec::new), ..Points::default() };
        for _ in 0..n {
            let [x, y] = distribution.draw(&mut random);
            points.x.push(x);
            points.y.push(y);
            points.re.push(charge.draw(n, &mut random));
            points.im.iter_mut().for_each(|im| im.push(charge.draw(n, &mut random)));
        }
        points
    }
}

impl Distribution {
    fn draw(self, random: &mut Random) -> [f64; 2] {
        match self {
            Distribution::Uniform => [random.unit(), random.unit()],
            Distribution::Normal => [random.normal_in_unit(), random.normal_in_unit()],
            Distribution::Layer => [random.unit(), random.normal_in_unit()],
        }
    }
}

/// The column that a name in small letters stands for.
fn known(name: &str) -> Option<String> {
    let name = if CHARGES.contains(&name) { "q" } else { name };
    ["x", "y", "q", "re", "im"].contains(&name).then(|| name.into())
}

/// The targets' coordinates alone.
fn known_of_targets(name: &str) -> Option<String> {
    ["x", "y"].contains(&name).then(|| name.into())
}

/// Columns of arrays of sources, and of targets.
pub const SOURCES: npy::Shape = npy::Shape {
    columns: |width| match width {
        3 => Some(["x", "y", "q"].map(String::from).into()),
        4 => Some(["x", "y", "re", "im"].map(String::from).into()),
        _ => None,
    },
    words: "(n, 3) with the columns x, y, q or (n, 4) with the columns x, y, re, im",
};
pub const TARGETS: npy::Shape = npy::Shape {
    columns: |width| (width == 2).then(|| ["x", "y"].map(String::from).into()),
    words: "(n, 2) with the columns x, y",
};

/// Reads targets: text with the columns `x,y` in any order. Others are left out and noted.
pub fn targets_from_csv(text: &str, ignored: &mut Vec<String>) -> Result<[Vec<f64>; 2], ParticleError> {
    targets_from_separated(text, None, ignored)
}

/// The same with the character between values, where it is stated.
pub fn targets_from_separated(
    text: &str,
    stated: Option<char>,
    ignored: &mut Vec<String>,
) -> Result<[Vec<f64>; 2], ParticleError> {
    targets(text::read_separated((text, stated), "x,y", &known_of_targets, ignored)?)
}

/// Reads targets: an array with the columns x and y, or of records with these fields.
pub fn targets_from_npy(bytes: &[u8], ignored: &mut Vec<String>) -> Result<[Vec<f64>; 2], ParticleError> {
    targets(npy::read_columns(bytes, &TARGETS, &known_of_targets, ignored)?)
}

/// Takes the coordinates of another file by their names; others are noted.
pub fn targets_from_named(columns: Columns, ignored: &mut Vec<String>) -> Result<[Vec<f64>; 2], ParticleError> {
    targets(text::named(columns, &known_of_targets, ignored)?)
}

fn targets(columns: Columns) -> Result<[Vec<f64>; 2], ParticleError> {
    let mut columns: HashMap<String, Vec<f64>> = columns.into_iter().collect();
    match ["x", "y"].map(|axis| columns.remove(axis)) {
        [Some(x), Some(y)] => Ok([x, y]),
        _ => Err(ParticleError::File("the header of a file of targets must have `x,y`".into())),
    }
}
