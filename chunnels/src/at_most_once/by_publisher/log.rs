//! The file that keeps a memory of messages.

use super::MessageId;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The publisher, the number, and a CRC-32 of both.
const RECORD: usize = 20;

/// A list of messages in a file, whose end may have been cut off by a crash.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    /// The number of whole records, behind which the next record is written.
    records: u64,
}

fn encode(id: &MessageId) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&id.publisher.to_le_bytes());
    record[8..16].copy_from_slice(&id.number.to_le_bytes());
    let check = crc32fast::hash(&record[..16]);
    record[16..].copy_from_slice(&check.to_le_bytes());
    record
}

fn decode(record: &[u8]) -> Option<MessageId> {
    let number = |at: usize| Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?));
    let id = MessageId { publisher: number(0)?, number: number(8)? };
    (encode(&id)[..] == *record).then_some(id)
}

impl Log {
    /// Opens the file, which no other process may have open, and reads its messages, oldest first.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<MessageId>), Error> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A record that a crash left half written was not noted: its question was not answered.
        let ids: Vec<MessageId> = bytes.chunks(RECORD).map_while(decode).collect();
        if ids.is_empty() && bytes.len() >= RECORD {
            return Err(Error::new(ErrorKind::InvalidData, "it is no memory of messages"));
        }
        let mut log = Self { path: path.into(), file, records: ids.len() as u64 };
        log.cut()?;
        sync_folder(path)?;
        Ok((log, ids))
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Appends messages, and returns once the disk has them. After an error the file is as before, or can't
    /// be written any more.
    pub(super) fn append(&mut self, ids: &[MessageId]) -> Result<(), Error> {
        let bytes: Vec<u8> = ids.iter().flat_map(encode).collect();
        // A failed call before may have left a part of a record.
        self.cut()?;
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.records += ids.len() as u64;
        Ok(())
    }

    /// Removes the bytes behind the last whole record.
    fn cut(&mut self) -> Result<(), Error> {
        let len = self.records * RECORD as u64;
        if self.file.metadata()?.len() != len {
            self.file.set_len(len)?;
        }
        self.file.seek(SeekFrom::Start(len)).map(drop)
    }

    /// Replaces the file by a file with these messages alone. A crash leaves the old file or the new file.
    pub(super) fn replace(&mut self, ids: impl Iterator<Item = MessageId>) -> Result<(), Error> {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".new");
        let path = PathBuf::from(name);
        let bytes: Vec<u8> = ids.flat_map(|id| encode(&id)).collect();
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        lock(&file)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&path, &self.path)?;
        sync_folder(&self.path)?;
        self.file = file;
        self.records = (bytes.len() / RECORD) as u64;
        Ok(())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // A process that was forked a moment ago holds the lock as well, until it runs its own program.
        let _ = self.file.unlock();
    }
}

fn lock(file: &File) -> Result<(), Error> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::new(
            ErrorKind::ResourceBusy,
            "another process or memory has it open; give each its own file",
        )),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Makes the disk keep the names in the folder of `path`, as well as the files.
fn sync_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
