//! The key that both boxes share.

use bertha_core::{Error, ErrorKind};
use bertha_program::exposure;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Number of bytes of a file that are read: more than a key with its line's end has, since a path may name a device without an end.
const LONGEST: u64 = 64;

/// Reads a key of 16 hexadecimal digits.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) if the file can't be read, or holds anything else.
pub(crate) fn read(file: &Path) -> Result<u64, Error> {
    exposure::warn_of_file(file);
    let invalid = |reason: String| Error::new(ErrorKind::Invalid, format!("{}: {reason}", file.display()));
    let mut text = String::new();
    File::open(file)
        .and_then(|file| file.take(LONGEST).read_to_string(&mut text))
        .map_err(|error| invalid(error.to_string()))?;
    key_of(text.trim()).ok_or_else(|| {
        invalid("a key has 16 hexadecimal digits, as `openssl rand -hex 8` prints them".to_owned())
    })
}

fn key_of(digits: &str) -> Option<u64> {
    let is_key = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_key.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_sixteen_hexadecimal_digits() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "0123456789abcDEF\n").unwrap();
        assert_eq!(read(&file).unwrap(), 0x0123_4567_89ab_cdef);
        for text in ["", "0123456789abcde", "+123456789abcdef", "0123456789abcdef0"] {
            std::fs::write(&file, text).unwrap();
            assert!(read(&file).unwrap_err().to_string().contains("16 hexadecimal digits"), "{text}");
        }
        assert!(read(&folder.path().join("none")).unwrap_err().to_string().contains("none: "));
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("16 hexadecimal digits"));
    }
}
