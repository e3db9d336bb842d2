//! Messages between the directory and its clients: one packet each, encoded by postcard.

use bertha_core::Addr;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest packet in bytes.
pub(crate) const LONGEST: usize = 8 << 10;

/// By which a visitor is recognised.
pub(crate) type Token = [u8; 32];

/// A service, by its name or one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Key {
    /// Its name.
    Name(String),
    /// One of its addresses, as [`Addr`] writes it.
    Address(String),
}

impl From<&Addr> for Key {
    fn from(address: &Addr) -> Self {
        Self::Address(address.to_string())
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::Name(name.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{}`", name.escape_debug()),
            Self::Address(address) => write!(f, "{}", address.escape_debug()),
        }
    }
}

/// To the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Enter this service, for as long as the connection lasts.
    Register { name: String, addresses: Vec<String> },
    /// Say who this is.
    Lookup(Key),
    /// Hand the socket that comes with this to the service.
    Visit { service: Key, token: Token },
}

/// From the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The service is entered.
    Registered,
    /// It is not; the text says why.
    Refused { kind: Refusal, reason: String },
    /// The service that was asked for.
    Found { name: String, user: u32, addresses: Vec<String> },
    /// No such service is on this machine.
    Unknown,
    /// The socket is with the service, which is a process of this user.
    Visiting { user: u32 },
    /// To a service: the socket that comes with this is a client's.
    Visitor { token: Token },
}

/// Why a service is not entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Its name or one of its addresses is taken.
    Taken,
    /// The name is kept for another user.
    NoRight,
    /// Something is too long or too much.
    TooMuch,
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    // Strings and numbers are always encoded; an empty packet is never understood.
    postcard::to_allocvec(message).unwrap_or_default()
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(packet: &'a [u8]) -> Option<T> {
    postcard::from_bytes(packet).ok()
}
