//! The name of an interface.

use std::io;

/// Number of bytes of a name with the zero at its end, `IFNAMSIZ` of Linux.
pub(crate) const NAME: usize = 16;

/// A name that Linux gives to interfaces: letters, digits and signs without meaning in paths and patterns. `all` and `default` are folders
/// among the settings of interfaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name(pub(crate) [u8; NAME]);

impl Name {
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let is_allowed = |letter: &u8| letter.is_ascii_alphanumeric() || b"._-@".contains(letter);
        let is_reserved = [".", "..", "all", "default"].contains(&name);
        if name.is_empty() || name.len() >= NAME || is_reserved || !name.as_bytes().iter().all(is_allowed) {
            let reason = format!("`{}` is no name of an interface", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let mut bytes = [0; NAME];
        bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        Ok(Self(bytes))
    }
}
