//! The folder of a daemon's socket.

use crate::cannot_listen;
use bertha_core::Error;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes the folder of a daemon's socket if it is not there, with the rights that the process's mask leaves of `rwxr-xr-x`. The folders above
/// it are not made: `/run/bertha` is gone with each start of the system, and a path that is misspelt stays an error.
///
/// # Errors
/// The errors of the system.
pub fn make_socket_folder(socket: &Path) -> Result<(), Error> {
    let Some(folder) = socket.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !folder.exists() => {
            Err(cannot_listen(socket.display(), error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn the_folder_is_made_and_those_above_it_are_not() {
        let all = std::env::temp_dir().join(format!("bertha-folder-{}", std::process::id()));
        let socket = all.join("daemon.sock");
        (0..2).for_each(|_| make_socket_folder(&socket).unwrap());
        assert_eq!(all.metadata().unwrap().mode() & 0o022, 0, "nobody else writes there");
        let error = make_socket_folder(&all.join("a/b/daemon.sock")).unwrap_err().to_string();
        assert!(error.contains("a/b/daemon.sock"), "{error}");
        make_socket_folder(Path::new("daemon.sock")).unwrap();
        std::fs::remove_dir(all).unwrap();
    }
}
