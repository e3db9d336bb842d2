//! An observer on the wire, or an attacker.

use bertha_core::{Buf, Error};
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;

/// A datagram on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The sender's address, or the address that the sender pretends to have.
    pub from: SocketAddr,
    /// The receiver's address.
    pub to: SocketAddr,
    /// The datagram's contents.
    pub payload: Vec<u8>,
}

impl Datagram {
    pub(super) fn to_buf(&self) -> Result<Buf, Error> {
        Buf::copy_of(&self.payload, 0)
    }
}

/// A tap's decision about a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The datagram goes on, as the tap left it.
    Pass,
    /// The datagram is dropped.
    Drop,
}

/// A function that sees every datagram before the link's faults do.
pub(super) type Tap = Arc<Mutex<dyn FnMut(&mut Datagram) -> Verdict + Send>>;
