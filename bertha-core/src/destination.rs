//! The other end of a connection to be made.

use crate::{Addr, Error, Name};
use std::fmt;

/// The other end of a connection to be made: an address, or a name that has to be resolved first.
///
/// Every [`Addr`] converts into an address, and so does a text that reads as an address: `127.0.0.1:80`,
/// `[::1]:80`, `unix:/run/store.sock`. Such a destination is never resolved. Any other text is taken for a
/// [`Name`]; if it is not a valid name, the call that makes the connection fails, so that `connect(datapath,
/// "example.org:80")` needs no parsing.
///
/// ```
/// # use bertha_core::{Addr, Destination};
/// let address = Destination::from("127.0.0.1:80");
/// assert!(matches!(address, Destination::Addr(Addr::Ip(_))));
/// assert!(matches!(Destination::from("example.org:80"), Destination::Name(_)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Destination {
    /// An address.
    Addr(Addr),
    /// A name to resolve.
    Name(Name),
    /// A text that is neither an address nor a name; [`checked`](Self::checked) says why.
    Malformed(String),
}

impl Destination {
    /// Returns the destination itself if it is an address or a name.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if it is a text that is neither an address nor a name; the
    /// error says how addresses and names are written.
    pub fn checked(self) -> Result<Self, Error> {
        match &self {
            Self::Malformed(text) => classify(text),
            _ => Ok(self),
        }
    }
}

fn classify(text: &str) -> Result<Destination, Error> {
    match text.parse() {
        Ok(addr) => Ok(Destination::Addr(addr)),
        Err(error) if text.starts_with("unix:") => Err(error),
        Err(_) => text.parse().map(Destination::Name),
    }
}

impl<A: Into<Addr>> From<A> for Destination {
    fn from(addr: A) -> Self {
        Self::Addr(addr.into())
    }
}

impl From<Name> for Destination {
    fn from(name: Name) -> Self {
        Self::Name(name)
    }
}

impl From<&str> for Destination {
    fn from(text: &str) -> Self {
        classify(text).unwrap_or_else(|_| Self::Malformed(text.to_owned()))
    }
}

impl From<String> for Destination {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Destination {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addr(addr) => addr.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Malformed(text) => text.escape_debug().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::net::SocketAddr;
    use std::path::Path;

    #[test]
    fn an_address_stays_one_whatever_it_is_made_of() {
        let ip: SocketAddr = "[::1]:80".parse().unwrap();
        let unix = Path::new("/run/store.sock");
        for (destination, text) in [
            (Destination::from(ip), "[::1]:80"),
            (Destination::from(Addr::Ip(ip)), "[::1]:80"),
            (Destination::from("[::1]:80"), "[::1]:80"),
            (Destination::from(([127, 0, 0, 1], 80)), "127.0.0.1:80"),
            (Destination::from("127.0.0.1:80".to_owned()), "127.0.0.1:80"),
            (Destination::from(unix), "unix:/run/store.sock"),
            (Destination::from("unix:/run/store.sock"), "unix:/run/store.sock"),
        ] {
            assert!(matches!(destination, Destination::Addr(_)), "{destination:?}");
            assert_eq!(destination.checked().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_text_is_a_name_or_an_error_that_says_how_to_write_it() {
        assert!(matches!(Destination::from("example.org:80").checked(), Ok(Destination::Name(_))));
        for (text, part) in [("::1:80x", "[::1]:80"), ("", "example.org:80"), ("unix:", "no path behind")] {
            let error = Destination::from(text).checked().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.context().contains(part), "{error}");
        }
    }
}
