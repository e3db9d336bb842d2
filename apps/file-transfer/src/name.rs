//! Names of files.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The longest name in bytes: that of Linux, less the addition of the unfinished file.
const MOST: usize = 255 - 6;

/// The name of a file in the receiver's directory, and of nothing outside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Name(String);

impl Name {
    /// Of the file at `path`; `None` if it has no name that a receiver would take.
    pub fn of(path: &Path) -> Option<Self> {
        Some(Self(path.file_name()?.to_str()?.to_owned())).filter(Self::is_acceptable)
    }

    /// Whether it is no way out of a directory, hides nothing, and is not too long. A name from a peer has to be asked.
    pub fn is_acceptable(&self) -> bool {
        let is_plain = |byte: u8| byte != b'/' && byte != b'\\' && !byte.is_ascii_control();
        // A leading dot would hide the file, lead upwards, or be that of an unfinished one.
        (1..=MOST).contains(&self.0.len()) && !self.0.starts_with('.') && self.0.bytes().all(is_plain)
    }

    pub(crate) fn finished(&self, directory: &Path) -> PathBuf {
        directory.join(&self.0)
    }

    /// Where it is recorded that the file was received.
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
