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
        self.u64(numbers.len() as u64);
        numbers.iter().for_each(|x| self.0.extend(x.to_le_bytes()));
    }

    pub fn u32s(&mut self, numbers: &[u32]) {
        self.u64(numbers.len() as u64);
        numbers.iter().for_each(|x| self.0.extend(x.to_le_bytes()));
    }

    pub fn f64s(&mut self, numbers: &[f64]) {
        self.u64(numbers.len() as u64);
        numbers.iter().for_each(|x| self.0.extend(x.to_le_bytes()));
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

    pub fn f64s(&mut self) -> Result<Vec<f64>, RankError> {
        self.many(f64::from_le_bytes)
    }
}
