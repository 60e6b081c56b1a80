//! Whether a compiler's output is what it should be: an object or a library in ELF, for this machine, and whole.
//!
//! The loader maps what a file's headers say. If the file is shorter than that, the program dies at the first access, without
//! a word.

/// A file that a compiler makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryType {
    Object,
    Library,
}

/// Number of this machine in ELF, where it is known.
const MACHINE: Option<u64> = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => Some(62),
    b"x86" => Some(3),
    b"aarch64" => Some(183),
    b"arm" => Some(40),
    b"riscv64" => Some(243),
    b"powerpc64" => Some(21),
    b"s390x" => Some(22),
    b"loongarch64" => Some(258),
    _ => None,
};

const SHORT: &str = "is cut short";
/// Types of segments and sections.
const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const SHT_NOBITS: u64 = 8;

impl BinaryType {
    /// Says what is wrong with a file of these bytes.
    pub fn check(self, bytes: &[u8]) -> Result<(), &'static str> {
        match bytes {
            [] => Err("is empty"),
            // Other systems have other forms, of which nothing is known here.
            _ if !cfg!(target_os = "linux") => Ok(()),
            [0x7f, b'E', b'L', b'F', class, order, ..] => {
                let wide = cfg!(target_pointer_width = "64");
                let little = cfg!(target_endian = "little");
                if (*class == 2) != wide || (*order == 1) != little {
                    return Err("is for another machine");
                }
                Elf { bytes, wide }.check(self)
            }
            _ => Err(match self {
                BinaryType::Object => "is no object file",
                BinaryType::Library => "is no library",
            }),
        }
    }
}

/// A file of this machine's word and byte order.
struct Elf<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl Elf<'_> {
    /// A number of `size` bytes at `at`.
    fn number(&self, at: u64, size: usize) -> Result<u64, &'static str> {
        let at = usize::try_from(at).map_err(|_| SHORT)?;
        let field = self.bytes.get(at..).and_then(|b| b.get(..size)).ok_or(SHORT)?;
        let step = |n: u64, b: &u8| n << 8 | *b as u64;
        Ok(if cfg!(target_endian = "little") { field.iter().rev().fold(0, step) } else { field.iter().fold(0, step) })
    }

    /// A field whose place and size differ between the two widths.
    fn field(&self, at: u64, [wide, narrow]: [(u64, usize); 2]) -> Result<u64, &'static str> {
        let (place, size) = if self.wide { wide } else { narrow };
        self.number(at.checked_add(place).ok_or(SHORT)?, size)
    }

    fn check(&self, kind: BinaryType) -> Result<(), &'static str> {
        if MACHINE.is_some_and(|m| self.number(18, 2) != Ok(m)) {
            return Err("is for another machine");
        }
        let (wanted, name) = match kind {
            BinaryType::Object => (1, "is no object file"),
            BinaryType::Library => (3, "is no library"),
        };
        if self.number(16, 2)? != wanted {
            return Err(name);
        }
        match kind {
            BinaryType::Object => self.sections(),
            BinaryType::Library => self.segments(),
        }
    }

    /// That these bytes are in the file.
    fn holds(&self, offset: u64, size: u64) -> Result<(), &'static str> {
        let end = offset.checked_add(size).ok_or(SHORT)?;
        if end <= self.bytes.len() as u64 { Ok(()) } else { Err(SHORT) }
    }

    fn sections(&self) -> Result<(), &'static str> {
        let start = self.field(0, [(0x28, 8), (0x20, 4)])?;
        let size = self.field(0, [(0x3a, 2), (0x2e, 2)])?;
        let at = |k: u64| size.checked_mul(k).and_then(|o| start.checked_add(o)).ok_or(SHORT);
        let count = match self.field(0, [(0x3c, 2), (0x30, 2)])? {
            // More than the header can say.
            0 => self.field(at(0)?, [(0x20, 8), (0x14, 4)])?,
            n => n,
        };
        if start == 0 || size == 0 || count == 0 {
            return Err("has no sections");
        }
        self.holds(start, size.checked_mul(count).ok_or(SHORT)?)?;
        for k in 0..count {
            let section = at(k)?;
            let bytes = (self.field(section, [(0x18, 8), (0x10, 4)])?, self.field(section, [(0x20, 8), (0x14, 4)])?);
            if k > 0 && self.number(section + 4, 4)? != SHT_NOBITS {
                self.holds(bytes.0, bytes.1)?;
            }
        }
        Ok(())
    }

    fn segments(&self) -> Result<(), &'static str> {
        let start = self.field(0, [(0x20, 8), (0x1c, 4)])?;
        let size = self.field(0, [(0x36, 2), (0x2a, 2)])?;
        let count = self.field(0, [(0x38, 2), (0x2c, 2)])?;
        self.holds(start, size * count)?;
        let (mut loads, mut links) = (false, false);
        for k in 0..count {
            let segment = start + k * size;
            let kind = self.number(segment, 4)?;
            if kind == PT_LOAD || kind == PT_DYNAMIC {
                let offset = self.field(segment, [(0x08, 8), (0x04, 4)])?;
                self.holds(offset, self.field(segment, [(0x20, 8), (0x10, 4)])?)?;
            }
            (loads, links) = (loads || kind == PT_LOAD, links || kind == PT_DYNAMIC);
        }
        if loads && links { Ok(()) } else { Err("has nothing to load") }
    }
}
