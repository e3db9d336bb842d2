//! The sender.

use crate::blocking::blocking;
use crate::digest::Digesting;
use crate::message::CHUNK;
use crate::persistence::{Failure, Persistence};
use crate::{Digest, Error, Message, Name};
use bertha::prelude::*;
use bertha::{Addr, Base, Datapath, Runtime, Settings};
use rustix::fs::OFlags;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A pipe that takes the place of the file after the look at it is opened without waiting for its other end.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits() as i32;

/// A file to send.
#[derive(Clone, Debug)]
pub struct Sending {
    /// The receiver.
    pub to: Addr,
    /// The file.
    pub path: PathBuf,
    /// The digest that the receiver checks the file against, if it is known from elsewhere; otherwise the
    /// digest of the bytes read here.
    pub expected: Option<Digest>,
    /// Time for which the sender goes on connecting while nothing gets through; zero for a single connection.
    pub persistence: Duration,
    /// The times and bounds of connecting.
    pub settings: Settings,
}

/// A sent file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Length of the file.
    pub bytes: u64,
    /// Offset at which the last connection began: more than zero if it continued an earlier connection.
    pub offset: u64,
    /// The digest that both ends found.
    pub digest: Digest,
}

/// The position in a file that has been reached. Clones share the position, so that it can be shown
/// meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Returns the position in the file, in bytes, up to which the connection has taken it.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn set(&self, bytes: u64) {
        self.0.store(bytes, Relaxed);
    }
}

/// Sends a file, over as many connections as necessary. Dropping the future ends the connection; a later call
/// continues behind the part that arrived.
///
/// # Errors
/// [`Error::Name`], [`Error::NotAFile`], [`Error::File`] and [`Error::Changed`] for the file;
/// [`Error::Refused`] with the receiver's reason, above all a wrong digest; [`Error::Connection`] if nothing
/// got through during the persistence.
pub async fn send<S, D>(
    stack: &S,
    datapath: &D,
    sending: &Sending,
    progress: &Progress,
) -> Result<Sent, Error>
where
    S: Negotiate + Sync,
    D: Datapath + Runs<S, Out: Connection<Data = Message>> + Clone,
{
    let mut source = Source::open(&sending.path).await?;
    let mut persistence = Persistence::new(sending.persistence, Instant::now());
    loop {
        source.confirmed = None;
        let error = match attempt(stack, datapath.clone(), &mut source, sending, progress).await {
            Ok(sent) => return Ok(sent),
            Err(error) => error,
        };
        let is_refusal = matches!(error, Error::Refused(_));
        let failure = Failure { confirmed: source.confirmed, taken: progress.get(), is_refusal };
        let pause = persistence.failed(failure, Instant::now()).filter(|_| error.passes());
        let Some(pause) = pause else { return Err(error) };
        match is_refusal {
            true => tracing::warn!(%error, "offering the file again in {pause:?}"),
            false => tracing::warn!(%error, "no connection; connecting again in {pause:?}"),
        }
        bertha::sleep(pause).await;
    }
}

async fn attempt<S, D>(
    stack: &S,
    datapath: D,
    source: &mut Source,
    sending: &Sending,
    progress: &Progress,
) -> Result<Sent, Error>
where
    S: Negotiate + Sync,
    D: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = stack.connect(datapath, sending.to.clone()).settings(sending.settings.clone()).await?;
    tracing::info!(agreement = %connection.explain(), "connected");
    let sent = match converse(&connection, source, sending.expected, progress).await {
        // The connection is closed behind a refusal, which may still be there to be read.
        Err(error @ Error::Connection(_)) => match connection.recv().await {
            Ok(Message::Refused(refusal)) => Err(Error::Refused(refusal)),
            _ => Err(error),
        },
        sent => sent,
    }?;
    // The file is kept, however the connection ends.
    if let Err(error) = connection.close().await {
        tracing::debug!(%error, "closing failed");
    }
    Ok(sent)
}

async fn converse(
    connection: &impl Connection<Data = Message>,
    source: &mut Source,
    expected: Option<Digest>,
    progress: &Progress,
) -> Result<Sent, Error> {
    let nonce = nonce(connection.base().runtime());
    connection.send(Message::Offer { name: source.name.clone(), length: source.length, nonce }).await?;
    let (there, proof) = match connection.recv().await? {
        Message::Continue { offset, proof } => (offset.min(source.length), proof),
        other => return Err(declined(other)),
    };
    source.rewind().await?;
    source.digest_up_to(there).await?;
    if source.digesting.digest().proof(&nonce) != proof {
        tracing::info!(there, "the receiver has the beginning of another file");
        source.rewind().await?;
    }
    let offset = source.at;
    source.confirmed = Some(offset);
    progress.set(offset);
    connection.send(Message::Begin { offset }).await?;
    while let Some(chunk) = source.next_chunk().await? {
        connection.send(Message::Chunk(chunk)).await?;
        progress.set(source.at);
    }
    let digest = expected.unwrap_or_else(|| source.digesting.digest());
    connection.send(Message::End { digest }).await?;
    match connection.recv().await? {
        Message::Kept { digest: kept } if kept == digest => Ok(Sent { bytes: source.length, offset, digest }),
        other => Err(declined(other)),
    }
}

fn nonce(runtime: &impl Runtime) -> [u8; 16] {
    let random = u128::from(runtime.random()) << 64 | u128::from(runtime.random());
    random.to_le_bytes()
}

fn declined(said: Message) -> Error {
    match said {
        Message::Refused(refusal) => Error::Refused(refusal),
        other => Error::OutOfTurn(other.kind()),
    }
}

/// The file, hashed as it is read.
#[derive(Debug)]
struct Source {
    /// The file, shared with reading calls under way.
    file: Arc<File>,
    path: PathBuf,
    name: Name,
    length: u64,
    /// Position up to which the file was read.
    at: u64,
    digesting: Digesting,
    /// Number of bytes that the receiver of the present connection has, as both ends have verified.
    confirmed: Option<u64>,
}

/// Returns an error if `found` at `path` is no file.
fn a_file(path: &Path, found: &Metadata) -> Result<(), Error> {
    let kind = found.file_type();
    let is = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "no file",
    };
    Err(Error::NotAFile { path: path.to_owned(), is })
}

impl Source {
    async fn open(path: &Path) -> Result<Self, Error> {
        let name = Name::of(path).ok_or_else(|| Error::Name(path.to_owned()))?;
        let from = path.to_owned();
        // A pipe opens when its other end does, and a device may do something when it is opened: the kind
        // comes first.
        let found = blocking(move || fs::metadata(from)).await.map_err(Error::file("opening", path))?;
        a_file(path, &found)?;
        let from = path.to_owned();
        let opening = blocking(move || OpenOptions::new().read(true).custom_flags(NONBLOCK).open(from));
        let file = Arc::new(opening.await.map_err(Error::file("opening", path))?);
        let metadata = file.metadata().map_err(Error::file("reading", path))?;
        a_file(path, &metadata)?;
        let path = path.to_owned();
        let digesting = Digesting::default();
        Ok(Self { file, path, name, length: metadata.len(), at: 0, digesting, confirmed: None })
    }

    async fn rewind(&mut self) -> Result<(), Error> {
        (&*self.file).rewind().map_err(Error::file("reading", &self.path))?;
        (self.at, self.digesting) = (0, Digesting::default());
        Ok(())
    }

    /// Reads on without sending.
    async fn digest_up_to(&mut self, offset: u64) -> Result<(), Error> {
        while self.at < offset {
            self.read(offset - self.at).await?;
        }
        Ok(())
    }

    async fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self.length - self.at {
            0 => Ok(None),
            left => self.read(left).await.map(Some),
        }
    }

    /// Reads up to `max` bytes, at most a chunk.
    async fn read(&mut self, max: u64) -> Result<Vec<u8>, Error> {
        let len = max.min(CHUNK as u64) as usize;
        let file = self.file.clone();
        let read = blocking(move || {
            let mut chunk = vec![0; len];
            (&*file).read_exact(&mut chunk).map(|()| chunk)
        });
        let chunk = read.await.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Changed(self.path.clone()),
            _ => Error::file("reading", &self.path)(error),
        })?;
        self.digesting.update(&chunk);
        self.at += len as u64;
        Ok(chunk)
    }
}
