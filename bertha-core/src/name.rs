//! The name of an endpoint, which a resolver turns into addresses.

use crate::{Error, ErrorKind};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Maximum length of the name of a host or service, in bytes, as in DNS.
const MAX_HOST: usize = 253;

/// The name of a host or service, with a port or without: `example.org:80`, `_store._udp.example.org`, `store`.
///
/// A [`Resolver`](crate::Resolver) says which names it knows. A name with a port is commonly a host; a name
/// without a port is commonly a service, whose addresses include their ports.
///
/// The text of a name has at most 253 visible ASCII characters in front of the port, and none of `: [ ] @ ? #
/// %`. Any other text is [`Invalid`](ErrorKind::Invalid), and so is an IP address without a port.
///
/// ```
/// # use bertha_core::Name;
/// let name: Name = "example.org:80".parse()?;
/// assert_eq!((name.host(), name.port()), ("example.org", Some(80)));
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    host: String,
    port: Option<u16>,
}

impl Name {
    /// Returns the host or service.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port behind the host or service, if there is a port.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(number(port).ok_or_else(|| malformed(text))?)),
            None => (text, None),
        };
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b":[]@?#%".contains(&byte);
        let fits = !host.is_empty() && host.len() <= MAX_HOST && host.bytes().all(is_allowed);
        if !fits || host.parse::<IpAddr>().is_ok() {
            return Err(malformed(text));
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

/// Parses a port that consists of digits alone; the standard library also takes a sign.
fn number(port: &str) -> Option<u16> {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| port.parse().ok()).flatten()
}

#[cold]
fn malformed(text: &str) -> Error {
    let shown: String = text.chars().take(2 * MAX_HOST).flat_map(char::escape_debug).collect();
    let what = format!(
        "`{shown}` is neither an address nor a name; they are written 127.0.0.1:80, [::1]:80, unix:/run/store.sock, \
         example.org:80, or as the name of a service"
    );
    Error::new(ErrorKind::Invalid, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_name_and_back() {
        for (text, host, port) in [
            ("example.org:80", "example.org", Some(80)),
            ("localhost:0", "localhost", Some(0)),
            ("_store._udp.example.org", "_store._udp.example.org", None),
            ("europe/store", "europe/store", None),
        ] {
            let name: Name = text.parse().unwrap();
            assert_eq!((name.host(), name.port(), name.to_string()), (host, port, text.to_owned()));
        }
    }

    #[test]
    fn other_text_is_refused_with_the_way_to_write_it() {
        let long = "a".repeat(MAX_HOST + 1);
        for text in [
            "",
            ":80",
            "example.org:",
            "example.org:+80",
            "example.org:65536",
            "http://example.org",
            "::1",
            "::1:80",
            "[::1]",
            "127.0.0.1",
            "127.0.0.1:65536",
            "a b:80",
            "bücher.example:80",
            "user@example.org:80",
            &long,
        ] {
            let error = text.parse::<Name>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
            assert!(error.context().contains("example.org:80, or"), "{error}");
        }
    }
}
