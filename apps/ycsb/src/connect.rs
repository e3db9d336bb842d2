//! Reaching the store.

use std::fmt;
use std::net::SocketAddr;

use bertha_kvstore::Message;

use crate::driver::{Port, PortError};
use crate::report::Negotiated;

/// Who decides to which shard a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Sharding {
    /// The client sends each request to its shard.
    Client,
    /// The client sends all requests to one address, and the server passes them on.
    Server,
    /// Whichever of the two the server prefers.
    Either,
}

/// Where the store is and how to reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The address that the store listens at.
    pub server: SocketAddr,
    /// The number of shards, on which both sides must agree.
    pub shards: u16,
    /// What the client offers.
    pub sharding: Sharding,
}

/// A connection that is ready for requests.
#[derive(Debug)]
pub struct Connected<P> {
    /// Carries the messages.
    pub port: P,
    /// What was negotiated, for the report.
    pub negotiated: Negotiated,
}

/// Opens one connection and negotiates its stack. Called once for each connection, one after the other.
///
/// # Errors
/// [`ConnectError`], naming the address.
pub async fn connect(target: &Target) -> Result<Connected<impl Port + use<>>, ConnectError> {
    Err::<Connected<NotConnected>, _>(ConnectError::NotConnected(target.server))
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// This build has no network stack.
    NotConnected(SocketAddr),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected(server) => {
                write!(f, "not connected to {server}: this build of the client has no network stack")
            }
        }
    }
}

impl std::error::Error for ConnectError {}

/// The connection of a client that cannot connect: there is none.
enum NotConnected {}

impl Port for NotConnected {
    async fn send_batch(&self, _: &mut Vec<Message>) -> Result<(), PortError> {
        match *self {}
    }

    async fn recv_batch(&self, _: &mut Vec<Message>, _: usize) -> Result<usize, PortError> {
        match *self {}
    }
}
