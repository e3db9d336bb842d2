//! The way by which the daemon carries a connection of a program.

use super::request::Request;
use bertha_core::{Error, ErrorKind};
use bertha_named::{AnyConnection, AnyDatagrams, Connecting, Listened, Listening, Options, Stack, Transport};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The time for a handshake of plain TCP: about that of Linux with its six repetitions.
const HANDSHAKE: Duration = Duration::from_secs(130);

/// The way by which the daemon carries a connection of a program.
#[derive(Debug)]
pub(super) enum Plan {
    /// A stack, which the other end has, too.
    Stack { stack: Stack, over: Transport, options: Box<Options> },
    /// TCP as it is, by a device: the other end is any program.
    Device(Transport),
}

impl Plan {
    /// Reads the settings of a request.
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
        let (mut stack, mut over, mut device) = (None, None, None);
        let mut options = Options::default();
        for (name, value) in request.settings() {
            match name {
                "stack" => stack = Some(value.parse()?),
                "over" => over = Some(value.parse()?),
                "device" => device = Some(value.parse()?),
                _ => options.set(name, value)?,
            }
        }
        // A connection that loses bytes must not be taken for TCP.
        options.settings.floor = options.settings.floor | Stack::BYTE_STREAM;
        match (stack, over, device) {
            (Some(stack), Some(over), None) => Ok(Self::Stack { stack, over, options: Box::new(options) }),
            (None, None, Some(device)) => Ok(Self::Device(device)),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "the program names neither a stack with a datapath nor a device",
            )),
        }
    }

    /// Connects.
    pub(super) async fn connect(self, to: SocketAddr) -> Result<Arc<dyn AnyConnection>, Error> {
        match self {
            Self::Stack { stack, over, options } => {
                over.run(Connecting::new(stack, &to.to_string(), *options)).await
            }
            Self::Device(device) => timeout(HANDSHAKE, device.connect_plain(to))
                .await
                .unwrap_or_else(|_| Err(Error::new(ErrorKind::TimedOut, format!("{to} does not answer")))),
        }
    }

    /// Listens.
    pub(super) async fn listen(self, on: SocketAddr) -> Result<Listened, Error> {
        match self {
            Self::Stack { stack, over, options } => {
                over.run(Listening::new(stack, &on.to_string(), *options)).await
            }
            Self::Device(device) => device.listen_plain(on).await,
        }
    }

    /// Opens a socket of datagrams.
    pub(super) async fn datagrams(self, on: SocketAddr) -> Result<Box<dyn AnyDatagrams>, Error> {
        match self {
            Self::Device(device) if let Some(datagrams) = device.datagrams() => {
                datagrams.listen_datagrams(on).await
            }
            _ => {
                Err(Error::new(ErrorKind::Invalid, "a stack carries no datagrams of programs; a device does"))
            }
        }
    }
}

/// Returns the settings of a request, for people.
pub(super) fn told(request: &Request) -> String {
    let value = |wanted| request.settings().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    match value("device") {
        Some(device) => format!("the device {device}"),
        None => format!("{} over {}", value("stack").unwrap_or(""), value("over").unwrap_or("")),
    }
}
