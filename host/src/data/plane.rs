//! Points of a plane with strengths: their files (CSV and `.npy`) and random ones (docs/fmm2.md).

use super::npy;
use super::particles::{ParticleError, number};
use super::random::{Charge, Random};
use pg2::report::shown::shown;

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

    /// Reads CSV: a header that names `x,y,q` or `x,y,re,im` in any order, then one point a line.
    pub fn from_csv(text: &str) -> Result<Points, ParticleError> {
        let (names, mut columns) = read(text, &["x", "y", "q", "re", "im"])?;
        let mut take = |name: &str| names.iter().position(|n| n == name).map(|k| std::mem::take(&mut columns[k]));
        match [take("x"), take("y"), take("q"), take("re"), take("im")] {
            [Some(x), Some(y), Some(re), None, None] => Ok(Points { x, y, re, im: None }),
            [Some(x), Some(y), None, Some(re), Some(im)] => Ok(Points { x, y, re, im: Some(im) }),
            _ => Err(ParticleError::File("the header of a file of points must be `x,y,q` or `x,y,re,im`".into())),
        }
    }

    /// Reads an array with the columns x, y and q, or x, y, re and im.
    pub fn from_npy(bytes: &[u8]) -> Result<Points, ParticleError> {
        let mut columns = npy::read_columns(bytes, &[&["x", "y", "q"], &["x", "y", "re", "im"]])?.into_iter();
        let mut next = || columns.next().unwrap_or_default();
        let (x, y, re, im) = (next(), next(), next(), columns.next());
        Ok(Points { x, y, re, im })
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

/// Reads targets: CSV with the columns `x,y` in any order.
pub fn targets_from_csv(text: &str) -> Result<[Vec<f64>; 2], ParticleError> {
    let (names, mut columns) = read(text, &["x", "y"])?;
    let mut take = |name: &str| names.iter().position(|n| n == name).map(|k| std::mem::take(&mut columns[k]));
    match [take("x"), take("y")] {
        [Some(x), Some(y)] => Ok([x, y]),
        _ => Err(ParticleError::File("the header of a file of targets must be `x,y`".into())),
    }
}

/// Reads targets: an array with the columns x and y.
pub fn targets_from_npy(bytes: &[u8]) -> Result<[Vec<f64>; 2], ParticleError> {
    let mut columns = npy::read_columns(bytes, &[&["x", "y"]])?.into_iter();
    let mut next = || columns.next().unwrap_or_default();
    Ok([next(), next()])
}

/// Reads the columns of a file, whose names must be among `known`.
fn read(text: &str, known: &[&str]) -> Result<(Vec<String>, Vec<Vec<f64>>), ParticleError> {
    let mut lines = text.lines().enumerate().map(|(k, l)| (k + 1, l.trim())).filter(|(_, l)| !l.is_empty());
    let (line, header) =
        lines.next().ok_or_else(|| ParticleError::File("the file is empty; its first line must be a header".into()))?;
    let header = header.trim_start_matches('\u{feff}');
    let names: Vec<String> = header.split(',').map(|n| n.trim().trim_matches('"').to_string()).collect();
    for (k, name) in names.iter().enumerate() {
        let wrong = |what: String| Err(ParticleError::Line { line, what });
        if !known.contains(&&name[..]) {
            return wrong(format!("`{}` is no column of this file; there are {}", shown(name), known.join(", ")));
        }
        if names[..k].contains(name) {
            return wrong(format!("column `{name}` stands there twice"));
        }
    }
    let mut columns = vec![Vec::new(); names.len()];
    for (line, text) in lines {
        if text.split(',').count() != names.len() {
            let what = format!("{} values are needed, here are {}", names.len(), text.split(',').count());
            return Err(ParticleError::Line { line, what });
        }
        for ((name, column), field) in names.iter().zip(&mut columns).zip(text.split(',')) {
            column.push(number(field, name).map_err(|what| ParticleError::Line { line, what })?);
        }
    }
    Ok((names, columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::input::to_csv;

    fn error(text: &str) -> String {
        Points::from_csv(text).expect_err("the text is wrong").to_string()
    }

    #[test]
    fn files_are_read_back_to_the_bit() {
        for is_complex in [false, true] {
            let points = Points::random(50, Distribution::Layer, Charge::Random, is_complex, 3);
            assert_eq!(Points::from_csv(&to_csv(&points.columns())), Ok(points.clone()));
            assert_eq!(Points::from_npy(&npy::write_columns(&points.columns())), Ok(points));
        }
        let any_order = Points::from_csv("im,y,x,re\n1,2,3,4\n").expect("good text");
        assert_eq!((any_order.x[0], any_order.y[0], any_order.re[0], any_order.im), (3.0, 2.0, 4.0, Some(vec![1.0])));
        assert_eq!(targets_from_csv("y,x\n1,2\n"), Ok([vec![2.0], vec![1.0]]));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert_eq!(error("x,y,q\n1,2,3\n1,2\n"), "line 3: 3 values are needed, here are 2");
        assert_eq!(error("x,y,q\n1,2,inf\n"), "line 2: q = `inf` is not a finite number");
        assert!(error("x,y,z,q\n").contains("`z` is no column"));
        assert!(error("x,y,q,x\n").contains("twice"));
        assert!(error("x,y,re\n").contains("must be `x,y,q` or `x,y,re,im`"));
        assert!(error("x,y,q,im\n").contains("must be `x,y,q` or `x,y,re,im`"));
        assert!(error("").contains("empty"));
        assert!(targets_from_csv("x,y,q\n").is_err() && targets_from_csv("x\n").is_err());
    }

    #[test]
    fn random_points_lie_in_the_unit_square_and_stay_the_same() {
        for distribution in [Distribution::Uniform, Distribution::Normal, Distribution::Layer] {
            let points = Points::random(500, distribution, Charge::Positive, true, 1);
            assert!(points.x.iter().chain(&points.y).all(|x| (0.0..1.0).contains(x)));
            assert!(points.re.iter().all(|q| (0.0..1.0).contains(q)));
        }
        let mut random = Random::new(5);
        let points = Points::random(2, Distribution::Uniform, Charge::Random, false, 5);
        assert_eq!([points.x[0], points.y[0]], [random.unit(), random.unit()]);
        assert_eq!(points.re[0], 2.0 * random.unit() - 1.0);
        assert_eq!(points.x[1], random.unit());
    }
}
