//! NumPy's `.npz`: a ZIP archive of `.npy` files, as they are or deflated.
//!
//! NumPy writes two of ZIP's many methods and no encryption. The crate `zip` would add 15 crates to the lock file for what is read
//! here of the archive's directory.

use super::{Outcome, Wanted, arrays, wrong};
use crate::memory;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use fmm::data::npy::Array;
use fmm::data::particles::ParticleError;
use fmm::shown::shown;
use std::borrow::Cow;
use std::io::Read;

pub fn is_npz(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// A file of the archive.
struct Entry {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    /// Where its own header begins.
    header: u64,
}

pub fn read(bytes: Vec<u8>, inside: Option<&str>, wanted: Wanted) -> Outcome {
    let entries = entries(&bytes).ok_or_else(|| ParticleError::File(CUT.into()))?;
    let name_of = |entry: &Entry| entry.name.strip_suffix(".npy").unwrap_or(&entry.name).to_string();
    let listed = || entries.iter().take(20).map(|e| shown(&name_of(e))).collect::<Vec<_>>().join(", ");
    if let Some(name) = inside.filter(|name| !name.is_empty()) {
        let Some(entry) = entries.iter().find(|entry| name_of(entry) == name) else {
            return wrong(format!("it has no array `{}`; it has {}", shown(name), listed()));
        };
        let array = array(&bytes, entry, name)?;
        let mut found = super::Found::default();
        arrays::alone(name, array, wanted, &mut found)?;
        return Ok(found);
    }
    let is_alone = entries.len() == 1;
    let is_wanted = |entry: &&Entry| {
        let name = name_of(entry);
        is_alone || (entries.len() == 2 && name.starts_with("arr_")) || arrays::is_used(&name)
    };
    let (used, others): (Vec<&Entry>, Vec<&Entry>) = entries.iter().partition(is_wanted);
    if used.is_empty() {
        return wrong(format!(
            "it has {}; arrays named x, y, z and q, or pos and q are needed, or one that is named: FILE:/NAME",
            if entries.is_empty() { "no arrays".into() } else { format!("the arrays {}", listed()) }
        ));
    }
    let mut all = Vec::new();
    for entry in used {
        let name = name_of(entry);
        all.push((name.clone(), array(&bytes, entry, &name)?));
    }
    arrays::columns(all, wanted, others.into_iter().map(name_of).collect())
}

const CUT: &str = "it is not a whole .npz archive; it may have been cut: save it again";

fn array(bytes: &[u8], entry: &Entry, name: &str) -> Result<Array, ParticleError> {
    let of = |e: ParticleError| ParticleError::File(format!("the array `{}`: {e}", shown(name)));
    let data = content(bytes, entry).map_err(|what| of(ParticleError::File(what)))?;
    Array::read(&data).map_err(of)
}

fn number(bytes: &[u8], at: u64, size: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |n, b| n << 8 | *b as u64))
}

/// The directory at the end of an archive.
fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    // A comment of up to 64 KiB may follow it.
    let last = bytes.len().checked_sub(22)?;
    let first = last.saturating_sub(0xffff);
    let end = (first..=last).rev().find(|at| bytes[*at..].starts_with(b"PK\x05\x06"))? as u64;
    let (mut count, mut at) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    let locator = end.checked_sub(20).filter(|at| number(bytes, *at, 4) == Some(0x0706_4b50));
    if let Some(locator) = locator {
        let wide = number(bytes, locator + 8, 8)?;
        if number(bytes, wide, 4)? != 0x0606_4b50 {
            return None;
        }
        (count, at) = (number(bytes, wide.checked_add(32)?, 8)?, number(bytes, wide.checked_add(48)?, 8)?);
    }
    let mut entries = Vec::new();
    for _ in 0..count {
        if number(bytes, at, 4)? != 0x0201_4b50 {
            return None;
        }
        let of = |offset: u64, size: usize| number(bytes, at.checked_add(offset)?, size);
        let [name, extra, comment] = [of(28, 2)?, of(30, 2)?, of(32, 2)?];
        let text = bytes.get((at + 46) as usize..(at + 46 + name) as usize)?;
        let mut entry = Entry {
            name: String::from_utf8_lossy(text).into_owned(),
            method: of(10, 2)? as u16,
            crc: of(16, 4)? as u32,
            packed: of(20, 4)?,
            size: of(24, 4)?,
            header: of(42, 4)?,
        };
        widen(bytes, at + 46 + name, extra, &mut entry)?;
        entries.push(entry);
        at += 46 + name + extra + comment;
    }
    Some(entries)
}

/// Takes sizes above 4 GiB from where ZIP64 has them.
fn widen(bytes: &[u8], first: u64, length: u64, entry: &mut Entry) -> Option<()> {
    const WIDE: u64 = 0xffff_ffff;
    let (mut at, end) = (first, first + length);
    while at + 4 <= end {
        let (tag, size) = (number(bytes, at, 2)?, number(bytes, at + 2, 2)?);
        let mut value = at + 4;
        if tag == 1 {
            for field in [&mut entry.size, &mut entry.packed, &mut entry.header] {
                if *field == WIDE {
                    *field = number(bytes, value, 8)?;
                    value += 8;
                }
            }
        }
        at += 4 + size;
    }
    Some(())
}

/// The bytes of a file of the archive.
fn content<'b>(bytes: &'b [u8], entry: &Entry) -> Result<Cow<'b, [u8]>, String> {
    let cut = || CUT.to_string();
    let own = |offset: u64, size| number(bytes, entry.header.checked_add(offset)?, size);
    if own(0, 4) != Some(0x0403_4b50) {
        return Err(cut());
    }
    let (name, extra) = own(26, 2).zip(own(28, 2)).ok_or_else(cut)?;
    let start = usize::try_from(entry.header + 30 + name + extra).map_err(|_| cut())?;
    let length = usize::try_from(entry.packed).map_err(|_| cut())?;
    let packed = start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or_else(cut)?;
    let data = match entry.method {
        0 => Cow::Borrowed(packed),
        8 => {
            if memory::free().is_some_and(|free| entry.size > free / 4) {
                return Err(format!("it has {}, for which there is too little memory", memory::gigabytes(entry.size)));
            }
            let mut data = Vec::new();
            let read = DeflateDecoder::new(packed).take(entry.size.saturating_add(1)).read_to_end(&mut data);
            read.map_err(|e| format!("it cannot be unpacked: {e}; save it again"))?;
            Cow::Owned(data)
        }
        method => {
            return Err(format!("it is packed by ZIP's method {method}; save it by numpy.savez or savez_compressed"));
        }
    };
    let mut crc = Crc::new();
    crc.update(&data);
    match data.len() as u64 == entry.size && crc.sum() == entry.crc {
        true => Ok(data),
        false => Err("its checksum is another; the file was damaged: save it again".into()),
    }
}
