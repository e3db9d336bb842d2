//! The socket at which a process tells its state.

use crate::capture::capture;
use crate::{ProcessState, place};
use bertha_core::{Error, ErrorKind};
use bertha_negotiation::observing;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for one answer. Who reads slower gets a part.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time until the next attempt after the system refused to accept.
const PAUSE: Duration = Duration::from_millis(100);

/// The socket at which this process tells its state, until the value is dropped.
///
/// A thread of its own answers, one question at a time, each within a second, so that the answers do not
/// wait for a busy runtime.
#[must_use = "dropping the observer removes its socket"]
#[derive(Debug)]
pub struct Observer {
    listener: Arc<UnixListener>,
    path: PathBuf,
}

/// Lets this process be observed from now on, at a socket in the [`folder`](crate::folder) of its user.
///
/// Connections and listeners that were made before are not listed. `program` is the name that is shown.
///
/// # Errors
/// [`ErrorKind::AddrInUse`] if this process is observed under this name already;
/// [`ErrorKind::Unauthenticated`] if the folder belongs to another user; errors of the system.
pub fn observe(program: &str) -> Result<Observer, Error> {
    Observer::at(&place::folder(), program)
}

impl Observer {
    /// Works as [`observe`], in another folder, which belongs to this user alone.
    ///
    /// # Errors
    /// Errors of [`observe`].
    pub fn at(folder: &Path, program: &str) -> Result<Self, Error> {
        place::prepare(folder)?;
        let path = place::socket(folder, program);
        let listener = Arc::new(listen(&path)?);
        observing::start();
        let (accepting, program, began) = (listener.clone(), program.to_owned(), Instant::now());
        let answer = move || serve(&accepting, || answer(|| capture(&program, began)));
        // The observer removes the path if there is no thread.
        let observer = Self { listener, path };
        thread::Builder::new().name("observer".into()).spawn(answer)?;
        Ok(observer)
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // Its thread accepts no more, and ends. Neither call fails unless the path is gone.
        let _ = shutdown(&self.listener, Shutdown::Both);
        let _ = fs::remove_file(&self.path);
    }
}

/// Listens at the path. A path of an earlier process with this number is removed.
fn listen(path: &Path) -> Result<UnixListener, Error> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
        bound => return bound.map_err(|error| place::named(path, error)),
    }
    if UnixStream::connect(path).is_ok() {
        let what = format!("{}: this process is observed already", path.display());
        return Err(Error::new(ErrorKind::AddrInUse, what));
    }
    if !place::is_socket(path) {
        let what = format!("{}: a file that is no socket is there; remove it", path.display());
        return Err(Error::new(ErrorKind::AddrInUse, what));
    }
    fs::remove_file(path).and_then(|()| UnixListener::bind(path)).map_err(|error| place::named(path, error))
}

/// Answers until the listener is shut down.
fn serve(listener: &UnixListener, answer: impl Fn() -> Option<Vec<u8>>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                // A visitor that has gone, or reads too slowly, gets no answer, and asks again if it wants one.
                if is_allowed(&stream)
                    && !has_gone(&stream)
                    && let Some(answer) = answer()
                {
                    let _ = write_within(&stream, &answer, Instant::now() + PATIENCE);
                }
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => return,
            Err(error) => {
                tracing::debug!(target: "bertha::observe", %error, "could not accept a question");
                thread::sleep(PAUSE);
            }
        }
    }
}

/// Returns true if the peer's process belongs to this user or to root.
fn is_allowed(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid.is_root() || peer.uid == geteuid())
}

/// Returns true if the visitor has closed already, so that an answer would be in vain.
fn has_gone(stream: &UnixStream) -> bool {
    let mut byte = [0; 1];
    matches!(recv(stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT), Ok((_, 0)))
}

/// Returns the state of the process as JSON, in a line; `None` if a layer panics when it is asked.
fn answer(capture: impl FnOnce() -> ProcessState) -> Option<Vec<u8>> {
    let asked = catch_unwind(AssertUnwindSafe(|| serde_json::to_vec(&capture())));
    match asked {
        Ok(Ok(mut answer)) => {
            answer.push(b'\n');
            Some(answer)
        }
        Ok(Err(error)) => {
            tracing::error!(target: "bertha::observe", %error, "the state of this process is not told");
            None
        }
        Err(_) => {
            tracing::error!(target: "bertha::observe", "a layer panicked when it was asked for its state");
            None
        }
    }
}

/// Writes all until `end`.
fn write_within(mut stream: &UnixStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::Read;

    /// A socket's buffer does not take this answer.
    const LONG: usize = 4 << 20;

    #[test]
    fn a_reader_that_stops_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.sock");
        let listener = Arc::new(listen(&path).unwrap());
        let serving = thread::spawn({
            let listener = listener.clone();
            move || serve(&listener, || Some(vec![b'x'; LONG]))
        });
        let mut stopped = UnixStream::connect(&path).unwrap();
        let mut reader = UnixStream::connect(&path).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read.len(), LONG);
        stopped.read_to_end(&mut read).unwrap();
        assert!(read.len() < 2 * LONG, "it was served whole");
        shutdown(&listener, Shutdown::Both).unwrap();
        serving.join().unwrap();
    }

    #[test]
    fn visitors_that_have_gone_before_their_turn_cost_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.sock");
        let listener = Arc::new(listen(&path).unwrap());
        for _ in 0..10 {
            UnixStream::connect(&path).unwrap();
        }
        let mut reader = UnixStream::connect(&path).unwrap();
        let serving = thread::spawn({
            let listener = listener.clone();
            move || {
                let answers = Cell::new(0);
                serve(&listener, || {
                    answers.set(answers.get() + 1);
                    Some(b"an answer".to_vec())
                });
                answers.get()
            }
        });
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"an answer");
        shutdown(&listener, Shutdown::Both).unwrap();
        assert_eq!(serving.join().unwrap(), 1);
    }

    #[test]
    fn a_layer_that_panics_costs_an_answer_and_not_the_observer() {
        assert_eq!(answer(|| panic!("a layer has a fault")), None);
        let begun = Instant::now();
        assert!(answer(|| capture("scene", begun)).is_some_and(|answer| answer.ends_with(b"\n")));
    }
}
