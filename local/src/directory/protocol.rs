//! Messages between the directory and its clients: one packet each, encoded by postcard.
//!
//! Descriptors come with two requests: with [`Request::Register`] a listening socket for each claim that says so, in their order; with
//! [`Request::Visit`] the socket for the service. [`Reply::Visitor`] hands that on.

use super::key::Key;
use bertha_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// The longest packet in bytes.
pub(crate) const LONGEST: usize = 8 << 10;

/// The number by which a service recognises a visitor. The client draws it, and tells it to the service over the connection that it has.
pub(crate) type Token = [u8; 32];

/// The number by which a client recognises the registration that it has visited. The directory draws it, and the service tells it to the
/// client over the connection that it has.
pub(crate) type RegistrationId = [u8; 32];

/// An address that a service claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// The address, as [`Addr`](bertha_core::Addr) writes it.
    pub(crate) address: String,
    /// True if the socket that listens there comes with the request.
    pub(crate) has_socket: bool,
}

/// To the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DirectoryRequest {
    /// Enter this service, for as long as the connection lasts.
    Register { name: String, claims: Vec<Claim> },
    /// Say who this is.
    Lookup(Key),
    /// Hand the socket that comes with this to the service.
    Visit { service: Key, token: Token },
}

/// From the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The service is entered.
    Registered { registration: RegistrationId },
    /// It is not; the text says why.
    Refused { kind: Refusal, reason: String },
    /// The service that was asked for.
    Found { name: String, user: u32, addresses: Vec<String> },
    /// No such service is on this machine.
    Unknown,
    /// The socket is with the service, which is a process of this user.
    Visiting { user: u32, registration: RegistrationId },
    /// To a service: the socket that comes with this is a client's, a process of this user, which has visited this name or address.
    Visitor { token: Token, service: Key, user: u32 },
}

/// Why a service is not entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// Its name or one of its addresses is taken.
    Taken,
    /// The name or an address is kept for another user, or the process does not have the address.
    NoRight,
    /// Something is too long or too much.
    TooMuch,
    /// The directory has no room left: for its user or at all. Another attempt may succeed.
    Full,
}

impl Refusal {
    /// The error of a client that was refused.
    #[cold]
    pub(crate) fn into_error(self, reason: &str) -> Error {
        let kind = match self {
            Self::Taken => ErrorKind::AddrInUse,
            Self::NoRight => ErrorKind::Unauthenticated,
            Self::TooMuch => ErrorKind::Invalid,
            Self::Full => ErrorKind::Exhausted,
        };
        Error::new(kind, format!("the directory refuses: {reason}"))
    }
}

pub(crate) fn encode(message: &impl Serialize) -> Vec<u8> {
    // Strings and numbers are always encoded; an empty packet is never understood.
    postcard::to_allocvec(message).unwrap_or_default()
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(packet: &'a [u8]) -> Option<T> {
    postcard::from_bytes(packet).ok()
}
