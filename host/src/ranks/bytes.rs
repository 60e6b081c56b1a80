//! Messages as bytes: numbers one behind the other, low byte first.

use super::RankError;

/// Writes a message.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn u64(&mut self, x: u64) {
        self.0.extend(x.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub fn u64s(&mut self, numbers: &[u64]) {
        self.many(numbers.len(), numbers.iter().map(|x| x.to_le_bytes()));
    }

    pub fn u32s(&mut self, numbers: &[u32]) {
        self.many(numbers.len(), numbers.iter().map(|x| x.to_le_bytes()));
    }

    pub fn f64s(&mut self, numbers: &[f64]) {
        self.many(numbers.len(), numbers.iter().map(|x| x.to_le_bytes()));
    }

    /// Some of the numbers of a column, by their places.
    pub fn f64s_at(&mut self, column: &[f64], places: &[u32]) {
        self.many(places.len(), places.iter().map(|k| column[*k as usize].to_le_bytes()));
    }

    pub fn u32s_at(&mut self, column: &[u32], places: &[u32]) {
        self.many(places.len(), places.iter().map(|k| column[*k as usize].to_le_bytes()));
    }

    pub fn u64s_at(&mut self, column: &[u64], places: &[u32]) {
        self.many(places.len(), places.iter().map(|k| column[*k as usize].to_le_bytes()));
    }

    /// So many numbers, into room that is made once.
    fn many<const N: usize>(&mut self, count: usize, numbers: impl Iterator<Item = [u8; N]>) {
        self.u64(count as u64);
        let start = self.0.len();
        self.0.resize(start + count * N, 0);
        let room = self.0[start..].as_chunks_mut::<N>().0;
        room.iter_mut().zip(numbers).for_each(|(to, number)| *to = number);
    }

    pub fn take(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a message.
pub struct Reader<'a>(&'a [u8]);

fn cut() -> RankError {
    RankError::Lost("a message between ranks is cut".into())
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    fn some(&mut self, count: usize) -> Result<&'a [u8], RankError> {
        let (some, rest) = self.0.split_at_checked(count).ok_or_else(cut)?;
        self.0 = rest;
        Ok(some)
    }

    fn many<const N: usize, T>(&mut self, of: fn([u8; N]) -> T) -> Result<Vec<T>, RankError> {
        let count = self.u64()? as usize;
        let bytes = self.some(count.checked_mul(N).ok_or_else(cut)?)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|bytes| of(*bytes)).collect())
    }

    pub fn u64(&mut self) -> Result<u64, RankError> {
        Ok(u64::from_le_bytes(self.some(8)?.try_into().expect("there are eight")))
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, RankError> {
        let count = self.u64()? as usize;
        Ok(self.some(count)?.to_vec())
    }

    pub fn u64s(&mut self) -> Result<Vec<u64>, RankError> {
        self.many(u64::from_le_bytes)
    }

    pub fn u32s(&mut self) -> Result<Vec<u32>, RankError> {
        self.many(u32::from_le_bytes)
    }

    /// Numbers into a column, behind those that are there.
    pub fn f64s_behind(&mut self, column: &mut Vec<f64>) -> Result<(), RankError> {
        self.behind(f64::from_le_bytes, column)
    }

    pub fn u64s_behind(&mut self, column: &mut Vec<u64>) -> Result<(), RankError> {
        self.behind(u64::from_le_bytes, column)
    }

    pub fn u32s_behind(&mut self, column: &mut Vec<u32>) -> Result<(), RankError> {
        self.behind(u32::from_le_bytes, column)
    }

    fn behind<const N: usize, T>(&mut self, of: fn([u8; N]) -> T, column: &mut Vec<T>) -> Result<(), RankError> {
        let count = self.u64()? as usize;
        let bytes = self.some(count.checked_mul(N).ok_or_else(cut)?)?;
        column.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| of(*bytes)));
        Ok(())
    }

    pub fn f64s(&mut self) -> Result<Vec<f64>, RankError> {
        self.many(f64::from_le_bytes)
    }
}
