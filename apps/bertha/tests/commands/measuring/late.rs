//! Servers, and a directory of the machine, that take connections and never say anything.

use super::program::{Server, bertha, failure, output};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// A socket that the kernel takes connections for.
fn silent(path: &Path, kind: SocketType) -> OwnedFd {
    let silent = socket(AddressFamily::UNIX, kind, None).unwrap();
    bind(&silent, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&silent, 64).unwrap();
    silent
}

#[test]
fn the_time_limit_of_connecting_holds_over_all_datapaths() {
    let folder = tempfile::tempdir().unwrap();
    let [shm, stream] = ["shm", "stream"].map(|name| folder.path().join(name));
    let _silent = [&shm, &stream].map(|path| UnixListener::bind(path).unwrap());
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp_address = tcp.local_addr().unwrap().to_string();
    let [shm, stream] = [shm, stream].map(|path| format!("unix:{}", path.display()));
    // Over shared memory the server has a part in the datapath's connection.
    let late = "did not take the connection within 300ms";
    let unanswered = "did not answer the offer";
    for (datapath, address, reason) in
        [("shm", &shm, late), ("unix-stream", &stream, unanswered), ("tcp", &tcp_address, unanswered)]
    {
        let told = failure(&["ping", address, "-d", datapath, "--timeout", "0.3"]);
        assert!(told.contains("timed out") && told.contains(reason), "{datapath}: {told}");
    }
}

#[test]
fn a_directory_that_says_nothing_stops_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.sock");
    let _silent = silent(&path, SocketType::SEQPACKET);
    let directory = ["--stack", "maybe-local", "--directory", path.to_str().unwrap()];
    let server = Server::start("127.0.0.1:0", &directory);
    let explained = output(&[&["explain", &server.address][..], &directory].concat());
    assert!(explained.contains("no shared memory"), "{explained}");
}

/// The warning goes to standard error, with the reason.
#[test]
fn a_server_that_is_not_entered_tells_why() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let mut server = bertha(&["perf", "--server", "127.0.0.1:0", "--stack", "maybe-local"]);
    server.args(["--directory", "/nowhere/directory.sock"]);
    let mut server = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let told = lines.next().unwrap().unwrap();
    assert!(told.contains("local clients reach by the network") && told.contains("/nowhere"), "{told}");
    let mut listening = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(listening.next().unwrap().unwrap().contains("listening on"));
    server.kill().unwrap();
    server.wait().unwrap();
}
