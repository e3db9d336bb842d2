//! The receiver.

mod partial;
mod turns;

use crate::message::CHUNK;
use crate::{Digest, Error, Message, Name, Refusal};
use bertha::prelude::*;
use partial::Partial;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::fs;
use turns::{Turn, Turns};

/// Keeps files in a directory. One value serves all senders, through [`serve`](Self::serve).
#[derive(Clone, Debug)]
pub struct Receiver {
    directory: Arc<Path>,
    max: u64,
    replaces: bool,
    turns: Turns,
}

/// A file that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name in the directory.
    pub name: Name,
    /// Its length.
    pub bytes: u64,
    /// Where this connection began: more than zero if it went on where an earlier one had ended.
    pub offset: u64,
    /// Its digest.
    pub digest: Digest,
}

impl Receiver {
    /// Keeps files of any length in `directory`. Files that are there already stay as they are.
    ///
    /// # Errors
    /// [`Error::File`] if there is no such directory.
    pub async fn open(directory: impl Into<PathBuf>) -> Result<Self, Error> {
        let directory = directory.into();
        // Fails if it is not there, or is no directory.
        drop(fs::read_dir(&directory).await.map_err(Error::file("opening", &directory))?);
        Ok(Self { directory: directory.into(), max: u64::MAX, replaces: false, turns: Turns::default() })
    }

    /// Takes no longer files than `bytes`.
    #[must_use]
    pub fn at_most(self, bytes: u64) -> Self {
        Self { max: bytes, ..self }
    }

    /// Lets a file take the place of one that has its name.
    #[must_use]
    pub fn replacing(self) -> Self {
        Self { replaces: true, ..self }
    }

    /// Takes the one file that comes over this connection, and closes it. A newer connection with the same file ends this
    /// one, since its sender is likely to have given it up. Dropping the future keeps the part that has arrived, for the next connection.
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
        // The sender may be gone by the time it is told; the file is kept all the same.
        if let Err(error) = closed {
            tracing::debug!(%error, "closing failed");
        }
        kept
    }

    async fn receive(&self, connection: &impl Connection<Data = Message>) -> Result<Kept, Error> {
        let (name, length) = match connection.recv().await? {
            Message::Offer { name, length } => (name, length),
            other => return Err(Error::OutOfTurn(other.kind())),
        };
        if !name.is_acceptable() {
            return Err(Error::Declined(Refusal::Name));
        }
        if length > self.max {
            return Err(Error::Declined(Refusal::TooLong { max: self.max }));
        }
        let mut turn = self.turns.take(&name).await;
        self.take_file(connection, &mut turn, name, length).await
    }

    async fn take_file(
        &self,
        connection: &impl Connection<Data = Message>,
        turn: &mut Turn,
        name: Name,
        length: u64,
    ) -> Result<Kept, Error> {
        let mut partial = self.find(&name, length).await?;
        connection.send(Message::Continue { offset: partial.len(), digest: partial.digest() }).await?;
        let offset = match turn.or_superseded(connection.recv()).await? {
            Message::Begin { offset } if offset == partial.len() || offset == 0 => offset,
            other => return Err(Error::OutOfTurn(other.kind())),
        };
        if offset < partial.len() {
            if partial.is_finished() && !self.replaces {
                return Err(Error::Declined(Refusal::Exists));
            }
            partial = Partial::create(&name, &self.directory).await?;
        }
        let expected = loop {
            match turn.or_superseded(connection.recv()).await? {
                Message::Chunk(bytes) if fits(&bytes, length - partial.len()) => {
                    partial.append(&bytes).await?
                }
                Message::End { digest } if partial.len() == length => break digest,
                other => return Err(Error::OutOfTurn(other.kind())),
            }
        };
        let digest = partial.digest();
        if digest != expected {
            partial.discard().await?;
            return Err(Error::Declined(Refusal::WrongDigest { found: digest }));
        }
        partial.keep(&name, &self.directory).await?;
        Ok(Kept { name, bytes: length, offset, digest })
    }

    /// The file as far as it is there: all, a part, or nothing.
    async fn find(&self, name: &Name, length: u64) -> Result<Partial, Error> {
        if let Some(finished) = Partial::finished(name, &self.directory).await? {
            if finished.len() == length {
                return Ok(finished);
            }
            if !self.replaces {
                return Err(Error::Declined(Refusal::Exists));
            }
        }
        match Partial::unfinished(name, &self.directory).await? {
            Some(partial) if partial.len() <= length => Ok(partial),
            _ => Partial::create(name, &self.directory).await,
        }
    }
}

fn fits(chunk: &[u8], left: u64) -> bool {
    (1..=CHUNK).contains(&chunk.len()) && chunk.len() as u64 <= left
}
