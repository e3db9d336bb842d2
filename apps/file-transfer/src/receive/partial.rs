//! A file on its way, hashed as it is written.

use super::record::Record;
use crate::digest::Digesting;
use crate::message::CHUNK;
use crate::{Digest, Error, Name};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The beginning of a file, or all of it before it has its name.
#[derive(Debug)]
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    len: u64,
    digesting: Digesting,
}

impl Partial {
    /// The part that an earlier connection has left, if it has. After a crash of the system its end may be missing or wrong,
    /// which the digest shows.
    pub(super) async fn unfinished(name: &Name, directory: &Path) -> Result<Option<Self>, Error> {
        let path = name.unfinished(directory);
        let opened = OpenOptions::new().read(true).append(true).open(&path).await;
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("opening", &path)(error)),
        };
        let mut partial = Self { file, path, len: 0, digesting: Digesting::default() };
        let mut bytes = vec![0; CHUNK];
        loop {
            let read = partial.file.read(&mut bytes).await.map_err(Error::file("reading", &partial.path))?;
            if read == 0 {
                return Ok(Some(partial));
            }
            partial.count(&bytes[..read]);
        }
    }

    /// An empty one, in the place of whatever an earlier connection has left.
    pub(super) async fn create(name: &Name, directory: &Path) -> Result<Self, Error> {
        let path = name.unfinished(directory);
        let file = File::create(&path).await.map_err(Error::file("creating", &path))?;
        Ok(Self { file, path, len: 0, digesting: Digesting::default() })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn digest(&self) -> Digest {
        self.digesting.digest()
    }

    pub(super) async fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).await.map_err(Error::file("writing", &self.path))?;
        // Bytes that are buffered here would be lost with this process.
        self.file.flush().await.map_err(Error::file("writing", &self.path))?;
        self.count(bytes);
        Ok(())
    }

    fn count(&mut self, bytes: &[u8]) {
        self.digesting.update(bytes);
        self.len += bytes.len() as u64;
    }

    /// Gives it its name once it is on the disk, and records that it was received.
    pub(super) async fn keep(self, name: &Name, directory: &Path) -> Result<(), Error> {
        self.file.sync_all().await.map_err(Error::file("writing", &self.path))?;
        let metadata = self.file.metadata().await.map_err(Error::file("reading", &self.path))?;
        // Before it has its name: until then the record describes no file that has it.
        Record::new(&metadata, self.digest()).write(name, directory).await?;
        let finished = name.finished(directory);
        fs::rename(&self.path, &finished).await.map_err(Error::file("naming", &finished))?;
        let directory_itself = File::open(directory).await.map_err(Error::file("opening", directory))?;
        directory_itself.sync_all().await.map_err(Error::file("writing", directory))
    }

    /// Removes it.
    pub(super) async fn discard(self) -> Result<(), Error> {
        fs::remove_file(&self.path).await.map_err(Error::file("removing", &self.path))
    }
}
