//! The place of a datapath's socket that the caller does not choose.

use super::own_path::OwnPath;
use super::unix::connect;
use crate::datapath::Datapath;
use bertha_core::Error;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The beginning of the names of such sockets.
const PREFIX: &str = "bertha-ccp-";

/// Maximum number of files that are looked at for sockets of processes that are gone.
const LOOKED_AT: usize = 4_096;

/// Connects to the agent at `agent` with a socket in the folder of the user's running programs, or else in that of
/// temporary files. Sockets of processes that were killed are removed there.
///
/// # Errors
/// Fails if the socket can't be made in any of the two.
pub(crate) fn connect_anywhere(agent: &Path) -> Result<Arc<Datapath>, Error> {
    let running = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // A relative path is none, as the specification of XDG_RUNTIME_DIR says.
    if let Some(folder) = running.filter(|folder| folder.is_absolute()) {
        match connect_in(&folder, agent) {
            Ok(datapath) => return Ok(datapath),
            Err(error) => tracing::debug!(%error, "CCP: no socket in XDG_RUNTIME_DIR"),
        }
    }
    connect_in(&std::env::temp_dir(), agent)
}

fn connect_in(folder: &Path, agent: &Path) -> Result<Arc<Datapath>, Error> {
    remove_left_behind(folder);
    // A name that nobody can foresee, so that no other user takes it before.
    let number = RandomState::new().hash_one(std::process::id());
    connect(&folder.join(format!("{PREFIX}{number:016x}")), agent)
}

/// Removes sockets of processes that are gone. The system refuses those of other users.
fn remove_left_behind(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.take(LOOKED_AT).flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            let _ = OwnPath::vacate(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn sockets_of_processes_that_are_gone_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        drop(UnixDatagram::bind(path("bertha-ccp-dead")).unwrap());
        drop(UnixDatagram::bind(path("anothers-dead")).unwrap());
        let _live = UnixDatagram::bind(path("bertha-ccp-live")).unwrap();
        std::fs::write(path("bertha-ccp-file"), "").unwrap();
        let datapath = connect_in(folder.path(), &path("agent")).unwrap();
        let left = || {
            let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
            names.collect::<Vec<_>>().len()
        };
        assert!(!path("bertha-ccp-dead").exists());
        assert_eq!(left(), 4, "three, and the own one");
        drop(datapath);
        assert_eq!(left(), 3);
    }
}
