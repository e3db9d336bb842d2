//! Errors of datagram sockets: which of them pass.

use bertha_core::{Error, ErrorKind};
use rustix::io::Errno;
use std::io;

/// The error of a call on a datagram socket. A datagram that the system refuses is lost, as one that the network drops, and the next may
/// leave: only an error of the socket itself ends a connection.
#[cold]
pub(crate) fn refusal(error: io::Error) -> Error {
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    match Errno::from_io_error(&error) {
        Some(errno) if is_passing_refusal(errno) => {
            let what = format!("messages do not leave for the peer at the moment: {error}");
            Error::new(ErrorKind::NotSent, what).because(error)
        }
        Some(errno) if is_of_socket(errno) => Error::from(error).ending_connection(),
        // The peer's port is closed. A process may open it.
        Some(_) => Error::from(error).sparing_connection(),
        None => error.into(),
    }
}

/// Returns true if the system refuses a datagram for a reason that may pass: a rule of the firewall (EPERM), a route of the type
/// `prohibit` (EACCES), `blackhole` (EINVAL) or `unreachable` (EHOSTUNREACH), or no route at all, a host that no neighbour knows
/// (EHOSTUNREACH), an interface that is down or lacks its address. RFC 1122, section 4.2.3.9, calls such reports soft errors.
fn is_passing_refusal(errno: Errno) -> bool {
    let passing = [
        Errno::PERM,
        Errno::ACCESS,
        Errno::INVAL,
        Errno::NETUNREACH,
        Errno::HOSTUNREACH,
        Errno::NETDOWN,
        Errno::NONET,
        Errno::ADDRNOTAVAIL,
    ];
    passing.contains(&errno)
}

/// Returns true if the socket itself can't be used, so that no later datagram can leave.
fn is_of_socket(errno: Errno) -> bool {
    [Errno::BADF, Errno::NOTSOCK, Errno::OPNOTSUPP, Errno::FAULT].contains(&errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: Errno) -> (ErrorKind, bool) {
        let error = refusal(errno.into());
        (error.kind(), error.ends_connection())
    }

    #[test]
    fn only_errors_of_the_socket_end_a_connection() {
        for errno in [Errno::PERM, Errno::ACCESS, Errno::INVAL, Errno::NETUNREACH] {
            assert_eq!(of(errno), (ErrorKind::NotSent, false), "{errno}");
        }
        for errno in [Errno::NETDOWN, Errno::NONET, Errno::HOSTUNREACH, Errno::ADDRNOTAVAIL] {
            assert_eq!(of(errno), (ErrorKind::NotSent, false), "{errno}");
        }
        assert_eq!(of(Errno::CONNREFUSED), (ErrorKind::Unreachable, false));
        assert_eq!(of(Errno::NOMEM), (ErrorKind::Exhausted, false));
        assert_eq!(of(Errno::IO), (ErrorKind::Io, false));
        for errno in [Errno::BADF, Errno::NOTSOCK] {
            assert!(of(errno).1, "{errno}");
        }
    }
}
