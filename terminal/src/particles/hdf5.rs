//! HDF5: snapshots in Gadget's layout, groups of arrays, and single datasets.

use super::{Found, Outcome, Wanted, arrays, boxed, wrong};
use crate::memory;
use fmm::data::npy::Array;
use fmm::data::particles::ParticleError;
use fmm::shown::shown;
use hdf5_reader::error::Error;
use hdf5_reader::group::Group;
use hdf5_reader::{ByteOrder, Dataset, Datatype, Hdf5File, OpenOptions};

const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Whether the signature stands at the beginning, or behind a block of the user's.
pub fn is_hdf5(bytes: &[u8]) -> bool {
    let places = std::iter::once(0).chain((9..24).map(|k| 1usize << k));
    places.take_while(|at| *at < bytes.len()).any(|at| bytes[at..].starts_with(SIGNATURE))
}

fn said<T>(what: &str, found: Result<T, Error>) -> Result<T, ParticleError> {
    found.map_err(|e| ParticleError::File(format!("`{}` cannot be read: {e}", shown(what))))
}

pub fn read(bytes: Vec<u8>, inside: Option<&str>, wanted: Wanted) -> Outcome {
    // No file of this size holds more: deflate packs up to 1032 bytes into one.
    let packed = (bytes.len() as u64).saturating_mul(1100).saturating_add(1 << 20);
    let most = memory::free().map_or(packed, |free| (free / 4).min(packed)) as usize;
    let options = OpenOptions::default().with_chunk_cache_bytes(0).with_max_read_bytes(most).with_max_chunk_bytes(most);
    let file = Hdf5File::from_vec_with_options(bytes, options);
    let file = File { file: said("/", file)?, wanted };
    let places: Vec<&str> = inside.unwrap_or_default().split(',').map(|p| p.trim_matches('/')).collect();
    match places[..] {
        [place] => file.place(place),
        _ => file.types(&places),
    }
}

struct File {
    file: Hdf5File,
    wanted: Wanted,
}

/// The group of a type of particles, by Gadget's names.
const TYPE: &str = "PartType";
const POSITIONS: &str = "Coordinates";
const VELOCITIES: &str = "Velocities";

fn type_number(name: &str) -> Option<usize> {
    name.rsplit('/').next()?.strip_prefix(TYPE)?.parse().ok()
}

impl File {
    /// The names of groups and of datasets in a group, each sorted: a file has them in no order.
    fn members(&self, path: &str) -> Result<(Vec<String>, Vec<String>), ParticleError> {
        let (mut groups, mut datasets) = said(path, said(path, self.group(path))?.member_names())?;
        groups.sort_unstable();
        datasets.sort_unstable();
        Ok((groups, datasets))
    }

    fn group(&self, path: &str) -> Result<Group, Error> {
        self.file.group(path)
    }

    fn place(&self, path: &str) -> Outcome {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !path.is_empty() {
            let (groups, datasets) = self.members(parent)?;
            if datasets.iter().any(|d| d == name) {
                return self.alone(path);
            }
            if !groups.iter().any(|g| g == name) {
                return wrong(format!("it has no `/{}`; {}", shown(path), listed(parent, &groups, &datasets)));
            }
        }
        let (groups, datasets) = self.members(path)?;
        let join = |name: &String| if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        let mut types: Vec<String> = groups.iter().filter(|g| type_number(g).is_some()).map(join).collect();
        types.sort_by_key(|name| type_number(name));
        if !types.is_empty() {
            return self.types(&types.iter().map(|t| &t[..]).collect::<Vec<_>>());
        }
        if type_number(path).is_some() {
            return self.types(&[path]);
        }
        let is_alone = datasets.len() == 1;
        let (used, others): (Vec<String>, Vec<String>) =
            datasets.iter().cloned().partition(|d| is_alone || arrays::is_used(d));
        if used.is_empty() {
            return wrong(format!(
                "`/{}` holds no particles; {}. Name a dataset or a group of them, as in FILE:/PATH",
                shown(path),
                listed(path, &groups, &datasets)
            ));
        }
        let read = |name: String| {
            let array = self.array(&join(&name))?;
            Ok((name, array))
        };
        arrays::columns(used.into_iter().map(read).collect::<Result<_, ParticleError>>()?, self.wanted, others)
    }

    /// A single dataset.
    fn alone(&self, path: &str) -> Outcome {
        let mut found = Found::default();
        arrays::alone(path, self.array(path)?, self.wanted, &mut found)?;
        Ok(found)
    }

    fn array(&self, path: &str) -> Result<Array, ParticleError> {
        let dataset = said(path, self.file.dataset(path))?;
        let of = |e: ParticleError| ParticleError::File(format!("the dataset `/{}`: {e}", shown(path)));
        let descr = descr_of(&dataset).map_err(|what| of(ParticleError::File(what)))?;
        let shape: Option<Vec<usize>> = dataset.shape().iter().map(|n| usize::try_from(*n).ok()).collect();
        let bytes = said(path, dataset.read_raw_bytes())?;
        Array::from_parts(&descr, &shape.unwrap_or_default(), &bytes).map_err(of)
    }

    /// The particles of some types, one after the other.
    fn types(&self, names: &[&str]) -> Outcome {
        let mut all = Found::default();
        let mut counts = Vec::new();
        for name in names {
            if type_number(name).is_none() {
                return wrong(format!("`/{}` is no type of particles, of which several may be named", shown(name)));
            }
            let Some((found, count)) = self.of_type(name)? else { continue };
            counts.push(format!("/{} ({count})", shown(name)));
            all.ignored
                .extend(found.ignored.into_iter().filter(|other| !all.ignored.contains(other)).collect::<Vec<_>>());
            match all.columns.is_empty() {
                true => all.columns = found.columns,
                false => {
                    let behind = |(name, column): (String, Vec<f64>)| {
                        all.columns.iter_mut().filter(|(n, _)| *n == name).for_each(|(_, c)| c.extend(&column));
                    };
                    found.columns.into_iter().for_each(behind);
                }
            }
        }
        if counts.is_empty() {
            return wrong(format!("there are no particles in `/{}`", shown(&names.join(", /"))));
        }
        if counts.len() > 1 {
            all.notes.push(format!("particles are those of {}, in this order", counts.join(", ")));
        }
        all.notes.extend(self.note());
        Ok(all)
    }

    /// The columns of a type and how many particles it has; `None` where it has no positions.
    fn of_type(&self, name: &str) -> Result<Option<(Found, usize)>, ParticleError> {
        let (_, datasets) = self.members(name)?;
        let has = |wanted: &str| datasets.iter().any(|d| d == wanted);
        if !has(POSITIONS) {
            return Ok(None);
        }
        let positions = self.array(&format!("{name}/{POSITIONS}"))?;
        let count = positions.rows;
        let mut parts = vec![(POSITIONS.to_string(), positions)];
        if has("Masses") && self.wanted.has_charges {
            parts.push(("mass".to_string(), self.array(&format!("{name}/Masses"))?));
        }
        let has_masses = parts.len() > 1;
        let mut used = vec![POSITIONS, "Masses"];
        if has(VELOCITIES) && self.wanted.has_velocities {
            parts.push((VELOCITIES.to_string(), self.array(&format!("{name}/{VELOCITIES}"))?));
            used.push(VELOCITIES);
        }
        let ignored = datasets.into_iter().filter(|d| !used.contains(&&d[..])).collect();
        let mut found = match parts.len() > 1 {
            true => arrays::columns(parts, self.wanted, ignored)?,
            false => arrays::positions(parts.swap_remove(0), ignored)?,
        };
        if !has_masses && self.wanted.has_charges {
            let Some(mass) = type_number(name).and_then(|k| self.table("MassTable", k)).filter(|m| *m > 0.0) else {
                return wrong(format!(
                    "`/{0}` has no Masses, and the MassTable of the Header has none for it; name the types that have, as in \
                     FILE:/PartType0,PartType1",
                    shown(name)
                ));
            };
            found.columns.push(("mass".into(), vec![mass; count]));
        }
        Ok(Some((found, count)))
    }

    /// A number of an attribute of the Header that has one for each type.
    fn table(&self, name: &str, k: usize) -> Option<f64> {
        let attribute = self.group("Header").ok()?.attribute(name).ok()?;
        let wide = || attribute.read_1d::<f64>().ok();
        let narrow = || attribute.read_1d::<f32>().ok().map(|all| all.into_iter().map(f64::from).collect());
        let all: Vec<f64> = wide().or_else(narrow)?;
        all.get(k).copied()
    }

    fn note(&self) -> Option<String> {
        let attribute = self.group("Header").ok()?.attribute("BoxSize").ok()?;
        let edges = match attribute.read_1d::<f64>() {
            Ok(all) if all.len() == 3 => [all[0], all[1], all[2]],
            _ => [attribute.read_as_f64().ok()?; 3],
        };
        edges.iter().all(|x| *x > 0.0 && x.is_finite()).then(|| boxed(edges, false))
    }
}

/// The contents of a group, in a sentence.
fn listed(path: &str, groups: &[String], datasets: &[String]) -> String {
    let names = |names: &[String]| names.iter().take(20).map(|n| shown(n)).collect::<Vec<_>>().join(", ");
    let groups = if groups.is_empty() { "no groups".into() } else { format!("the groups {}", names(groups)) };
    let datasets = if datasets.is_empty() { "no datasets".into() } else { format!("the datasets {}", names(datasets)) };
    format!("`/{}` has {groups} and {datasets}", shown(path))
}

/// The format of a dataset in NumPy's words.
fn descr_of(dataset: &Dataset) -> Result<String, String> {
    let size = dataset.raw_element_size().map_err(|e| e.to_string())?;
    match dataset.dtype() {
        Datatype::Compound { fields, .. } => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|field| field.byte_offset);
            let mut text = String::from("[");
            let mut at = 0;
            for (k, field) in fields.iter().enumerate() {
                let start = field.byte_offset as usize;
                let end = fields.get(k + 1).map_or(size, |next| next.byte_offset as usize);
                let (Some(gap), Some(length)) = (start.checked_sub(at), end.checked_sub(start)) else {
                    return Err("its fields overlap".into());
                };
                if gap > 0 {
                    text += &format!("('', '|V{gap}'), ");
                }
                // What no literal of Python would hold as it is.
                let name = field.name.replace(['\'', '"', '\\'], "_");
                let (own, used) = match member(&field.datatype) {
                    Some((format, shape, used)) if used <= length => (format!("('{name}', {format}{shape}), "), used),
                    _ => (format!("('{name}', '|V{length}'), "), length),
                };
                text += &own;
                at = start + used;
            }
            if size > at {
                text += &format!("('', '|V{}'), ", size - at);
            }
            Ok(text + "]")
        }
        other => match scalar(other) {
            Some((format, _)) => Ok(format!("'{format}'")),
            None => Err("it holds no plain numbers; floats of 2, 4 and 8 bytes and integers can be read".into()),
        },
    }
}

/// The format of a field, its shape behind a comma where it has one, and its bytes.
fn member(datatype: &Datatype) -> Option<(String, String, usize)> {
    match datatype {
        Datatype::Array { base, dims } => {
            let (format, size) = scalar(base)?;
            let count = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?;
            let shape: Vec<String> = dims.iter().map(u64::to_string).collect();
            let bytes = usize::try_from(count).ok()?.checked_mul(size)?;
            Some((format!("'{format}'"), format!(", ({},)", shape.join(", ")), bytes))
        }
        other => scalar(other).map(|(format, size)| (format!("'{format}'"), String::new(), size)),
    }
}

fn scalar(datatype: &Datatype) -> Option<(String, usize)> {
    let named = |kind: char, size: u8, order: &ByteOrder| {
        let order = if *order == ByteOrder::BigEndian { '>' } else { '<' };
        (format!("{order}{kind}{size}"), size as usize)
    };
    match datatype {
        Datatype::FixedPoint { size: size @ (1 | 2 | 4 | 8), signed, byte_order } => {
            Some(named(if *signed { 'i' } else { 'u' }, *size, byte_order))
        }
        Datatype::FloatingPoint { size: size @ (2 | 4 | 8), byte_order } => Some(named('f', *size, byte_order)),
        Datatype::Enum { base, .. } => scalar(base),
        _ => None,
    }
}
