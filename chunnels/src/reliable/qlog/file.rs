//! The files of a folder, one for each connection.

use super::wall_clock::WallClock;
use bertha_core::Error;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The number of names that are tried for a file.
const ATTEMPTS: usize = 100;

/// Makes a folder, unless it is there. Nobody but the owner of a new folder may look into it.
///
/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if there is a file at `path` or the process may not make the folder; the errors of the
/// system.
pub(super) fn make_folder(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| {
        Error::of_file(format_args!("cannot make the folder of qlogs {}", path.display()), error)
    })
}

/// Creates a file, whose name begins with a number that `next` returns. A file that is there, of whatever kind, is neither opened nor
/// replaced: the next number is tried.
///
/// # Errors
/// The path that was tried last, and the error of the system.
pub(super) fn create(
    folder: &Path,
    mut next: impl FnMut() -> u64,
    vantage: &str,
    clock: WallClock,
) -> Result<(u64, PathBuf, File), (PathBuf, io::Error)> {
    let process = std::process::id();
    let mut attempts = 0;
    loop {
        let number = next();
        let path = folder.join(format!("{number:06}-{}-{process}-{vantage}.sqlog", clock.compact()));
        // Never follows a link, since it creates the file or fails.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return Ok((number, path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < ATTEMPTS => {
                attempts += 1
            }
            Err(error) => return Err((path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_file_is_new_private_and_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let clock = WallClock::at(UNIX_EPOCH);
        let mut numbers = 1..;
        let mut create = || create(folder.path(), || numbers.next().unwrap(), "client", clock);
        let (number, first, _) = create().unwrap();
        assert_eq!(number, 1);
        let name = format!("000001-19700101T000000.000Z-{}-client.sqlog", std::process::id());
        assert_eq!(first.file_name().unwrap().to_str().unwrap(), name);
        assert_eq!(fs::metadata(&first).unwrap().mode() & 0o777, 0o600);
        // Another process was here before: with a link to its victim, and with a file.
        let victim = folder.path().join("victim");
        symlink(&victim, folder.path().join(name.replace("000001", "000002"))).unwrap();
        fs::write(folder.path().join(name.replace("000001", "000003")), "old").unwrap();
        assert_eq!(create().unwrap().0, 4);
        assert!(!victim.exists());
        assert_eq!(fs::read(folder.path().join(name.replace("000001", "000003"))).unwrap(), b"old");
    }

    #[test]
    fn names_are_not_tried_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let create = || create(folder.path(), || 7, "client", WallClock::at(UNIX_EPOCH));
        create().unwrap();
        assert_eq!(create().unwrap_err().1.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_new_folder_is_private_and_a_file_is_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("a/b");
        make_folder(&new).unwrap();
        make_folder(&new).unwrap();
        assert_eq!(fs::metadata(&new).unwrap().mode() & 0o777, 0o700);
        fs::write(new.join("file"), "").unwrap();
        assert!(make_folder(&new.join("file")).unwrap_err().to_string().contains("a/b/file"));
    }
}
