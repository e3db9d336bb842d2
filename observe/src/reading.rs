//! The state of the observed processes of this user.

use crate::{ProcessState, place};
use bertha_core::{Error, ErrorKind};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for one answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Largest answer, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// The answer of a process.
#[derive(Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The path of its socket.
    pub path: PathBuf,
    /// The state, or the reason why it is not known.
    pub state: Result<ProcessState, Error>,
}

/// Reads the states of all observed processes whose sockets are in `folder`, in the order of the paths. The
/// sockets of processes that have ended are left out.
///
/// The call blocks the thread: two seconds at most, where a process does not answer.
///
/// # Errors
/// [`ErrorKind::Unauthenticated`] if the folder belongs to another user; errors of the system. A folder that is
/// not there has no processes.
pub fn read_all(folder: &Path) -> Result<Vec<Answer>, Error> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        _ => place::check(folder)?,
    }
    let entries = fs::read_dir(folder).map_err(|error| place::named(folder, error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "sock")).collect();
    paths.sort();
    // Beside each other: a stopped process costs its time once.
    thread::scope(|scope| {
        let asked: Vec<_> = paths.iter().map(|path| scope.spawn(|| ask(path))).collect();
        Ok(asked.into_iter().filter_map(|asked| asked.join().ok().flatten()).collect())
    })
}

/// Returns `None` if the process has ended.
fn ask(path: &Path) -> Option<Answer> {
    let state = match connect(path) {
        Ok(stream) => read(path, &stream),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            if has_ended(path) {
                // Another reader may have removed it.
                let _ = fs::remove_file(path);
            }
            return None;
        }
        Err(error) => Err(place::named(path, error)),
    };
    Some(Answer { path: path.to_owned(), state })
}

/// Connects at once or not at all: a stopped process takes no more than its queue holds, and `connect` would wait for it.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &address)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Returns true if the path is a socket, and there is no process of the number in the socket's name. A process that is there may be
/// about to listen.
fn has_ended(path: &Path) -> bool {
    if !place::is_socket(path) {
        return false;
    }
    let name = path.file_stem().and_then(|name| name.to_str());
    let pid = name.and_then(|name| name.rsplit_once('-')).and_then(|(_, pid)| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

fn read(path: &Path, stream: &UnixStream) -> Result<ProcessState, Error> {
    let peer = socket_peercred(stream).map_err(io::Error::from)?;
    if peer.uid != geteuid() && !peer.uid.is_root() {
        let what = format!("{}: a process of user {} answers", path.display(), peer.uid.as_raw());
        return Err(Error::new(ErrorKind::Unauthenticated, what));
    }
    let answer = read_within(stream, Instant::now() + PATIENCE).map_err(|error| place::named(path, error))?;
    let state: ProcessState = serde_json::from_slice(&answer)
        .map_err(|error| Error::new(ErrorKind::Malformed, format!("{}: {error}", path.display())))?;
    if state.format != ProcessState::FORMAT {
        let what =
            format!("{}: format {}, and {} is known", path.display(), state.format, ProcessState::FORMAT);
        return Err(Error::new(ErrorKind::Version, what));
    }
    Ok(state)
}

/// Reads until the process closes.
fn read_within(mut stream: &UnixStream, end: Instant) -> io::Result<Vec<u8>> {
    let (mut read, mut chunk) = (Vec::new(), [0; 1 << 14]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(read),
            Ok(len) if read.len() + len > MOST_BYTES => return Err(io::ErrorKind::FileTooLarge.into()),
            Ok(len) => read.extend_from_slice(&chunk[..len]),
            // The time-out of a socket is this error.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
