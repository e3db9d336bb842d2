//! The ways in which large rows go to another daemon.

use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::str::FromStr;

/// The way in which large rows in messages of a service go to other daemons over TCP. A receiver gets the same messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sending {
    /// A system call takes a whole message, with the rows from where they lie.
    #[default]
    Writev,
    /// A system call takes a row, from where it lies.
    Write,
    /// Rows are copied, as they are for all other ways to servers.
    Copy,
}

impl Sending {
    const NAMES: [(&str, Self); 3] = [("writev", Self::Writev), ("write", Self::Write), ("copy", Self::Copy)];

    /// Returns the number of parts that a system call takes.
    pub(crate) fn at_once(self) -> usize {
        match self {
            Self::Write => 1,
            Self::Writev | Self::Copy => usize::MAX,
        }
    }
}

impl fmt::Display for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, way)| way == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Sending {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let way = Self::NAMES.iter().find(|(name, _)| *name == text);
        way.map(|(_, way)| *way).ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                format!("rows are sent by writev, write or copy, and not by {text}"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_as_they_are_shown() {
        for (name, way) in Sending::NAMES {
            assert_eq!((name.parse::<Sending>().unwrap(), way.to_string().as_str()), (way, name));
        }
        assert!("Write".parse::<Sending>().unwrap_err().to_string().contains("not by Write"));
    }
}
