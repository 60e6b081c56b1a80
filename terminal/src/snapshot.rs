//! Snapshots of N-body simulations: HDF5 in Gadget's layout, which yt and pynbody open, and CSV; and the same file with what a run goes on
//! with.

mod restart;

pub use restart::{Kept, Restart};

use fmm::data::input::to_csv;
use hdf5_writer::{AttributeBuilder, DatasetBuilder, Error, H5WriteElement, Hdf5Builder, WriteOptions};
use pairforge::nbody::Bodies;

/// The units of a snapshot, for programs that show physical ones. That of the velocity follows from G = 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Units {
    /// In parsecs.
    pub length: f64,
    /// In masses of the Sun.
    pub mass: f64,
}

const PARSEC: f64 = 3.085_677_581_491_367e18;
/// The nominal solar mass parameter of the IAU (2015, resolution B3) over CODATA's G of 2018, in grams.
const SUN: f64 = G_SUN / G;
/// A thousand million Julian years in seconds.
const GIGAYEAR: f64 = 3.155_76e16;
const G: f64 = 6.674_30e-8;
const G_SUN: f64 = 1.327_124_4e26;

impl Units {
    /// The units of length, mass, velocity and time in centimetres, grams and seconds.
    fn cgs(&self) -> [f64; 4] {
        let (length, mass) = (self.length * PARSEC, self.mass * SUN);
        let velocity = (self.mass * G_SUN / length).sqrt();
        [length, mass, velocity, length / velocity]
    }
}

/// Bodies at one time.
pub struct Snapshot<'a> {
    pub time: f64,
    pub bodies: &'a Bodies,
    pub units: Units,
}

/// Particles are of the type that Gadget has for dark matter: they act by gravity alone.
const TYPE: usize = 1;
const TYPES: usize = 6;

/// Adds a dataset of columns, one behind the other in a row.
fn dataset<T: H5WriteElement, const N: usize>(
    file: Hdf5Builder,
    name: &str,
    columns: [&[T]; N],
) -> Result<Hdf5Builder, Error> {
    let rows = columns[0].len();
    let shape = if N == 1 { vec![rows as u64] } else { vec![rows as u64, N as u64] };
    let values: Vec<T> = (0..rows).flat_map(|k| columns.map(|column| column[k])).collect();
    Ok(file.dataset(DatasetBuilder::typed_data(name, shape, &values)?))
}

impl Snapshot<'_> {
    /// The file in Gadget's layout.
    pub fn hdf5(&self) -> Result<Vec<u8>, Error> {
        self.gadget()?.into_plan()?.encode(WriteOptions::default())
    }

    /// The columns x, y, z, m, vx, vy and vz, which are read back to the bit.
    pub fn csv(&self) -> String {
        let Bodies { mass, position: [x, y, z], velocity: [vx, vy, vz] } = self.bodies;
        let named = [("x", x), ("y", y), ("z", z), ("m", mass), ("vx", vx), ("vy", vy), ("vz", vz)];
        to_csv(&named.map(|(name, column)| (name.to_string(), &column[..])))
    }

    fn gadget(&self) -> Result<Hdf5Builder, Error> {
        let Bodies { mass, position, velocity } = self.bodies;
        let place = |name: &str| format!("PartType{TYPE}/{name}");
        let mut file = self.header(Hdf5Builder::new())?;
        // Readers look in one group or the other.
        for (name, value) in UNITS.into_iter().zip(self.units.cgs()) {
            for group in ["Units", "Parameters"] {
                file = file.group_attribute(group, AttributeBuilder::scalar(name, value)?);
            }
        }
        let [_, _, _, unit] = self.units.cgs();
        let time = AttributeBuilder::scalar("Time_GYR", self.time * unit / GIGAYEAR)?;
        file = file.group_attribute("Parameters", time);
        file = dataset(file, &place("Coordinates"), position.each_ref().map(|x| &x[..]))?;
        file = dataset(file, &place("Velocities"), velocity.each_ref().map(|v| &v[..]))?;
        file = dataset(file, &place("Masses"), [&mass[..]])?;
        let identities: Vec<u64> = (1..=mass.len() as u64).collect();
        dataset(file, &place("ParticleIDs"), [&identities[..]])
    }

    fn header(&self, mut file: Hdf5Builder) -> Result<Hdf5Builder, Error> {
        let n = self.bodies.len() as u64;
        let mut add = |attribute: AttributeBuilder| {
            file = std::mem::take(&mut file).group_attribute("Header", attribute);
        };
        let of_type = |value: u32| {
            let mut all = [0u32; TYPES];
            all[TYPE] = value;
            all
        };
        add(AttributeBuilder::vector("NumPart_ThisFile", &of_type(n as u32))?);
        add(AttributeBuilder::vector("NumPart_Total", &of_type(n as u32))?);
        add(AttributeBuilder::vector("NumPart_Total_HighWord", &of_type((n >> 32) as u32))?);
        add(AttributeBuilder::vector("MassTable", &[0f64; TYPES])?);
        for (name, value) in [("Time", self.time), ("Redshift", 0.0), ("BoxSize", 0.0)] {
            add(AttributeBuilder::scalar(name, value)?);
        }
        for (name, value) in [("Omega0", 0.0), ("OmegaLambda", 0.0), ("HubbleParam", 1.0)] {
            add(AttributeBuilder::scalar(name, value)?);
        }
        for (name, value) in FLAGS {
            add(AttributeBuilder::scalar(name, value)?);
        }
        Ok(file)
    }
}

const UNITS: [&str; 4] = ["UnitLength_in_cm", "UnitMass_in_g", "UnitVelocity_in_cm_per_s", "UnitTime_in_s"];

const FLAGS: [(&str, i32); 8] = [
    ("NumFilesPerSnapshot", 1),
    ("Flag_Sfr", 0),
    ("Flag_Cooling", 0),
    ("Flag_StellarAge", 0),
    ("Flag_Metals", 0),
    ("Flag_Feedback", 0),
    ("Flag_Entropy_ICs", 0),
    ("Flag_DoublePrecision", 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_velocity_is_that_of_the_suns_gravity() {
        // An orbit of one astronomical unit around the Sun has 29.78 km/s.
        let [_, _, velocity, time] = Units { length: 1.0 / 206_264.806, mass: 1.0 }.cgs();
        assert!((velocity / 29.785e5 - 1.0).abs() < 1e-4, "{velocity}");
        assert!((2.0 * std::f64::consts::PI * time / 3.1558e7 - 1.0).abs() < 1e-4, "{time}");
    }
}
