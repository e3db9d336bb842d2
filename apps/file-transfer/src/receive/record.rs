//! The record that a file was received.

use super::own_file;
use crate::blocking::blocking;
use crate::{Digest, Error, Name};
use std::fs::{self, Metadata};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The digest of a file at the time when it was received. The record lies beside the file, so that an offer
/// of this file is recognised without reading it, and files that other programs put into the directory stay
/// hidden from senders.
///
/// A record vouches for the file only while length, number and times of the file are those that the record
/// names. The time of the last change of the file's state is among them, which no program can set: a file
/// whose content changed under equal length and with its time of modification set back differs, unless the
/// system's clock was set back, too, or has not gone on since. Of a file that differs, such as one that was
/// moved here from a backup, the content decides: the receiver reads the file once, and renews or removes the
/// record.
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
        blocking(move || own_file::create(&at)?.write_all(text.as_bytes()))
            .await
            .map_err(Error::file("writing", &path))
    }

    /// Removes the record of the file with this name.
    pub(super) async fn remove(name: &Name, directory: &Path) {
        let path = name.record(directory);
        if let Err(error) = blocking(move || fs::remove_file(path)).await {
            tracing::debug!(%error, %name, "the record of a file that has changed stays");
        }
    }

    /// Returns the digest that the file had when it was received.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns true if the file is unchanged since the record was written.
    pub(super) fn vouches_for(&self, metadata: &Metadata) -> bool {
        metadata.is_file() && self.version == version(metadata)
    }
}

/// Returns a text that changes when the file is written or another file takes its place: length, number, and
/// times in seconds and nanoseconds.
fn version(file: &Metadata) -> String {
    let (modified, changed) = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
    format!("{} {} {}.{:09} {}.{:09}", file.len(), file.ino(), modified.0, modified.1, changed.0, changed.1)
}
