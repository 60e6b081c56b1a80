//! The files of a command, declared by the options that name them and distinguished before it begins: no output replaces an input or
//! another output, by whatever name.

mod ending;

use crate::declared::{Declared, Identity};
use crate::failure::Failure;
use crate::{output, particles, source};
pub use ending::{CSV, FileType, Format, HTML, JSON, KERNEL, PLAIN, SVG, TABLE, WAVE, table};
use fmm::shown;
use std::path::{Path, PathBuf};

/// The files of a command. Every command declares them, and they are checked before it begins.
#[derive(Default)]
pub struct Files {
    named: Vec<Named>,
}

struct Named {
    /// The option, as messages name it.
    option: String,
    path: PathBuf,
    role: Role,
}

#[derive(Clone, Copy)]
enum Role {
    Read,
    Kernel,
    /// A file that another one of the command's inputs leads to, and that need not be there.
    ReadToo,
    /// Records, which are read as text.
    Data,
    /// Read, and its format recognised by its content.
    Particles,
    Written(FileType),
    /// A folder into which files are written.
    Filled,
    /// Read and then replaced, which is what the command is for.
    InPlace,
}

impl Named {
    fn identity(&self) -> Identity {
        match self.role {
            role if role.is_input() => Identity::of_input(&self.path),
            // A folder is distinguished by the files that come into it.
            Role::Filled => Identity::default(),
            _ => Identity::of_output(&self.path),
        }
    }
}

impl Role {
    fn is_input(self) -> bool {
        matches!(self, Role::Read | Role::Kernel | Role::ReadToo | Role::Data | Role::Particles)
    }
}

impl Files {
    fn add<'a>(mut self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>, role: Role) -> Files {
        self.named.extend(paths.into_iter().map(|path| Named { option: option.into(), path: path.clone(), role }));
        self
    }

    /// Files that are read.
    pub fn reads<'a>(self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Files {
        self.add(option, paths, Role::Read)
    }

    /// Files of particles in any format, perhaps with a place inside of them; `-` is standard input.
    pub fn particles<'a>(self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Files {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| particles::located(path).file).collect();
        self.add(option, &paths, Role::Particles)
    }

    /// Files of records: CSV; `-` is standard input.
    pub fn data<'a>(self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>) -> Files {
        self.add(option, paths, Role::Data)
    }

    /// Kernels with all that they include; shipped ones are no files.
    pub fn kernels<'a>(mut self, option: &str, names: impl IntoIterator<Item = &'a String>) -> Files {
        for name in names {
            let path = PathBuf::from(name);
            // Where there is no file of that name, it is a shipped kernel's, or the command will say that there is none.
            if path.exists() {
                self = self.add(option, [&path], Role::Kernel);
            }
        }
        self
    }

    /// Folders that `build` or `synth` has written, of which the files are read that these write.
    pub fn made<'a>(mut self, option: &str, folders: impl IntoIterator<Item = &'a PathBuf>) -> Files {
        for folder in folders {
            let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let is_made = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default();
                let is_engine = path.file_stem().is_some_and(|stem| stem == "engine");
                name == "manifest.json"
                    || name == "synth.json"
                    || is_engine
                    || path.extension().is_some_and(|e| e == "v")
            };
            let names: Vec<PathBuf> = names.filter(is_made).collect();
            self = self.add(option, &names, Role::ReadToo);
        }
        self
    }

    /// Files that are written.
    pub fn writes<'a>(self, option: &str, paths: impl IntoIterator<Item = &'a PathBuf>, kind: FileType) -> Files {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| kind.without_format(path)).collect();
        self.add(option, &paths, Role::Written(kind))
    }

    /// Folders that files are written into.
    pub fn fills<'a>(self, option: &str, folders: impl IntoIterator<Item = &'a PathBuf>) -> Files {
        self.add(option, folders, Role::Filled)
    }

    /// Files that are replaced by what is made of them.
    pub fn rewrites<'a>(self, names: impl IntoIterator<Item = &'a String>) -> Files {
        let paths: Vec<PathBuf> = names.into_iter().filter(|name| *name != "-").map(PathBuf::from).collect();
        self.add("FILE", &paths, Role::InPlace)
    }

    fn with_includes(mut self) -> Files {
        let is_file = |named: &&Named| matches!(named.role, Role::Kernel) && named.path.is_file();
        let kernels: Vec<String> =
            self.named.iter().filter(is_file).map(|n| n.path.to_string_lossy().into_owned()).collect();
        for kernel in kernels {
            self = self.add(
                &format!("an include of {}", shown::shown(&kernel)),
                &source::included(&kernel),
                Role::ReadToo,
            );
        }
        self
    }

    /// Refuses what would destroy a file, formats that are not written, and files that cannot be written; remembers the rest for
    /// what is written in the end.
    pub fn check(mut self) -> Result<(), Failure> {
        if self.named.iter().any(|named| !named.role.is_input()) {
            self = self.with_includes();
        }
        let identified = |named: Named| {
            let identity = named.identity();
            (named, identity)
        };
        let known: Vec<(Named, Identity)> = self.named.into_iter().map(identified).collect();
        for (k, (named, identity)) in known.iter().enumerate() {
            known[..k].iter().try_for_each(|(other, of_other)| apart((other, of_other), (named, identity)))?;
        }
        let takes_standard = known.iter().any(|(named, identity)| !named.role.is_input() && identity.standard);
        if let Some(standard) = Identity::redirected().filter(|_| !takes_standard) {
            let (option, path) = ("standard output".to_string(), PathBuf::from("-"));
            let named = Named { option, path, role: Role::Written(PLAIN) };
            known.iter().try_for_each(|(other, of_other)| apart((other, of_other), (&named, &standard)))?;
        }
        for (Named { option, path, role }, _) in &known {
            match role {
                Role::Written(kind) => kind.check(option, path).and_then(|()| output::check(path))?,
                Role::Data => ending::check_data(option, path)?,
                Role::Particles => ending::check_particles(option, path)?,
                Role::Filled => output::check_folder(path)?,
                _ => {}
            }
        }
        let mut declared = Declared::default();
        for (named, identity) in known {
            match named.role {
                Role::Filled => declared.folders.push(named.path),
                role if role.is_input() => declared.inputs.push((named.option, identity)),
                _ => declared.outputs.push(identity),
            }
        }
        declared.remember();
        Ok(())
    }
}

/// Refuses two uses of one file of which one would spoil the other.
fn apart(one: (&Named, &Identity), other: (&Named, &Identity)) -> Result<(), Failure> {
    let is_fine = match (one.0.role, other.0.role) {
        (Role::InPlace | Role::Filled, _) | (_, Role::InPlace | Role::Filled) => true,
        // A file can be read twice, a pipe cannot.
        (a, b) if a.is_input() && b.is_input() => !(one.1.once && other.1.once),
        _ => false,
    };
    if is_fine || !one.1.is_same(other.1) {
        return Ok(());
    }
    let (a, b) = (&one.0.option, &other.0.option);
    let [name_a, name_b] = [one, other].map(|(named, identity)| match named.path.as_os_str() == "-" {
        true if identity.standard => "standard output".into(),
        true => "standard input".into(),
        false => shown::path(&named.path),
    });
    let names = match name_a == name_b {
        true => format!("{a} and {b} both name {name_a}"),
        false => format!("{a} ({name_a}) and {b} ({name_b}) name one file"),
    };
    Err(Failure::Input(match (one.0.role.is_input(), other.0.role.is_input()) {
        (true, true) => format!("{a} and {b} both read {name_a}, which can be read once"),
        (false, false) if one.1.standard && other.1.standard => {
            format!("{a} and {b} both go to standard output; name a file for one of them")
        }
        (false, false) => format!("{names}; give them two files"),
        _ => format!("{names}; an output does not replace an input: name another file"),
    }))
}

/// Whether a name is that of standard output.
pub fn is_standard(path: &Path) -> bool {
    Identity::of_output(path).standard
}
