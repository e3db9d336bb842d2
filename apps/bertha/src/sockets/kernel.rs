//! TCP sockets of programs under `bertha run` of which their daemon has not heard, as the kernel lists them in `/proc`: those of the processes of
//! the person who asks, or of all for root.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The file that a process under `bertha run` has in its memory.
const LIBRARY: &str = "/libbertha_sockets.so";

/// The variable with the path of the daemon that serves a process.
const DAEMON: &[u8] = b"BERTHA_SOCKETS=";

/// The two addresses of a connection.
type Ends = (SocketAddr, SocketAddr);

/// Returns a line for each connection that has none among `known`, the lines of the daemon at this path.
pub(super) fn lines(known: &str, daemon: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = process.file_name();
        let Some(number) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        if is_served(&process.path(), daemon) {
            lines.extend(lines_of(&process.path(), number));
        }
    }
    // A child that shares a socket is another process than the daemon knows.
    let ends = |line: &str| line.split('\t').skip(1).take(2).map(str::to_owned).collect::<Vec<_>>();
    let known: Vec<_> = known.lines().map(ends).collect();
    lines.retain(|line| !known.contains(&ends(line)));
    lines
}

/// Returns true if a process was started by `bertha run` with this daemon.
fn is_served(process: &Path, daemon: &Path) -> bool {
    let has_library = fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(LIBRARY));
    let is_daemon = |variable: &[u8]| variable.strip_prefix(DAEMON) == Some(daemon.as_os_str().as_bytes());
    has_library
        && fs::read(process.join("environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(is_daemon))
}

fn lines_of(process: &Path, number: &str) -> Vec<String> {
    let connections: HashMap<_, _> = ["net/tcp", "net/tcp6"]
        .iter()
        .flat_map(|table| fs::read_to_string(process.join(table)))
        .flat_map(|table| table.lines().filter_map(connection).collect::<Vec<_>>())
        .collect();
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.to_str()?.to_owned())).collect();
    let has_uring = names.iter().any(|name| name == "anon_inode:[io_uring]");
    // A socket may have many descriptors.
    names.sort_unstable();
    names.dedup();
    let found = names.iter().filter_map(|name| {
        let socket: u64 = name.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        connections.get(&socket)
    });
    let line = |ends: &Ends| {
        let (local, peer) = ends;
        format!("{number}\t{local}\t{peer}\tkernel\t0\t-\t{}", reason(*ends, has_uring))
    };
    found.map(line).collect()
}

fn reason((local, peer): Ends, has_uring: bool) -> &'static str {
    let is_near = local.ip() == peer.ip() || local.ip().is_loopback() && peer.ip().is_loopback();
    match (is_near, has_uring) {
        (false, _) => "the other end is on another machine",
        (_, true) => "an io_uring",
        _ => "little was carried, or a rule or its use keeps it there",
    }
}

/// Reads a line of the kernel's table: the number of an established connection's socket, and its ends.
fn connection(line: &str) -> Option<(u64, Ends)> {
    let mut fields = line.split_whitespace().skip(1);
    let (local, peer, state) = (address(fields.next()?)?, address(fields.next()?)?, fields.next()?);
    let socket = fields.nth(5)?.parse().ok()?;
    (state == "01").then_some((socket, (local, peer)))
}

/// Reads an address, of which each four bytes are a number of this machine.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = [0; 16];
    for (word, at) in bytes.chunks_exact_mut(4).zip((0..ip.len()).step_by(8)) {
        word.copy_from_slice(&u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match ip.len() {
        8 => IpAddr::from(*bytes.first_chunk::<4>()?),
        32 => IpAddr::from(bytes).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_connections_of_a_process_are_found_by_their_addresses() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (local, peer) = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            let lines = lines_of(Path::new("/proc/self"), "1");
            let wanted = format!("1\t{local}\t{peer}\tkernel\t0\t-\t");
            assert_eq!(lines.iter().filter(|line| line.starts_with(&wanted)).count(), 1, "{lines:?}");
            // The listener is no connection.
            assert!(lines.iter().all(|line| !line.contains("\t0.0.0.0:0\t")), "{lines:?}");
        }
    }

    #[test]
    fn a_peer_elsewhere_is_the_reason() {
        let ends = |local: &str, peer: &str| (local.parse().unwrap(), peer.parse().unwrap());
        assert!(reason(ends("10.0.0.1:1", "10.0.0.2:2"), true).contains("another machine"));
        assert!(reason(ends("10.0.0.1:1", "10.0.0.1:2"), true).contains("io_uring"));
        assert!(reason(ends("127.0.0.1:1", "127.0.0.2:2"), false).contains("little"));
    }

    #[test]
    fn addresses_are_those_of_the_kernel() {
        // As on machines whose numbers begin with the least significant byte.
        let wanted =
            [("0100007F:1F90", "127.0.0.1:8080"), ("0000000000000000FFFF00000100007F:0035", "127.0.0.1:53")];
        for (text, wanted) in wanted.iter().filter(|_| cfg!(target_endian = "little")) {
            assert_eq!(address(text), wanted.parse().ok());
        }
        assert_eq!([address("0100007F"), address("0100:1"), address("x:1")], [None; 3]);
    }
}
