//! A congestion control by its name.

use super::Ccp;
use crate::connect::MEMORY;
use bertha_chunnels::congestion::{Algorithm, Bbr, Cubic, NewReno};
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// The socket at which `bertha-agent` and agents by portus listen.
const AGENT: &str = "/tmp/ccp/portus";

/// A congestion control by its name, as programs take it on a command line.
///
/// | name | control |
/// |---|---|
/// | `newreno`, `cubic`, `bbr` | the control of this name in this process |
/// | `agent` | the default algorithm of the agent at `/tmp/ccp/portus` |
/// | `agent:cubic` | the algorithm `cubic` of this agent |
/// | `agent:/run/my/agent` | the default algorithm of the agent at this socket |
/// | `agent:cubic@/run/my/agent` | the algorithm `cubic` of the agent at this socket |
/// | `agent:shm:/run/my/memory`, `agent:cubic@shm:/run/my/memory` | these algorithms of the agent that shares memory with processes which connect there, with the feature `shm` |
///
/// ```
/// use bertha_ccp::Choice;
/// use bertha_chunnels::Reliable;
///
/// # fn main() -> Result<(), bertha_core::Error> {
/// let choice: Choice = "cubic".parse()?;
/// let reliable = Reliable::new().with(choice.open()?);
/// assert!("cubik".parse::<Choice>().is_err());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    NewReno,
    Cubic,
    Bbr,
    Agent { algorithm: String, place: Place },
}

/// The place of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// A Unix datagram socket.
    Socket(PathBuf),
    /// The Unix socket at which processes connect that share memory with the agent.
    Memory(PathBuf),
}

impl Choice {
    /// Makes the congestion control. Flows of an agent that is not there are controlled by
    /// [`NewReno`] until the agent comes; a warning names the socket.
    ///
    /// # Errors
    /// [`Io`](ErrorKind::Io) if the socket of this end can't be made, [`Invalid`](ErrorKind::Invalid) if the
    /// agent's path is no path of a socket, or if the agent shares memory and the feature `shm` is missing.
    pub fn open(&self) -> Result<Arc<dyn Algorithm>, Error> {
        self.open_or(NewReno)
    }

    /// Makes the congestion control as [`open`](Self::open) does, with another control of flows whose agent is
    /// not there.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn open_or(&self, fallback: impl Algorithm) -> Result<Arc<dyn Algorithm>, Error> {
        Ok(match &self.0 {
            Kind::NewReno => Arc::new(NewReno),
            Kind::Cubic => Arc::new(Cubic),
            Kind::Bbr => Arc::new(Bbr),
            Kind::Agent { algorithm, place } => {
                Arc::new(place.connect()?.algorithm(algorithm)?.fallback(fallback))
            }
        })
    }
}

impl Place {
    fn connect(&self) -> Result<Ccp, Error> {
        match self {
            Self::Socket(path) => Ccp::connect(path),
            #[cfg(feature = "shm")]
            Self::Memory(path) => Ccp::shm(path),
            #[cfg(not(feature = "shm"))]
            Self::Memory(_) => {
                let what =
                    format!("the agent at {self} shares memory, for which the feature `shm` is missing");
                Err(Error::new(ErrorKind::Invalid, what).at("CCP"))
            }
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(Self(match name {
            "newreno" => Kind::NewReno,
            "cubic" => Kind::Cubic,
            "bbr" => Kind::Bbr,
            "agent" => agent("", AGENT)?,
            _ => match name.strip_prefix("agent:") {
                // A path behind `shm:` may have any form.
                Some(of) if of.starts_with(MEMORY) => agent("", of)?,
                Some(of) => match of.split_once('@') {
                    Some((algorithm, place)) => agent(algorithm, place)?,
                    None if of.is_empty() => return Err(unknown(name)),
                    None if of.contains('/') => agent("", of)?,
                    None => agent(of, AGENT)?,
                },
                None => return Err(unknown(name)),
            },
        }))
    }
}

fn agent(algorithm: &str, place: &str) -> Result<Kind, Error> {
    crate::message::AlgorithmName::new(algorithm)?;
    let (path, place): (_, fn(PathBuf) -> Place) = match place.strip_prefix(MEMORY) {
        Some(path) => (path, Place::Memory),
        None => (place, Place::Socket),
    };
    if path.is_empty() {
        let what = "`agent:ALGORITHM@` and `shm:` need the path of a socket";
        return Err(Error::new(ErrorKind::Invalid, what).at("CCP"));
    }
    Ok(Kind::Agent { algorithm: algorithm.to_owned(), place: place(path.into()) })
}

fn unknown(name: &str) -> Error {
    let what = format!(
        "`{name}` is no congestion control; there are newreno, cubic, bbr, agent, agent:ALGORITHM, agent:PATH and \
         agent:ALGORITHM@PATH, where PATH may begin with shm:"
    );
    Error::new(ErrorKind::Invalid, what).at("CCP")
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::NewReno => f.write_str("newreno"),
            Kind::Cubic => f.write_str("cubic"),
            Kind::Bbr => f.write_str("bbr"),
            Kind::Agent { algorithm, place } => write!(f, "agent:{algorithm}@{place}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Memory(path) => write!(f, "{MEMORY}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(name: &str) -> (String, String) {
        match name.parse::<Choice>().unwrap().0 {
            Kind::Agent { algorithm, place } => (algorithm, place.to_string()),
            kind => panic!("{kind:?}"),
        }
    }

    #[test]
    fn names_choose_a_control_or_an_agent() {
        for name in ["newreno", "cubic", "bbr"] {
            assert_eq!(name.parse::<Choice>().unwrap().to_string(), name);
        }
        assert_eq!(place_of("agent"), (String::new(), AGENT.to_owned()));
        assert_eq!(place_of("agent:copa"), ("copa".to_owned(), AGENT.to_owned()));
        assert_eq!(place_of("agent:./here"), (String::new(), "./here".to_owned()));
        assert_eq!(place_of("agent:copa@/run/a"), ("copa".to_owned(), "/run/a".to_owned()));
        assert_eq!(place_of("agent:shm:/run/@a"), (String::new(), "shm:/run/@a".to_owned()));
        assert_eq!(place_of("agent:shm:a"), (String::new(), "shm:a".to_owned()));
        assert_eq!(place_of("agent:copa@shm:/run/a"), ("copa".to_owned(), "shm:/run/a".to_owned()));
        for name in ["agent:@shm:/run/a", "agent:@/run/a", "agent:copa@shm:/run/a"] {
            assert_eq!(name.parse::<Choice>().unwrap().to_string(), name);
        }
        assert_eq!("agent:copa@/run/a".parse::<Choice>().unwrap().to_string(), "agent:copa@/run/a");
    }

    #[test]
    fn what_is_no_control_is_named() {
        let error = "reno".parse::<Choice>().unwrap_err();
        assert!(error.to_string().contains("`reno`") && error.to_string().contains("agent:PATH"), "{error}");
        let long = format!("agent:{}", "x".repeat(64));
        for name in ["", "Cubic", "agent:", "agent:x@", "agent:shm:", "agent:x@shm:", &long] {
            assert!(name.parse::<Choice>().is_err(), "{name}");
        }
    }
}
