//! The folder of a user's sockets.

use bertha_core::{Error, ErrorKind};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Longest part of a program's name in the name of a socket, whose path is at most 107 bytes long.
const MOST_NAME: usize = 24;

/// Returns the folder in which the programs of this user have their sockets: `$XDG_RUNTIME_DIR/bertha`, or
/// `/tmp/bertha-UID`.
pub fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(runtime) if Path::new(&runtime).is_absolute() => Path::new(&runtime).join("bertha"),
        _ => PathBuf::from(format!("/tmp/bertha-{}", geteuid().as_raw())),
    }
}

/// Makes the folder, unless it is there, and checks that it belongs to this user alone.
///
/// # Errors
/// [`ErrorKind::Unauthenticated`] if another user can change the folder; errors of the system.
pub(crate) fn prepare(folder: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(named(folder, error)),
        _ => {}
    }
    check(folder)
}

/// Checks that the folder belongs to this user alone, or to this user's root.
///
/// # Errors
/// [`ErrorKind::Unauthenticated`] if another user can change the folder; errors of the system.
pub(crate) fn check(folder: &Path) -> Result<(), Error> {
    // The link itself, if it is one: in /tmp, any user can put one in the way.
    let found = fs::symlink_metadata(folder).map_err(|error| named(folder, error))?;
    let problem = if !found.is_dir() {
        "it is no folder".into()
    } else if found.uid() != geteuid().as_raw() {
        format!("it belongs to user {}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!("other users may change it (mode {:04o})", found.mode() & 0o7777)
    } else {
        return Ok(());
    };
    let what = format!(
        "{}: {problem}; sockets that show connections lie in a folder of their user alone",
        folder.display()
    );
    Err(Error::new(ErrorKind::Unauthenticated, what))
}

/// Returns the path of this process's socket.
pub(crate) fn socket(folder: &Path, program: &str) -> PathBuf {
    let name: String =
        program.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(MOST_NAME).collect();
    let name = if name.is_empty() { "program" } else { &name };
    folder.join(format!("{name}-{}.sock", std::process::id()))
}

/// Returns true if the path itself is a socket, and no link or file.
pub(crate) fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Returns the error with the path in its text.
pub(crate) fn named(path: &Path, error: io::Error) -> Error {
    let source = Error::from(error);
    Error::new(source.kind(), format!("{}: {source}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn only_a_folder_of_this_user_alone_is_taken() {
        let scene = tempfile::tempdir().unwrap();
        let mine = scene.path().join("mine");
        prepare(&mine).unwrap();
        prepare(&mine).unwrap();
        assert_eq!(fs::metadata(&mine).unwrap().mode() & 0o777, 0o700);
        let link = scene.path().join("link");
        symlink(&mine, &link).unwrap();
        let refused = prepare(&link).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unauthenticated);
        fs::set_permissions(&mine, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(check(&mine).unwrap_err().to_string().contains("mode 0770"));
        assert!(prepare(&scene.path().join("no/folder")).unwrap_err().to_string().contains("no/folder"));
    }

    #[test]
    fn any_name_of_a_program_makes_a_short_path() {
        let long = "x".repeat(500);
        for program in ["", "../../etc/passwd", "a b\n/", long.as_str()] {
            let path = socket(Path::new("/run/user/1000/bertha"), program);
            assert_eq!(path.parent(), Some(Path::new("/run/user/1000/bertha")));
            assert!(path.as_os_str().len() < 107, "{path:?}");
        }
    }
}
