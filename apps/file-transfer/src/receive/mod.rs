//! The receiver.

mod own_file;
mod partial;
mod record;
#[cfg(test)]
mod tests;
mod turns;

use crate::blocking::blocking;
use crate::message::CHUNK;
use crate::{Digest, Error, Message, Name, Refusal};
use bertha::prelude::*;
use partial::Partial;
use record::Record;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use turns::{Turn, Turns};

/// A receiver that keeps files in a directory. A single value serves all senders, through
/// [`serve`](Self::serve).
#[derive(Clone, Debug)]
pub struct Receiver {
    directory: Arc<Path>,
    max: u64,
    replaces: bool,
    turns: Turns,
    received: Arc<AtomicU64>,
}

/// A file that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Name of the file in the directory.
    pub name: Name,
    /// Length of the file.
    pub bytes: u64,
    /// Offset at which this connection began: more than zero if it continued an earlier connection.
    pub offset: u64,
    /// Digest of the file.
    pub digest: Digest,
}

impl Receiver {
    /// Creates a receiver that keeps files of any length in `directory`. Existing files stay as they are.
    ///
    /// # Errors
    /// [`Error::File`] if there is no such directory.
    pub async fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        // The call fails if the directory does not exist, or is no directory.
        drop(fs::read_dir(&directory).map_err(Error::file("opening", &directory))?);
        Ok(Self {
            directory: directory.into(),
            max: u64::MAX,
            replaces: false,
            turns: Turns::default(),
            received: Arc::default(),
        })
    }

    /// Limits the length of files to `bytes`.
    #[must_use]
    pub fn at_most(self, bytes: u64) -> Self {
        Self { max: bytes, ..self }
    }

    /// Lets a file take the place of a file with its name.
    #[must_use]
    pub fn replacing(self) -> Self {
        Self { replaces: true, ..self }
    }

    /// Returns the number of bytes that have arrived so far, in all files. Clones count together.
    pub fn received(&self) -> u64 {
        self.received.load(Relaxed)
    }

    /// Receives the single file that comes over this connection, and closes it. A newer connection with this
    /// file ends this connection, since its sender is likely to have given it up. Dropping the future keeps
    /// the part that has arrived, for the next connection.
    ///
    /// # Errors
    /// [`Error::Declined`] with the reason that the sender was given; [`Error::File`], [`Error::Connection`].
    pub async fn serve(&self, connection: &impl Connection<Data = Message>) -> Result<Kept, Error> {
        let kept = self.receive(connection).await;
        let reply = match &kept {
            Ok(kept) => Some(Message::Kept { digest: kept.digest }),
            Err(Error::Declined(refusal)) => Some(Message::Refused(*refusal)),
            Err(Error::OutOfTurn(_)) => Some(Message::Refused(Refusal::OutOfTurn)),
            Err(Error::File { .. }) => Some(Message::Refused(Refusal::Storage)),
            Err(_) => None,
        };
        if let Some(reply) = reply {
            connection.send(reply).await?;
        }
        let closed = connection.close().await;
        // The sender may be gone before it is told; the file is kept nevertheless.
        if let Err(error) = closed {
            tracing::debug!(%error, "closing failed");
        }
        kept
    }

    async fn receive(&self, connection: &impl Connection<Data = Message>) -> Result<Kept, Error> {
        let (name, length, nonce) = match connection.recv().await? {
            Message::Offer { name, length, nonce } => (name, length, nonce),
            other => return Err(Error::OutOfTurn(other.kind())),
        };
        if !name.is_acceptable() {
            return Err(Error::Declined(Refusal::Name));
        }
        if length > self.max {
            return Err(Error::Declined(Refusal::TooLong { max: self.max }));
        }
        let mut turn = self.turns.take(&name, length).await.map_err(Error::Declined)?;
        self.take_file(connection, &mut turn, Offer { name, length, nonce }).await
    }

    async fn take_file(
        &self,
        connection: &impl Connection<Data = Message>,
        turn: &mut Turn,
        Offer { name, length, nonce }: Offer,
    ) -> Result<Kept, Error> {
        let there = self.find(&name, length).await?;
        let (has, digest) = match &there {
            There::All(digest) => (length, *digest),
            There::Part(partial) => (partial.len(), partial.digest()),
        };
        connection.send(Message::Continue { offset: has, proof: digest.proof(&nonce) }).await?;
        let offset = match turn.or_superseded(connection.recv()).await? {
            Message::Begin { offset } if offset == has || offset == 0 => offset,
            other => return Err(Error::OutOfTurn(other.kind())),
        };
        let mut partial = match there {
            There::All(digest) if offset == has => {
                return match turn.or_superseded(connection.recv()).await? {
                    Message::End { digest: expected } if expected == digest => {
                        Ok(Kept { name, bytes: length, offset, digest })
                    }
                    Message::End { .. } => Err(Error::Declined(Refusal::WrongDigest { found: None })),
                    other => Err(Error::OutOfTurn(other.kind())),
                };
            }
            There::All(_) if !self.replaces => return Err(Error::Declined(Refusal::Exists)),
            There::Part(partial) if offset == has => *partial,
            _ => Partial::create(&name, &self.directory).await?,
        };
        let expected = loop {
            match turn.or_superseded(connection.recv()).await? {
                Message::Chunk(bytes) if fits(&bytes, length - partial.len()) => {
                    self.received.fetch_add(bytes.len() as u64, Relaxed);
                    partial.append(bytes).await?
                }
                Message::End { digest } if partial.len() == length => break digest,
                other => return Err(Error::OutOfTurn(other.kind())),
            }
        };
        let digest = partial.digest();
        if digest != expected {
            partial.discard().await?;
            // The beginning may come from another sender.
            let found = (offset == 0).then_some(digest);
            return Err(Error::Declined(Refusal::WrongDigest { found }));
        }
        partial.keep(&name, &self.directory).await?;
        Ok(Kept { name, bytes: length, offset, digest })
    }

    /// Finds the file as far as it is there: all, a part, or nothing. A file that was not received here is
    /// not read: a sender may have no right to know it.
    async fn find(&self, name: &Name, length: u64) -> Result<There, Error> {
        let path = name.finished(&self.directory);
        let at = path.clone();
        match blocking(move || fs::symlink_metadata(at)).await {
            Ok(metadata) => match self.vouched(name, &path, &metadata, length).await? {
                Some(digest) => return Ok(There::All(digest)),
                _ if !self.replaces => return Err(Error::Declined(Refusal::Exists)),
                _ => {}
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::file("reading", &path)(error)),
        }
        Ok(There::Part(Box::new(match Partial::unfinished(name, &self.directory).await? {
            Some(partial) if partial.len() <= length => partial,
            _ => Partial::create(name, &self.directory).await?,
        })))
    }
}

impl Receiver {
    /// Returns the digest of a file of this length that was received here and is unchanged since.
    ///
    /// A record that does not vouch for the file as it is now says what the content was: the file is read
    /// once, and the record is renewed or removed, so that offers do not have the file read again and again.
    async fn vouched(
        &self,
        name: &Name,
        path: &Path,
        found: &Metadata,
        length: u64,
    ) -> Result<Option<Digest>, Error> {
        let Some(record) = Record::read(name, &self.directory).await else { return Ok(None) };
        if !found.is_file() || found.len() != length {
            return Ok(None);
        }
        let digest = record.digest();
        if record.vouches_for(found) {
            return Ok(Some(digest));
        }
        if Partial::digest_at(path).await? == digest {
            Record::new(found, digest).write(name, &self.directory).await?;
            return Ok(Some(digest));
        }
        Record::remove(name, &self.directory).await;
        Ok(None)
    }
}

/// A file that a sender offers.
struct Offer {
    name: Name,
    length: u64,
    nonce: [u8; 16],
}

/// The part of a file that is there.
enum There {
    /// All of the file, with this digest.
    All(Digest),
    Part(Box<Partial>),
}

fn fits(chunk: &[u8], left: u64) -> bool {
    (1..=CHUNK).contains(&chunk.len()) && chunk.len() as u64 <= left
}
