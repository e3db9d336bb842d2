//! The trial of a library in a process of its own, before the daemon opens it: what ends that process would end the daemon.

use bertha_core::{Error, ErrorKind};
use bertha_managed::plugin::Plugin;
use bertha_program::say;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Time for a trial. An order has five seconds.
const WITHIN: Duration = Duration::from_secs(3);

/// Number of bytes of what a process of a trial says that are read.
const HEARD: u64 = 64 << 10;

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

/// Has another process of a program open a library.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) with the end of the process, if it did not survive. The errors of the system.
pub(crate) async fn judge(program: &Path, library: &Path) -> Result<(), Error> {
    let mut command = Command::new(program);
    command.arg("--try-library").arg(library).kill_on_drop(true);
    let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let ended = timeout(WITHIN, async {
        let mut heard = Vec::new();
        if let Some(said) = process.stdout.take() {
            said.take(HEARD).read_to_end(&mut heard).await?;
        }
        let status = process.wait().await?;
        Ok::<_, Error>((status, String::from_utf8_lossy(&heard).contains(SURVIVED)))
    });
    let what = match ended.await {
        Err(_) => format!("took longer than {} seconds", WITHIN.as_secs()),
        Ok(ended) => match ended? {
            (status, true) if status.success() => return Ok(()),
            (status, _) => format!("ended its process with {}", end(status)),
        },
    };
    let what = format!("{} is not loaded: in a trial it {what}", library.display());
    Err(Error::new(ErrorKind::Invalid, what))
}

/// Returns the end of a process in words.
fn end(status: ExitStatus) -> String {
    let Some(signal) = status.signal() else {
        return status.code().map_or_else(|| "no code".into(), |code| format!("code {code}"));
    };
    let named = match signal {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    named.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_names() {
        let ends = [0x0b, 0x04, 0x1e, 0x0300].map(|status| end(ExitStatus::from_raw(status)));
        assert_eq!(ends, ["SIGSEGV", "SIGILL", "signal 30", "code 3"]);
    }
}
