//! UDP.

mod connection;
mod known;
mod listener;
mod path;
mod room;

use crate::bindings::{Events, UdpSocket};
use crate::failure::failed;
use crate::{CaladanRuntime, Config, address, places};
use bertha_core::{Addr, Datapath, Error};
pub use connection::CaladanConnection;
pub use listener::CaladanListener;
use path::Path;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

/// UDP over Caladan as a datapath, for tasks of [its runtime](crate::CaladanRuntime). Outside of this runtime
/// every call fails with [`Unavailable`](bertha_core::ErrorKind::Unavailable).
///
/// A peer whose hardware address no host tells is [`Unreachable`](bertha_core::ErrorKind::Unreachable) from
/// five seconds after the first message on. Caladan sends and accepts no ICMP messages about ports, so a
/// closed port is not noticed. IP fragments are neither made nor accepted.
///
/// On each connection, up to 512 messages wait; on each listener, up to 512, and up to 512 more from peers
/// that were not accepted. Further messages are dropped.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Caladan;

impl Caladan {
    /// Creates the datapath of this process's runtime.
    pub fn new() -> Self {
        Self
    }

    /// Runs a program with the settings in the environment; see [`Config::from_env`] and
    /// [`run`](crate::run()).
    ///
    /// # Errors
    /// Errors of both functions.
    pub fn run<F>(main: F) -> Result<F::Output, Error>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        crate::run(&Config::from_env()?, main)
    }
}

impl Datapath for Caladan {
    type Connection = CaladanConnection;
    type Listener = CaladanListener;

    async fn connect(&self, to: Addr) -> Result<CaladanConnection, Error> {
        let peer = address::peer(&to)?;
        if !places::has_room() {
            return Err(places::no_room());
        }
        let local = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let socket = UdpSocket::dial(local, peer, Arc::<Events>::default())
            .map_err(|error| failed(error, &format!("connect to {peer}")))?;
        Ok(CaladanConnection::new(Arc::new(Path::new(socket, peer, None))))
    }

    async fn listen(&self, on: Addr) -> Result<CaladanListener, Error> {
        let on = address::own(&on)?;
        let socket = UdpSocket::listen(on).map_err(|error| failed(error, &format!("listen on {on}")))?;
        Ok(CaladanListener::new(socket))
    }

    fn runtime(&self) -> Option<CaladanRuntime> {
        Some(CaladanRuntime)
    }
}
