//! Plain CSV on all cores: what large files look like. Whatever is unusual or wrong is left to the careful reader, which says
//! where.

use super::{Column, field};
use host::job::Table;
use rayon::prelude::*;

/// Bytes of one thread's piece.
const PIECE: usize = 1 << 20;

/// The table of a file without quotes, if all of it can be read.
pub fn read(bytes: &[u8], columns: &[Column], raw: bool) -> Option<Table> {
    if columns.is_empty() || bytes.contains(&b'"') {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (header, rest) = text.split_once('\n')?;
    let header: Vec<&str> = header.split(',').map(str::trim).collect();
    if header.len() != columns.len() || header[0].starts_with('#') {
        return None;
    }
    // The element of the record that each field is.
    let elements: Option<Vec<usize>> = header.iter().map(|name| columns.iter().position(|c| c.name == *name)).collect();
    let elements = elements?;
    let mut seen = vec![false; columns.len()];
    elements.iter().for_each(|e| seen[*e] = true);
    if seen.contains(&false) {
        return None;
    }
    let parts: Option<Vec<Vec<u64>>> = pieces(rest).par_iter().map(|p| piece(p, columns, &elements, raw)).collect();
    Some(Table { elements: columns.len(), bits: parts?.concat() })
}

/// The text in pieces that end with lines.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut list = Vec::new();
    while text.len() > PIECE {
        let bytes = text.as_bytes();
        let Some(end) = bytes[PIECE..].iter().position(|b| *b == b'\n') else { break };
        let (one, rest) = text.split_at(PIECE + end + 1);
        list.push(one);
        text = rest;
    }
    list.push(text);
    list
}

fn piece(text: &str, columns: &[Column], elements: &[usize], raw: bool) -> Option<Vec<u64>> {
    let mut bits = Vec::with_capacity(text.len() / 8);
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let start = bits.len();
        bits.resize(start + elements.len(), 0);
        let mut fields = line.split(',');
        for &element in elements {
            bits[start + element] = field(&columns[element], fields.next()?.trim(), raw).ok()?;
        }
        if fields.next().is_some() {
            return None;
        }
    }
    Some(bits)
}
