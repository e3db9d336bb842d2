//! The trial of a library in a process of its own, before the daemon opens it: what ends that process would end the daemon.

mod keeper;

use bertha_core::{Error, ErrorKind};
use bertha_managed::plugin::Plugin;
use bertha_program::say;
pub(crate) use keeper::keep;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;
use tokio::time::timeout;

/// Time for a trial. An order has five seconds.
const WITHIN: Duration = Duration::from_secs(3);

/// Time for its keeper to end what is left behind.
const TO_END: Duration = Duration::from_secs(1);

/// The words at the end of a trial.
const SURVIVED: &str = "the process has survived the library";

/// Opens a library in this process, and has an engine of it work on nothing.
pub(crate) fn run(library: &Path) {
    // The daemon finds out itself what is wrong with a library that does not end its process.
    if let Ok(library) = Plugin::load(library) {
        library.try_out();
    }
    say(SURVIVED);
}

/// Has other processes of a program open a library, and end all that it starts.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) with what became of the process that has opened it, if it did not survive or left others behind. The errors
/// of the system.
pub(crate) async fn judge(program: &Path, library: &Path) -> Result<(), Error> {
    let mut command = Command::new(program);
    command.arg("--try-library").arg(library).kill_on_drop(true);
    let keeper = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let what = match timeout(WITHIN + TO_END, keeper.wait_with_output()).await {
        Err(_) => "left processes behind that do not end".into(),
        Ok(kept) => match String::from_utf8_lossy(&kept?.stdout).trim() {
            SURVIVED => return Ok(()),
            "" => "ended the process that keeps it".into(),
            what => what.to_owned(),
        },
    };
    let what = format!("{} is not loaded: in a trial it {what}", library.display());
    Err(Error::new(ErrorKind::Invalid, what))
}
