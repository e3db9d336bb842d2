//! Names of files.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Length of the longest name in bytes: Linux's longest name, less the addition of the unfinished file.
const MOST: usize = 255 - 6;

/// The name of a file in the receiver's directory, which can't lead outside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Name(String);

impl Name {
    /// Returns the name of the file at `path`; `None` if a receiver would not accept the name.
    pub fn of(path: &Path) -> Option<Self> {
        Some(Self(path.file_name()?.to_str()?.to_owned())).filter(Self::is_acceptable)
    }

    /// Returns true if the name leads out of no directory, hides nothing, and is not too long. A name from a
    /// peer has to be checked.
    pub fn is_acceptable(&self) -> bool {
        let is_plain = |byte: u8| byte != b'/' && byte != b'\\' && !byte.is_ascii_control();
        // A leading dot would hide the file, lead upwards, or belong to an unfinished file.
        (1..=MOST).contains(&self.0.len()) && !self.0.starts_with('.') && self.0.bytes().all(is_plain)
    }

    pub(crate) fn finished(&self, directory: &Path) -> PathBuf {
        directory.join(&self.0)
    }

    /// Returns the path of the record that the file was received.
    pub(crate) fn record(&self, directory: &Path) -> PathBuf {
        directory.join(format!(".{}.kept", self.0))
    }

    pub(crate) fn unfinished(&self, directory: &Path) -> PathBuf {
        directory.join(format!(".{}.part", self.0))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_directory() {
        for good in ["a", "a b.tar.gz", "ü", "a..b"] {
            assert_eq!(Name::of(Path::new(good)), Some(Name(good.into())));
        }
        for bad in ["", ".", "..", ".a", "../a", "/a", "a/b", "a\\b", "a\nb", "a\0", &"a".repeat(MOST + 1)] {
            assert!(!Name(bad.to_owned()).is_acceptable(), "{bad:?}");
        }
        assert_eq!(Name::of(Path::new("/tmp/..")), None);
    }
}
