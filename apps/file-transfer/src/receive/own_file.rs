//! Files that the receiver writes, in a folder where another user may have put links.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file with these options. A symbolic link at the path is not followed: it would lead to a file that the receiver
/// has not written.
///
/// # Errors
/// The errors of the system; [`InvalidInput`](io::ErrorKind::InvalidInput) with a reason if there is a link.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    options.custom_flags(flags).open(path).map_err(|error| match path.is_symlink() {
        true => io::Error::new(
            io::ErrorKind::InvalidInput,
            "a symbolic link is in the place of the file; remove it, and receive into a folder of your own",
        ),
        false => error,
    })
}

/// Creates a file, or empties the file at the path.
///
/// # Errors
/// Errors of [`open`].
pub(super) fn create(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().write(true).create(true).truncate(true), path)
}
