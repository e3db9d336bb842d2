//! The record that a file was received.

use crate::blocking::blocking;
use crate::{Digest, Error, Name};
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The digest of a file at the time when it was received. The record lies beside the file, so that an offer
/// of this file is recognised without reading it, and files that other programs put into the directory stay
/// hidden from senders.
#[derive(Debug)]
pub(super) struct Record {
    version: String,
    digest: Digest,
}

impl Record {
    pub(super) fn new(metadata: &Metadata, digest: Digest) -> Self {
        Self { version: version(metadata), digest }
    }

    /// Reads the record of the file with this name, if there is a readable record.
    pub(super) async fn read(name: &Name, directory: &Path) -> Option<Self> {
        let path = name.record(directory);
        let text = blocking(move || fs::read_to_string(path)).await.ok()?;
        let (version, digest) = text.trim_end().rsplit_once(' ')?;
        Some(Self { version: version.into(), digest: digest.parse().ok()? })
    }

    pub(super) async fn write(&self, name: &Name, directory: &Path) -> Result<(), Error> {
        let path = name.record(directory);
        let text = format!("{} {}\n", self.version, self.digest);
        let at = path.clone();
        blocking(move || fs::write(at, text)).await.map_err(Error::file("writing", &path))
    }

    /// Returns the digest, if the file is unchanged since it was received.
    pub(super) fn digest_of(&self, metadata: &Metadata) -> Option<Digest> {
        (metadata.is_file() && self.version == version(metadata)).then_some(self.digest)
    }
}

/// Returns a text that changes when the file is written: its length, and its time of modification in
/// nanoseconds.
fn version(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", metadata.len(), modified.unwrap_or_default().as_nanos())
}
