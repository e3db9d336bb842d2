//! The folder of a daemon's socket.

use crate::cannot_listen;
use bertha_core::Error;
use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// The folder that each start of the system empties.
const RUN: &str = "/run";

/// Makes the folder of a daemon's socket if it is not there and lies in `/run`, which each start of the system empties. It gets the rights that
/// the process's mask leaves of `rwxr-xr-x`. No other folder is made: a path that is misspelt stays an error.
///
/// # Errors
/// The errors of the system.
pub fn make_socket_folder(socket: &Path) -> Result<(), Error> {
    make_in(Path::new(RUN), socket)
}

fn make_in(run: &Path, socket: &Path) -> Result<(), Error> {
    let Some(folder) = socket.parent().filter(|folder| folder.parent() == Some(run)) else { return Ok(()) };
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot_listen(socket.display(), error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_folder_of_that_of_the_system_is_made_and_no_other() {
        let run = std::env::temp_dir().join(format!("bertha-run-{}", std::process::id()));
        std::fs::create_dir(&run).unwrap();
        (0..2).for_each(|_| make_in(&run, &run.join("bertha/daemon.sock")).unwrap());
        assert_eq!(run.join("bertha").metadata().unwrap().mode() & 0o022, 0, "nobody else writes there");
        for other in ["a/b/daemon.sock", "../elsewhere/daemon.sock", "daemon.sock"] {
            make_in(&run, &run.join(other)).unwrap();
        }
        assert_eq!(std::fs::read_dir(&run).unwrap().count(), 1);
        make_socket_folder(Path::new("daemon.sock")).unwrap();
        std::fs::remove_dir_all(&run).unwrap();
        let error = make_in(&run, &run.join("bertha/daemon.sock")).unwrap_err().to_string();
        assert!(error.contains("bertha/daemon.sock"), "{error}");
    }
}
