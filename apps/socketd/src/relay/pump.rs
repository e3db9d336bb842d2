//! The pump between the two sockets of a relay.

use bertha_runtime::tokio::descriptors::{Aside, close_aside};
use rustix::io::{Errno, pread};
use rustix::net::sockopt::{set_socket_linger, set_socket_oobinline};
use rustix::net::{RecvFlags, SendFlags, Shutdown, connect_unspec, recv, send, shutdown};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// The bytes that are read at once, in each direction.
const BYTES: usize = 16 << 10;

/// A socket that is closed aside: its last close may wait, and others may have it, too.
type Socket = Aside<TcpStream>;

/// The two sockets. Dropping them is a cut, at both, unless both directions have ended.
#[derive(Debug)]
pub(super) struct Ends {
    /// The socket that the program had.
    carrier: Socket,
    /// The other end of the socket that the program has.
    own: Socket,
    is_over: bool,
}

impl Ends {
    pub(super) fn new(carrier: Socket, own: TcpStream) -> io::Result<Self> {
        let ends = Self { carrier, own: Aside::new(own), is_over: false };
        for socket in [&ends.carrier, &ends.own] {
            // The end of the daemon is a cut, too.
            set_socket_linger(socket, Some(Duration::ZERO))?;
            set_socket_oobinline(socket, true)?;
        }
        Ok(ends)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        for socket in [&self.carrier, &self.own] {
            if !self.is_over {
                let _ = connect_unspec(socket);
            }
            let _ = set_socket_linger(socket, None);
        }
    }
}

/// The bytes that a program has not read, in a file in memory that it may change: then its own stream is wrong.
#[derive(Debug)]
pub(super) struct Unread {
    file: Option<OwnedFd>,
    length: u64,
    /// True if the connection was cut behind them, of which the kernel does not tell again.
    is_cut: bool,
}

impl Unread {
    pub(super) fn new(file: OwnedFd, length: u64, is_cut: bool) -> Self {
        Self { file: Some(file), length, is_cut }
    }

    async fn send(&mut self, to: &Socket) -> io::Result<()> {
        let mut bytes = [0; BYTES];
        let mut at = 0;
        while let Some(file) = &self.file
            && at < self.length
        {
            // The conversion is exact, as the minimum is a length.
            let most = (self.length - at).min(BYTES as u64) as usize;
            match pread(file, &mut bytes[..most], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    send_all(to, &bytes[..read]).await?;
                    at += read as u64;
                }
            }
        }
        self.close();
        if self.is_cut { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }

    fn close(&mut self) {
        if let Some(file) = self.file.take() {
            close_aside(file);
        }
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.close();
    }
}

/// Carries bytes both ways until both directions have ended, or one fails, which cuts both.
pub(super) async fn carry(mut ends: Ends, mut unread: Unread) {
    let inwards = async {
        unread.send(&ends.own).await?;
        copy(&ends.carrier, &ends.own).await
    };
    let done = tokio::try_join!(inwards, copy(&ends.own, &ends.carrier));
    tracing::debug!(?done, "a relay has ended");
    ends.is_over = done.is_ok();
}

/// Copies bytes up to the end of a direction, and the end.
async fn copy(from: &Socket, to: &Socket) -> io::Result<()> {
    let mut bytes = vec![0; BYTES];
    loop {
        // The flags of the file say whether other calls wait, and others may change them.
        let received = || Ok(recv(from, &mut bytes[..], RecvFlags::DONTWAIT)?.0);
        match from.async_io(Interest::READABLE, received).await? {
            0 => break,
            read => send_all(to, &bytes[..read]).await?,
        }
    }
    match shutdown(to, Shutdown::Write) {
        // The other direction has ended, and the connection with it.
        Ok(()) | Err(Errno::NOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn send_all(to: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let sent = || Ok(send(to, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?);
        let sent = to.async_io(Interest::WRITABLE, sent).await?;
        bytes = &bytes[sent..];
    }
    Ok(())
}
