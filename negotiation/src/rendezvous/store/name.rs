//! The name under which participants find each other.

use super::limits;
use bertha_core::{Error, ErrorKind};
use std::fmt;

/// The name of a connection with any number of endpoints: 1 to 128 printable ASCII characters except `/ { } [
/// ] * ? \`, which have a meaning in stores.
///
/// ```
/// use bertha_negotiation::rendezvous::Name;
/// assert!(Name::new("orders.eu").is_ok());
/// assert!(Name::new("orders/eu").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// Makes the name of a connection.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the name is empty, too long, or has other characters.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        if name.is_empty() || name.len() > limits::NAME {
            let what = format!("a name of {} bytes, from 1 to {} are possible", name.len(), limits::NAME);
            return Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
        }
        match name.chars().find(|&char| !char.is_ascii_graphic() || "/{}[]*?\\".contains(char)) {
            Some(char) => {
                let what =
                    format!("the name {name:?} has the character {char:?}, which has a meaning in stores");
                Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"))
            }
            None => Ok(Self(name)),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Name {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::new(name)
    }
}
