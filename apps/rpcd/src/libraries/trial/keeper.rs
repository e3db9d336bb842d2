//! The keeper of a trial: a process that ends all that a library has started, wherever that has gone.
//!
//! A process that loses its parent gets the nearest that has asked for this, which the keeper does before it starts the trial. So all that is
//! left of a trial are children of the keeper in the end, also processes of other groups and sessions, and their children.

use super::{SURVIVED, TO_END, WITHIN};
use bertha_core::Error;
use bertha_program::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, set_child_subreaper, wait,
};
use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Time between two looks for processes that are left.
const PAUSE: Duration = Duration::from_millis(2);

/// Tries a library in a process of its own, and says what became of it.
///
/// # Errors
/// The errors of the system.
pub(crate) fn keep(library: &Path) -> Result<(), Error> {
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
    let mut command = Command::new("/proc/self/exe");
    command.arg("--open-library").arg(library);
    let mut trial = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let ended = in_time(&mut trial);
    let has_left = end_all()?;
    say(match ended? {
        None => format!("took longer than {} seconds", WITHIN.as_secs()),
        Some(_) if has_left => "left a process behind".into(),
        Some((status, true)) if status.success() => SURVIVED.into(),
        Some((status, _)) => format!("ended its process with {}", end(status)),
    });
    Ok(())
}

/// Waits for the end of a trial. Returns its status, and true if it has said that it survived the library; nothing if it takes too long.
fn in_time(trial: &mut Child) -> io::Result<Option<(ExitStatus, bool)>> {
    let process = pidfd_open(Pid::from_child(trial), PidfdFlags::empty())?;
    let within = Timespec { tv_sec: WITHIN.as_secs() as i64, tv_nsec: 0 };
    // Nothing is read before: one that says more than a pipe takes does not end in time.
    if poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&within))? == 0 {
        return Ok(None);
    }
    let status = trial.wait()?;
    let mut heard = Vec::new();
    if let Some(mut said) = trial.stdout.take() {
        // A process that is left may have the pipe, which does not end then.
        ioctl_fionbio(&said, true)?;
        match said.read_to_end(&mut heard) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(Some((status, String::from_utf8_lossy(&heard).contains(SURVIVED))))
}

/// Ends all children, and those that become children when they lose their parents. Returns true if there were any. Those that start others
/// faster than they are ended are given up in the end.
fn end_all() -> io::Result<bool> {
    let until = Instant::now() + TO_END / 2;
    let mut were_there = false;
    loop {
        match wait(WaitOptions::NOHANG) {
            // One has ended.
            Ok(Some(_)) => continue,
            Err(Errno::CHILD) => break,
            Err(error) => return Err(error.into()),
            Ok(None) => were_there = true,
        }
        // Nobody else gets the number of a child before this process has waited for it.
        for child in children()? {
            kill_process(child, Signal::KILL)?;
        }
        if Instant::now() > until {
            break;
        }
        thread::sleep(PAUSE);
    }
    Ok(were_there)
}

/// Returns the children of this process.
fn children() -> io::Result<Vec<Pid>> {
    let parent = getpid().as_raw_nonzero().get();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
            continue;
        };
        // One that has ended meanwhile is no child any more.
        let Ok(stat) = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())) else { continue };
        if parent_in(&stat) == Some(parent) {
            children.push(pid);
        }
    }
    Ok(children)
}

/// Returns the number of the parent in the status of a process: `1 (name) S 0 ..`, where the name may have any bytes.
fn parent_in(stat: &[u8]) -> Option<i32> {
    let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(stat.get(behind_name..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
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

    #[test]
    fn the_parent_is_found_behind_any_name() {
        for (stat, parent) in [
            (&b"7 (cat) S 12 7 7 0"[..], Some(12)),
            (b"7 (a) R 1 (\xff) S 12 7", Some(12)),
            (b"7 (cat", None),
            (b"7 (cat) S", None),
            (b"", None),
        ] {
            assert_eq!(parent_in(stat), parent);
        }
    }
}
