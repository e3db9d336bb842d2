//! A program that picks a socket of a group.

use crate::{Instruction, call};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// `BPF_PROG_TYPE_SOCKET_FILTER`.
const SOCKET_FILTER: u32 = 1;

/// The length of the verifier's log, in bytes.
const LOG: usize = 64 << 10;

/// A program that the kernel has verified, of the type that reads messages of sockets.
#[derive(Debug)]
pub struct Program {
    loaded: OwnedFd,
}

impl Program {
    /// Loads a program.
    ///
    /// # Errors
    /// `PermissionDenied` if the process may not load programs; `InvalidInput` with the last line of the
    /// verifier's log if it rejects the program; further errors of the system.
    pub fn load(instructions: &[Instruction]) -> io::Result<Self> {
        let code: Vec<_> = instructions.iter().map(|instruction| instruction.encode()).collect();
        // Without a log, which most programs don't need.
        let error = match call::load(SOCKET_FILTER, &code, &mut []) {
            Ok(loaded) => return Ok(Self { loaded }),
            Err(error) => error,
        };
        if !matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) {
            return Err(error);
        }
        let mut log = vec![0; LOG];
        match call::load(SOCKET_FILTER, &code, &mut log) {
            Ok(loaded) => Ok(Self { loaded }),
            Err(error) => Err(with_log(error, &log)),
        }
    }

    /// Lets the program pick the socket of each message to the group of `socket`: it returns the number of a
    /// socket, counted in the order in which the sockets joined the group.
    ///
    /// # Errors
    /// `InvalidInput` if `socket` is in no group: none has `SO_REUSEPORT` and the same address.
    pub fn attach(&self, socket: impl AsFd) -> io::Result<()> {
        let program = self.loaded.as_raw_fd();
        // SAFETY: the option's value is an `int`, which `program` is, and which lives until the call returns.
        let returned = unsafe {
            libc::setsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_REUSEPORT_EBPF,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Adds the end of the verifier's log to an error.
fn with_log(error: io::Error, log: &[u8]) -> io::Error {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]);
    let last = log.lines().rfind(|line| !line.is_empty() && !line.starts_with("processed "));
    match last {
        Some(last) => io::Error::new(error.kind(), format!("{error}: {last}")),
        None => error,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_last_finding_is_told() {
        let mut log = vec![0; 100];
        let text = b"0: (95) exit\nR0 !read_ok\nprocessed 1 insns\n\n";
        log[..text.len()].copy_from_slice(text);
        let error = with_log(io::ErrorKind::PermissionDenied.into(), &log);
        assert_eq!(
            (error.kind(), error.to_string()),
            (io::ErrorKind::PermissionDenied, "permission denied: R0 !read_ok".into())
        );
        assert_eq!(with_log(io::ErrorKind::InvalidInput.into(), &[0]).to_string(), "invalid input parameter");
    }
}
