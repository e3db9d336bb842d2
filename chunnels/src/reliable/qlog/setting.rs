//! The setting of [`Reliable`](crate::Reliable).

use super::file;
use super::log::Log;
use super::sink::{Callback, Sink, tell};
use super::wall_clock::WallClock;
use bertha_core::{Addr, Error, Role};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::SystemTime;

/// Limit of a connection's records, in bytes, unless another limit is chosen.
const LIMIT: u64 = 64 << 20;

/// The destination of qlogs, for [`Reliable::qlog`](crate::Reliable::qlog), with the feature `qlog`.
///
/// A qlog has the packets of a connection, its losses, window and round-trip times, in the format of
/// `draft-ietf-quic-qlog-main-schema-14` and `draft-ietf-quic-qlog-quic-events-13`. It has the addresses of both ends, lengths, numbers and
/// times, and never the bytes of a message.
///
/// ```no_run
/// use bertha_chunnels::Reliable;
/// use bertha_chunnels::reliable::Qlog;
///
/// let reliable = Reliable::new().qlog(Qlog::folder("/var/tmp/qlogs")?);
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Qlog {
    shared: Arc<Shared>,
    limit: u64,
    vantage: &'static str,
}

/// The state that the clones of a [`Qlog`] share.
struct Shared {
    to: To,
    /// The number of connections so far.
    connections: AtomicU64,
    is_told: Arc<AtomicBool>,
}

enum To {
    Folder(PathBuf),
    Callback(Callback),
}

impl Qlog {
    /// Writes a file for each connection into a folder, which is made if it is not there.
    ///
    /// The name of a file, `NUMBER-TIME-PROCESS-ROLE.sqlog`, is new in the folder: several processes may share it. Only the owner may
    /// read the files. Nothing deletes old files.
    ///
    /// A connection writes 32 KiB at a time, in its own task, into the page cache of the system. The folder belongs on a disk of the
    /// machine: a network file system that hangs would stop the connection. The rest is written when the connection ends; a process that
    /// is killed loses up to 32 KiB of each connection. A file that can't be written, on a full disk for example, ends there. An event of
    /// `tracing` tells the first such error and its path, and the connection goes on.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if `path` is no folder, or the process may not make it; the errors of the system.
    pub fn folder(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        file::make_folder(path)?;
        Ok(Self::to(To::Folder(path.to_owned())))
    }

    /// Calls a function with each record, which is a text in JSON, and the number of its connection, from 1. The first record of a
    /// connection is the header.
    ///
    /// The function is called in the middle of the work for a packet: it should return soon, and must not call the connection, which
    /// would wait for itself.
    pub fn callback(function: impl Fn(u64, &str) + Send + Sync + 'static) -> Self {
        Self::to(To::Callback(Arc::new(function)))
    }

    /// Sets the limit of a connection's records, in bytes, at least 4,096. The last record says that the qlog ends at the limit. 64 MiB unless
    /// chosen, which last for some 150,000 packets.
    #[must_use]
    pub fn limit(self, bytes: u64) -> Self {
        Self { limit: bytes.max(4_096), ..self }
    }

    fn to(to: To) -> Self {
        let shared = Shared { to, connections: AtomicU64::new(0), is_told: Arc::default() };
        Self { shared: Arc::new(shared), limit: LIMIT, vantage: "unknown" }
    }

    /// Returns the setting for an end in this role.
    pub(in crate::reliable) fn seen_as(self, role: Role) -> Self {
        let vantage = match role {
            Role::Client => "client",
            Role::Server => "server",
            _ => "unknown",
        };
        Self { vantage, ..self }
    }

    /// Begins the log of a connection; `None` if its file can't be created.
    pub(in crate::reliable) fn begin(&self, local: &Addr, peer: &Addr) -> Option<Box<Log>> {
        let Shared { to, connections, is_told } = &*self.shared;
        let next = || connections.fetch_add(1, Relaxed) + 1;
        let (number, sink, clock) = match to {
            To::Folder(folder) => {
                let clock = WallClock::at(SystemTime::now());
                let created = file::create(folder, next, self.vantage, clock);
                let created = created.inspect_err(|(path, error)| tell(path, error, is_told));
                let (number, path, file) = created.ok()?;
                (number, Sink::File { file, path, is_told: is_told.clone() }, Some(clock))
            }
            To::Callback(callback) => {
                let number = next();
                (number, Sink::Callback { connection: number, callback: callback.clone() }, None)
            }
        };
        let mut log = Box::new(Log::new(sink, self.limit));
        log.header(number, self.vantage, clock);
        log.connection_started(local, peer);
        Some(log)
    }
}

impl fmt::Debug for Qlog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Qlog");
        if let To::Folder(folder) = &self.shared.to {
            debug.field("folder", folder);
        }
        debug.field("limit", &self.limit).finish_non_exhaustive()
    }
}
