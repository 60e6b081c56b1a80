//! Random points of a plane with complex strengths for trials, and direct sums at some of them.

use fmm::data::random::Random;
use fmm::plane::direct::Direct;
use fmm::plane::{Columns, Field, Kernel, Strengths};
use serde::{Deserialize, Serialize};

/// Targets that are compared with direct sums at most, and pairs of these sums.
const SAMPLES: usize = 40;
const PAIRS: usize = 20_000_000;

/// Where points lie in the unit square.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    Uniform,
    /// Both coordinates normal about 1/2 with a standard deviation, redrawn until inside the square.
    Normal(f64),
    /// x uniform, y normal as above.
    Layer(f64),
}

impl Spread {
    pub fn name(self) -> &'static str {
        match self {
            Spread::Uniform => "uniform",
            Spread::Normal(_) => "normal",
            Spread::Layer(_) => "layer",
        }
    }

    pub fn sigma(self) -> Option<f64> {
        match self {
            Spread::Uniform => None,
            Spread::Normal(sigma) | Spread::Layer(sigma) => Some(sigma),
        }
    }

    fn draw(self, random: &mut Random) -> [f64; 2] {
        let normal = |sigma: f64, random: &mut Random| loop {
            let x = 0.5 + sigma * random.normal();
            if (0.0..1.0).contains(&x) {
                return x;
            }
        };
        match self {
            Spread::Uniform => [random.unit(), random.unit()],
            Spread::Normal(sigma) => [normal(sigma, random), normal(sigma, random)],
            Spread::Layer(sigma) => [random.unit(), normal(sigma, random)],
        }
    }
}

/// Points of one spread, drawn one after the other, so that the first of many are those of few.
pub struct Points {
    pub spread: Spread,
    random: Random,
    x: Vec<f64>,
    y: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Points {
    pub fn new(spread: Spread) -> Points {
        Points { spread, random: Random::new(1), x: Vec::new(), y: Vec::new(), re: Vec::new(), im: Vec::new() }
    }

    /// Draws until there are `n`.
    pub fn reach(&mut self, n: usize) {
        while self.x.len() < n {
            let [x, y] = self.spread.draw(&mut self.random);
            self.x.push(x);
            self.y.push(y);
            self.re.push(2.0 * self.random.unit() - 1.0);
            self.im.push(2.0 * self.random.unit() - 1.0);
        }
    }

    /// The first `n` of those that were drawn.
    pub fn first(&self, n: usize) -> (Columns<'_>, Strengths<'_>) {
        ([&self.x[..n], &self.y[..n]], Strengths { re: &self.re[..n], im: Some(&self.im[..n]) })
    }
}

/// Direct sums of the harmonic kernel at targets that are spread over the points.
pub struct Reference {
    targets: Vec<usize>,
    sums: Vec<[f64; 3]>,
}

impl Reference {
    pub fn new(positions: Columns, strengths: Strengths) -> Reference {
        let n = positions[0].len();
        let samples = SAMPLES.min(PAIRS.div_ceil(n.max(1))).min(n);
        let targets: Vec<usize> = (0..samples).map(|k| k * n / samples).collect();
        let sums = Direct { kernel: Kernel::Harmonic, geometry: positions.into(), strengths }.at(&targets);
        Reference { targets, sums }
    }

    /// The greatest relative error, which is the paper's norm (5.3), and the relative L2 error.
    pub fn errors(&self, field: &Field) -> [f64; 2] {
        let [re, im] = &field.vector;
        let all: Vec<[f64; 2]> = (self.targets.iter().zip(&self.sums))
            .map(|(i, sum)| [(re[*i] - sum[0]).hypot(im[*i] - sum[1]), sum[0].hypot(sum[1])])
            .collect();
        let most = all.iter().fold(0f64, |most, [off, size]| most.max(off / size));
        let [off, size] = [0, 1].map(|k| all.iter().map(|e| e[k] * e[k]).sum::<f64>());
        [most, (off / size).sqrt()]
    }
}
