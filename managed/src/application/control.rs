//! The application's end of the socket by which it attached.

use crate::attach::{Answer, Grow, Hello};
use bertha_datapath_shm::heap::Received;
use bertha_runtime::tokio::descriptors::receive;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Time that the daemon has for an answer.
const ANSWERED: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Time that the daemon has to take what is said to it, so that no thread waits for one that stands still.
const TAKEN: Duration = Duration::from_secs(5);

/// The socket, and the receive heap, whose regions come over it.
#[derive(Debug)]
pub(super) struct Control {
    socket: UnixStream,
    /// The turn to hear answers: a thread whose heap grows waits for one, and regions of the receive heap may come before it.
    hearing: Mutex<()>,
    pub(super) received: Received,
}

impl Control {
    /// Says hello, and returns the control and the socket of the queue. Waits for the daemon.
    pub(super) fn open(
        socket: UnixStream,
        hello: &[u8],
        received: Received,
    ) -> io::Result<(Self, UnixStream)> {
        socket.set_write_timeout(Some(TAKEN))?;
        // A daemon that refuses the application may do so before it has read all of the hello.
        let said = (&socket).write_all(hello);
        let (answer, file) = match hear(&socket) {
            Ok(heard) => heard,
            Err(error) => return Err(said.err().unwrap_or(error)),
        };
        match (answer, file) {
            (Answer::Taken, Some(queue)) => {
                Ok((Self { socket, hearing: Mutex::default(), received }, queue.into()))
            }
            (Answer::Refused { text }, _) => {
                Err(io::Error::new(io::ErrorKind::PermissionDenied, read_text(&socket, text)))
            }
            _ => Err(unexpected()),
        }
    }

    /// Asks for a region of the send heap, and waits for it.
    ///
    /// The regions lie in the order in which the daemon grants them. So an answer that was missed ends the connection.
    pub(super) fn grow(&self, bytes: usize) -> io::Result<OwnedFd> {
        let _turn = self.hearing.lock();
        let granted = self.granted(&self.socket, bytes);
        if granted.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::QuotaExceeded) {
            self.end();
        }
        granted
    }

    /// Ends the connection, and every wait for an answer.
    pub(super) fn end(&self) {
        if let Err(error) = self.socket.shutdown(Shutdown::Both) {
            tracing::debug!(%error, "the daemon was faster");
        }
    }

    fn granted(&self, mut socket: &UnixStream, bytes: usize) -> io::Result<OwnedFd> {
        socket.write_all(&Grow { bytes: bytes as u64 }.to_bytes())?;
        loop {
            match hear(socket)? {
                (Answer::Granted { .. }, Some(file)) => return Ok(file),
                (Answer::Full, None) => return Err(io::ErrorKind::QuotaExceeded.into()),
                (Answer::Lent { .. }, Some(file)) => self.received.add(file)?,
                _ => return Err(unexpected()),
            }
        }
    }

    /// Adds regions to the receive heap, until it has so many bytes. The daemon has sent them before it told of them.
    pub(super) fn hear_of(&self, bytes: u64) -> io::Result<()> {
        let _turn = self.hearing.lock();
        while (self.received.granted() as u64) < bytes {
            match hear(&self.socket)? {
                (Answer::Lent { .. }, Some(file)) => self.received.add(file)?,
                _ => return Err(unexpected()),
            }
        }
        Ok(())
    }
}

#[cold]
fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the daemon says what it does not have to say now")
}

/// Waits for an answer, and for the descriptor that comes with it.
fn hear(socket: &UnixStream) -> io::Result<(Answer, Option<OwnedFd>)> {
    let (mut bytes, mut read, mut file) = ([0; Answer::SIZE], 0, None);
    while read < bytes.len() {
        // A signal that the application handles ends the system call, and not the wait.
        let ready = retry_on_intr(|| poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&ANSWERED)))?;
        if ready == 0 {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the daemon does not answer"));
        }
        let (more, mut attached) = receive(socket, &mut bytes[read..])?;
        if more == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        read += more;
        file = attached.take_only(|_| true).or(file);
    }
    let answer = Answer::read(&bytes).map_err(io::Error::other)?;
    if answer.has_descriptor() == file.is_some() { Ok((answer, file)) } else { Err(unexpected()) }
}

/// Reads the text of a refusal, as far as it comes.
fn read_text(socket: &UnixStream, bytes: u32) -> String {
    let mut text = Vec::new();
    let most = u64::from(bytes).min(Answer::LONGEST as u64);
    match socket.take(most).read_to_end(&mut text) {
        Ok(_) | Err(_) => String::from_utf8_lossy(&text).into_owned(),
    }
}

/// Returns the bytes of a hello.
pub(super) fn hello(hello: &Hello) -> io::Result<Vec<u8>> {
    hello.to_bytes().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> (Control, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let received = Received::new(1 << 20).unwrap();
        (Control { socket: ours, hearing: Mutex::default(), received }, theirs)
    }

    #[test]
    fn an_answer_that_is_missed_ends_the_connection() {
        let (control, mut daemon) = control();
        daemon.write_all(&Answer::Taken.to_bytes()).unwrap();
        assert_eq!(control.grow(65_536).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut said = Vec::new();
        daemon.read_to_end(&mut said).unwrap();
        assert_eq!(said, Grow { bytes: 65_536 }.to_bytes());
    }

    #[test]
    fn a_heap_that_may_not_grow_asks_again() {
        let (control, mut daemon) = control();
        for _ in 0..2 {
            daemon.write_all(&Answer::Full.to_bytes()).unwrap();
            assert_eq!(control.grow(65_536).unwrap_err().kind(), io::ErrorKind::QuotaExceeded);
        }
    }

    #[test]
    fn a_connection_that_is_ended_is_over_for_the_daemon_though_it_is_held() {
        let (control, mut daemon) = control();
        control.end();
        assert_eq!(daemon.read(&mut [0]).unwrap(), 0);
        assert_eq!(control.grow(65_536).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
