//! The request of a program: a place, and the settings of its stack.

use crate::hello::Wish;
use bertha_sockets_machine::device::{HEAD, read_head};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The request of a program.
#[derive(Debug)]
pub(super) struct Request {
    /// The address to connect to, or to listen at.
    pub(super) place: SocketAddr,
    settings: String,
}

/// The time that a visitor has for it, which sends it with its hello.
const SAID: Duration = Duration::from_secs(1);

/// Waits for what follows a hello.
pub(super) async fn read(visitor: &UnixStream) -> io::Result<Request> {
    timeout(SAID, read_at_leisure(visitor)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

async fn read_at_leisure(visitor: &UnixStream) -> io::Result<Request> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let mut head = [0; HEAD];
    fill(visitor, &mut head).await?;
    let (place, length) = read_head(&head).ok_or_else(wrong)?;
    let mut settings = vec![0; length];
    fill(visitor, &mut settings).await?;
    let settings = String::from_utf8(settings).map_err(|_| wrong())?;
    Ok(Request { place: place.into(), settings })
}

async fn fill(visitor: &UnixStream, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        visitor.readable().await?;
        match visitor.try_read(bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes = &mut bytes[read..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Request {
    /// Returns the local and the other address, as far as they are known.
    pub(super) fn addresses(&self, wish: Wish) -> [Option<SocketAddr>; 2] {
        match wish {
            Wish::Connect => [None, Some(self.place)],
            Wish::Listen | Wish::Datagrams => [Some(self.place), None],
        }
    }

    /// Returns the name and the value of each setting.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.lines().filter_map(|line| line.split_once('='))
    }
}
