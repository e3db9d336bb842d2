//! A file on its way, hashed as it is written.

use super::own_file;
use super::record::Record;
use crate::blocking::blocking;
use crate::digest::Digesting;
use crate::message::CHUNK;
use crate::{Digest, Error, Name};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The beginning of a file, or all of it before it has its name.
#[derive(Debug)]
pub(super) struct Partial {
    /// The file, shared with calls under way.
    file: Arc<File>,
    path: PathBuf,
    len: u64,
    digesting: Digesting,
}

impl Partial {
    /// Opens the part that an earlier connection has left, if there is one. After a crash of the system its
    /// end may be missing or wrong, which the digest shows.
    pub(super) async fn unfinished(name: &Name, directory: &Path) -> Result<Option<Self>, Error> {
        let path = name.unfinished(directory);
        let at = path.clone();
        let opened = blocking(move || own_file::open(OpenOptions::new().read(true).append(true), &at)).await;
        let file = match opened {
            Ok(file) => Arc::new(file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("opening", &path)(error)),
        };
        let mut partial = Self { file, path, len: 0, digesting: Digesting::default() };
        partial.read_on().await?;
        Ok(Some(partial))
    }

    /// Returns the digest of the file at `path`.
    pub(super) async fn digest_at(path: &Path) -> Result<Digest, Error> {
        let at = path.to_owned();
        let opened = blocking(move || File::open(at)).await.map_err(Error::file("opening", path))?;
        let mut whole =
            Self { file: Arc::new(opened), path: path.to_owned(), len: 0, digesting: Digesting::default() };
        whole.read_on().await?;
        Ok(whole.digest())
    }

    /// Reads and counts the bytes up to the end of the file.
    async fn read_on(&mut self) -> Result<(), Error> {
        loop {
            let read = self.on_file(|mut file| {
                let mut bytes = vec![0; CHUNK];
                file.read(&mut bytes).map(|len| (bytes, len))
            });
            let (bytes, len) = read.await.map_err(Error::file("reading", &self.path))?;
            if len == 0 {
                return Ok(());
            }
            self.count(&bytes[..len]);
        }
    }

    /// Creates an empty part, in the place of whatever an earlier connection has left.
    pub(super) async fn create(name: &Name, directory: &Path) -> Result<Self, Error> {
        let path = name.unfinished(directory);
        let at = path.clone();
        let created =
            blocking(move || own_file::create(&at)).await.map_err(Error::file("creating", &path))?;
        Ok(Self { file: Arc::new(created), path, len: 0, digesting: Digesting::default() })
    }

    async fn on_file<T: Send + 'static>(
        &self,
        action: impl FnOnce(&File) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let file = self.file.clone();
        blocking(move || action(&file)).await
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn digest(&self) -> Digest {
        self.digesting.digest()
    }

    pub(super) async fn append(&mut self, bytes: Vec<u8>) -> Result<(), Error> {
        self.count(&bytes);
        let written = self.on_file(move |mut file| file.write_all(&bytes));
        written.await.map_err(Error::file("writing", &self.path))
    }

    fn count(&mut self, bytes: &[u8]) {
        self.digesting.update(bytes);
        self.len += bytes.len() as u64;
    }

    /// Gives the file its name once it is on the disk, and records that it was received.
    pub(super) async fn keep(self, name: &Name, directory: &Path) -> Result<(), Error> {
        self.on_file(File::sync_all).await.map_err(Error::file("writing", &self.path))?;
        let metadata = self.file.metadata().map_err(Error::file("reading", &self.path))?;
        // The record is written before the file has its name: until then the record describes no file with
        // this name.
        Record::new(&metadata, self.digest()).write(name, directory).await?;
        let from = self.path.clone();
        let finished = name.finished(directory);
        let to = finished.clone();
        blocking(move || fs::rename(from, to)).await.map_err(Error::file("naming", &finished))?;
        // Naming a file is a change of its state. If the process ends before, the next offer of the file has
        // it read again.
        let named = self.file.metadata().map_err(Error::file("reading", &finished))?;
        let is_unwritten = named.len() == metadata.len() && named.modified().ok() == metadata.modified().ok();
        if is_unwritten {
            Record::new(&named, self.digest()).write(name, directory).await?;
        }
        let at = directory.to_owned();
        let synced = blocking(move || File::open(at)?.sync_all()).await;
        synced.map_err(Error::file("writing", directory))
    }

    /// Removes the part.
    pub(super) async fn discard(self) -> Result<(), Error> {
        let at = self.path.clone();
        blocking(move || fs::remove_file(at)).await.map_err(Error::file("removing", &self.path))
    }
}
