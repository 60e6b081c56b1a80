//! LAMMPS data files: a header of counts and a box, then sections, of which `Atoms` has a layout for each atom style.

use super::lines::Lines;
use super::{Found, Outcome, Wanted, boxed};
use fmm::data::particles::ParticleError;
use fmm::data::text::Columns;
use fmm::shown::shown;
use std::collections::HashMap;

/// Lines in which the number of atoms stands, if it is such a file.
const HEAD: usize = 60;
/// Bytes of them, at most.
const LONGEST: usize = 16 << 10;

pub fn is_data(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(LONGEST)];
    head.split(|b| *b == b'\n').take(HEAD).any(|line| {
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let is_count = words.next().is_some_and(|word| word.iter().all(u8::is_ascii_digit));
        is_count && words.next() == Some(b"atoms")
    })
}

/// An atom style: its name, the number of columns of an atom, and where the type, x, the charge and the first of the dipole moments
/// stand.
struct Style {
    name: &'static str,
    columns: usize,
    kind: usize,
    x: usize,
    q: Option<usize>,
    moment: Option<usize>,
}

const fn style(name: &'static str, columns: usize, kind: usize, x: usize, q: Option<usize>) -> Style {
    Style { name, columns, kind, x, q, moment: None }
}

/// The styles by LAMMPS's documentation of `read_data`.
const STYLES: [Style; 13] = [
    style("atomic", 5, 1, 2, None),
    style("charge", 6, 1, 3, Some(2)),
    style("full", 7, 2, 4, Some(3)),
    style("molecular", 6, 2, 3, None),
    style("bond", 6, 2, 3, None),
    style("angle", 6, 2, 3, None),
    Style { moment: Some(6), ..style("dipole", 9, 1, 3, Some(2)) },
    style("sphere", 7, 1, 4, None),
    style("ellipsoid", 7, 1, 4, None),
    style("body", 7, 1, 4, None),
    style("electron", 8, 1, 5, Some(2)),
    style("wavepacket", 11, 1, 8, Some(2)),
    style("peri", 7, 1, 4, None),
];

/// The sections before and beside the atoms.
#[derive(Default)]
struct Header {
    atoms: usize,
    edges: [Option<f64>; 3],
    is_tilted: bool,
}

pub fn read(bytes: Vec<u8>, inside: Option<&str>, wanted: Wanted) -> Outcome {
    let mut lines = Lines::of(&bytes)?;
    // The first line is a title, whatever it says.
    lines.next();
    let mut header = Header::default();
    let mut masses = HashMap::new();
    let mut atoms: Option<(Lines, &Style)> = None;
    let mut section = "";
    while let Some(line) = lines.next() {
        let plain = line.split('#').next().unwrap_or_default().trim();
        if plain.is_empty() {
            continue;
        }
        let words: Vec<&str> = plain.split_whitespace().collect();
        if plain.starts_with(|c: char| c.is_ascii_alphabetic()) && SECTIONS.contains(&plain) {
            section = plain;
            if section == "Atoms" {
                let style = style_of(&lines, line, inside)?;
                atoms = Some((lines.clone(), style));
            }
            continue;
        }
        match section {
            "" => header.add(&lines, &words)?,
            "Masses" => {
                let [kind, mass, ..] = words[..] else {
                    return lines.wrong("a type and its mass are needed");
                };
                masses.insert(kind, lines.number("a mass", mass)?);
            }
            _ => {}
        }
    }
    let Some((mut lines, style)) = atoms else {
        return super::wrong("it is a LAMMPS data file without a section Atoms; the file may have been cut");
    };
    Atoms { header, masses, style }.read(&mut lines, wanted)
}

/// Sections that may stand before or behind the atoms, by LAMMPS's documentation.
const SECTIONS: [&str; 34] = [
    "Atoms",
    "Velocities",
    "Masses",
    "Ellipsoids",
    "Lines",
    "Triangles",
    "Bodies",
    "Bonds",
    "Angles",
    "Dihedrals",
    "Impropers",
    "Atom Type Labels",
    "Bond Type Labels",
    "Angle Type Labels",
    "Dihedral Type Labels",
    "Improper Type Labels",
    "Pair Coeffs",
    "PairIJ Coeffs",
    "Bond Coeffs",
    "Angle Coeffs",
    "Dihedral Coeffs",
    "Improper Coeffs",
    "BondBond Coeffs",
    "BondAngle Coeffs",
    "MiddleBondTorsion Coeffs",
    "EndBondTorsion Coeffs",
    "AngleTorsion Coeffs",
    "AngleAngleTorsion Coeffs",
    "BondBond13 Coeffs",
    "AngleAngle Coeffs",
    "CS-Info",
    "Fragments",
    "Tags",
    "Smiles",
];

/// The style that is named behind the file, or by LAMMPS behind the section's name.
fn style_of(lines: &Lines, line: &str, inside: Option<&str>) -> Result<&'static Style, ParticleError> {
    let hint = line.split_once('#').map(|(_, hint)| hint.trim()).filter(|hint| !hint.is_empty());
    let names = || STYLES.iter().map(|style| style.name).collect::<Vec<_>>().join(", ");
    let Some(name) = inside.or(hint) else {
        return lines.wrong(format!(
            "the style of the atoms is not said; write `Atoms # full` here, or name it behind the file, as in FILE:/full (styles: {})",
            names()
        ));
    };
    match STYLES.iter().find(|style| style.name == name) {
        Some(style) => Ok(style),
        None => {
            lines.wrong(format!("the atom style `{}` is not known; those that are read are {}", shown(name), names()))
        }
    }
}

impl Header {
    fn add(&mut self, lines: &Lines, words: &[&str]) -> Result<(), ParticleError> {
        match *words {
            [count, "atoms"] => match count.parse() {
                Ok(count) => self.atoms = count,
                Err(_) => return lines.wrong(format!("`{}` is no number of atoms", shown(count))),
            },
            [low, high, low_name, high_name] if high_name.ends_with("hi") => {
                let axis = ["xlo", "ylo", "zlo"].iter().position(|name| *name == low_name);
                if let Some(axis) = axis {
                    self.edges[axis] = Some(lines.number(high_name, high)? - lines.number(low_name, low)?);
                }
            }
            [.., "yz"] | [.., "avec" | "bvec" | "cvec"] => self.is_tilted = true,
            _ => {}
        }
        Ok(())
    }

    fn note(&self) -> Option<String> {
        match self.edges {
            _ if self.is_tilted => Some("its tilted box is not used; `fmm --periodic` takes cubes".into()),
            [Some(x), Some(y), Some(z)] => Some(boxed([x, y, z], false)),
            _ => None,
        }
    }
}

struct Atoms<'t> {
    header: Header,
    masses: HashMap<&'t str, f64>,
    style: &'static Style,
}

impl Atoms<'_> {
    fn read(self, lines: &mut Lines, wanted: Wanted) -> Outcome {
        let Atoms { header, masses, style } = self;
        let n = header.atoms;
        if n.saturating_mul(2 * style.columns) > lines.left().saturating_add(1) {
            let left = lines.left();
            return lines
                .wrong(format!("{n} atoms were announced, but {left} bytes follow; the file may have been cut"));
        }
        let by_mass = style.q.is_none() && wanted.has_charges;
        if by_mass && masses.is_empty() {
            return lines.wrong(format!(
                "atoms of the style {} have no charges, and there is no section Masses; write the data with the style charge or full",
                style.name
            ));
        }
        let names = match (style.q, by_mass, style.moment) {
            (Some(_), _, Some(_)) => &["x", "y", "z", "q", "px", "py", "pz"][..],
            (Some(_), _, None) => &["x", "y", "z", "q"],
            (None, true, _) => &["x", "y", "z", "m"],
            _ => &["x", "y", "z"],
        };
        let mut columns: Columns = names.iter().map(|name| (name.to_string(), Vec::with_capacity(n))).collect();
        let places: Vec<Option<usize>> = (0..3)
            .map(|axis| Some(style.x + axis))
            .chain((names.len() > 3).then_some(style.q))
            .chain(style.moment.into_iter().flat_map(|first| [0, 1, 2].map(|axis| Some(first + axis))))
            .collect();
        let mut read = 0;
        while read < n {
            let line = lines.needed("an atom")?;
            let plain = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = plain.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            // Three flags of images may follow.
            if words.len() != style.columns && words.len() != style.columns + 3 {
                return lines.wrong(format!(
                    "an atom of the style {} has {} values, or {} with flags of images, here are {}; is it of another style?",
                    style.name,
                    style.columns,
                    style.columns + 3,
                    words.len()
                ));
            }
            for ((name, column), place) in columns.iter_mut().zip(&places) {
                let value = match place {
                    Some(k) => lines.number(name, words[*k])?,
                    None => match masses.get(words[style.kind]) {
                        Some(mass) => *mass,
                        None => {
                            let kind = shown(words[style.kind]);
                            return lines.wrong(format!("the section Masses has no mass of the type `{kind}`"));
                        }
                    },
                };
                column.push(value);
            }
            read += 1;
        }
        let masses = "its atoms have no charges, so that the masses of their types are taken".to_string();
        let notes = by_mass.then_some(masses).into_iter().chain(header.note()).collect();
        Ok(Found { columns, ignored: Vec::new(), notes })
    }
}
