//! Files and their URIs.

use std::path::{Path, PathBuf};

/// The file that a URI names, if it is one.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    Some(PathBuf::from(percent_decoded(uri.strip_prefix("file://")?)?))
}

/// The URI of an absolute path.
pub fn uri_of(path: &Path) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let text = |b: &u8| if plain(*b) { (*b as char).to_string() } else { format!("%{b:02X}") };
    "file://".to_string() + &bytes.map(text).collect::<String>()
}

fn percent_decoded(text: &str) -> Option<String> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (first, rest.split_at_checked(2)) {
            (b'%', Some((digits, behind))) => {
                out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = behind;
            }
            _ => out.push(*first),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_uris() {
        let (path, uri) = (Path::new("/k é.pg2"), "file:///k%20%C3%A9.pg2");
        assert_eq!((uri_of(path), path_of(uri)), (uri.into(), Some(PathBuf::from(path))));
        assert_eq!((path_of("untitled:x"), path_of("file:///%zz")), (None, None));
    }
}
