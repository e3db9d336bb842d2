//! The password of clients.

use bertha::{Error, ErrorKind};
use ring::digest::{Digest, SHA256, digest};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use subtle::ConstantTimeEq;

/// The longest password in bytes. A longer one could not be sent: clients that have not logged in may send no longer arguments.
const LONGEST: u64 = 16 << 10;

/// The password with which clients log in, as its digest.
#[derive(Clone, Copy)]
pub struct Password {
    digest: Digest,
}

impl Password {
    /// The password of these bytes.
    pub fn new(password: &[u8]) -> Self {
        Self { digest: digest(&SHA256, password) }
    }

    /// The password in a file: all of its bytes but one line's end behind them.
    ///
    /// # Errors
    /// The errors of reading the file, which they name; [`Invalid`](ErrorKind::Invalid) if the file holds
    /// no password, more than 16 KiB or several lines.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let invalid =
            |what| Error::new(ErrorKind::Invalid, format!("the password file {} {what}", path.display()));
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LONGEST + 3).read_to_end(&mut bytes));
        if let Err(error) = read {
            let error = Error::from(error);
            let what = format!("cannot read the password file {}: {}", path.display(), error.context());
            return Err(Error::new(error.kind(), what).because(error));
        }
        let password = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let password = password.strip_suffix(b"\r").unwrap_or(password);
        if password.is_empty() {
            return Err(invalid("holds no password"));
        }
        if password.len() as u64 > LONGEST {
            return Err(invalid("holds more than 16 KiB"));
        }
        if password.contains(&b'\n') {
            return Err(invalid("has several lines; a password is one"));
        }
        Ok(Self::new(password))
    }

    /// Returns true if `guess` is the password. The time that it takes depends on the length of the guess alone.
    pub(super) fn is(&self, guess: &[u8]) -> bool {
        digest(&SHA256, guess).as_ref().ct_eq(self.digest.as_ref()).into()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        assert!(Password::read(&path).unwrap_err().to_string().contains("cannot read the password file"));
        for (content, password) in [
            (&b"secret"[..], Some(&b"secret"[..])),
            (b"se cret \n", Some(b"se cret ")),
            (b"secret\r\n", Some(b"secret")),
            (b"", None),
            (b"\n", None),
            (b"a\nb\n", None),
            (&[b'x'; 20_000], None),
        ] {
            std::fs::write(&path, content).unwrap();
            let read = Password::read(&path).ok();
            assert_eq!(read.is_some(), password.is_some());
            if let (Some(read), Some(password)) = (read, password) {
                assert!(read.is(password) && !read.is(b"") && !read.is(b"secret2"));
                assert_eq!(format!("{read:?}"), "Password(..)");
            }
        }
    }
}
