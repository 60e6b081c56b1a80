//! The children of two cells of one level that are near each other, by the offset of these cells.

use super::lists::is_near;

/// Bits of octants: for an offset `o` of two cells (source less target) and an octant of the target, those of the source
/// that are near it.
pub struct Octants {
    near2: u64,
    /// Offsets up to this along each axis are in the table.
    reach: i32,
    table: Vec<[u8; 8]>,
}

/// The greatest reach of a table.
const LONGEST: i32 = 8;

impl Octants {
    pub fn new(near2: u64) -> Octants {
        // Children are farther apart than their parents, in units of their own.
        let reach = (0..LONGEST).find(|r| (r * r) as u64 >= near2).unwrap_or(LONGEST);
        let axis = -reach..=reach;
        let mut table = Vec::new();
        for x in axis.clone() {
            for y in axis.clone() {
                for z in axis.clone() {
                    table.push(std::array::from_fn(|t| computed([x, y, z], t, near2)));
                }
            }
        }
        Octants { near2, reach, table }
    }

    /// The octants of a source at offset `o` that are near octant `t` of the target.
    pub fn near(&self, o: [i32; 3], t: usize) -> u8 {
        self.place(o).map_or_else(|| computed(o, t, self.near2), |place| self.table[place][t])
    }

    /// The same for all octants of the target.
    pub fn near_all(&self, o: [i32; 3]) -> [u8; 8] {
        let all = || std::array::from_fn(|t| computed(o, t, self.near2));
        self.place(o).map_or_else(all, |place| self.table[place])
    }

    /// Where an offset stands in the table.
    fn place(&self, o: [i32; 3]) -> Option<usize> {
        if o.iter().any(|x| x.abs() > self.reach) {
            return None;
        }
        let edge = 2 * self.reach + 1;
        let [x, y, z] = o.map(|x| x + self.reach);
        Some(((x * edge + y) * edge + z) as usize)
    }
}

fn computed(o: [i32; 3], t: usize, near2: u64) -> u8 {
    let bit = |octant: usize, a: usize| (octant >> (2 - a) & 1) as i64;
    let is_close = |s: &usize| is_near(std::array::from_fn(|a| 2 * o[a] as i64 + bit(*s, a) - bit(t, a)), near2);
    (0..8).filter(is_close).fold(0, |bits, s| bits | 1 << s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_hold_what_is_computed() {
        for near2 in [4, 5, 12, 70, 1000] {
            let octants = Octants::new(near2);
            for o in [[0, 0, 0], [1, -1, 0], [-2, 1, 1], [3, 0, -7], [8, -8, 8], [9, 0, 0], [-40, 2, 1]] {
                (0..8).for_each(|t| assert_eq!(octants.near(o, t), computed(o, t, near2), "{near2} {o:?} {t}"));
                assert_eq!(octants.near_all(o), [0, 1, 2, 3, 4, 5, 6, 7].map(|t| computed(o, t, near2)));
            }
        }
        let octants = Octants::new(4);
        assert_eq!((0..8).map(|t| octants.near([0, 0, 0], t)).collect::<Vec<u8>>(), [255; 8]);
        assert_eq!(octants.near([1, 0, 0], 0b100), 0b1111);
        assert_eq!(octants.near([1, 0, 0], 0b000), 0);
    }
}
