//! Lines of text with their numbers, for formats that say how many follow.

use fmm::data::particles::ParticleError;
use fmm::data::text::number;
use fmm::shown::shown;

#[derive(Clone)]
pub struct Lines<'t> {
    rest: &'t str,
    /// The number of the line that was read last, from 1.
    pub line: usize,
}

impl<'t> Lines<'t> {
    /// The lines of some bytes. Comments may be in any encoding.
    pub fn of(bytes: &'t [u8]) -> Result<Lines<'t>, ParticleError> {
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            ParticleError::Line { line, what: "the text is not UTF-8; save it as UTF-8".into() }
        })?;
        Ok(Lines { rest: text, line: 0 })
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// A mistake in the line that was read last.
    pub fn wrong<T>(&self, what: impl Into<String>) -> Result<T, ParticleError> {
        Err(ParticleError::Line { line: self.line.max(1), what: what.into() })
    }

    /// The next line, if there is one.
    pub fn next(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        (self.rest, self.line) = (rest, self.line + 1);
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The next line, which must be there.
    pub fn needed(&mut self, what: &str) -> Result<&'t str, ParticleError> {
        match self.next() {
            Some(line) => Ok(line),
            None => self.wrong(format!("the file ends where {what} should follow; it may have been cut")),
        }
    }

    /// A finite number of the line that was read last.
    pub fn number(&self, name: &str, text: &str) -> Result<f64, ParticleError> {
        match number(text) {
            Some(x) if x.is_finite() => Ok(x),
            Some(_) => self.wrong(format!("{name} = `{}` is not a finite number", shown(text))),
            None => self.wrong(format!("{name} = `{}` is not a number", shown(text))),
        }
    }
}
