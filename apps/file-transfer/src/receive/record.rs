//! The record that a file was received.

use crate::blocking::blocking;
use crate::{Digest, Error, Name};
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The digest of a file, as it was when it was received. It stands beside the file, so that an offer of the same file is recognised without
/// reading it, and files that others put into the directory are none of the sender's business.
#[derive(Debug)]
pub(super) struct Record {
    version: String,
    digest: Digest,
}

impl Record {
    pub(super) fn new(metadata: &Metadata, digest: Digest) -> Self {
        Self { version: version(metadata), digest }
    }

    /// The record of the file with this name, if there is one that can be read.
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

    /// The digest, if the file is still the one that was received.
    pub(super) fn digest_of(&self, metadata: &Metadata) -> Option<Digest> {
        (metadata.is_file() && self.version == version(metadata)).then_some(self.digest)
    }
}

/// A text that changes when the file is written: its length, and its time of modification in nanoseconds.
fn version(metadata: &Metadata) -> String {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", metadata.len(), modified.unwrap_or_default().as_nanos())
}
