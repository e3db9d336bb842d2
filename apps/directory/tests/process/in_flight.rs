//! A directory whose user may have few descriptors on their way, and a service that does not read.

use bertha_local::Directory;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketType, connect, recv, sendmsg, socket,
};
use std::fs::{Permissions, copy, set_permissions};
use std::io::{BufRead, BufReader, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// By this a process of this program is told to be the attacker at a directory.
const SOCKET: &str = "BERTHA_TEST_DEAF";

/// The users of the directory and of the attacker.
const OWNER: u32 = 4_242;
const ATTACKER: u32 = 65_534;

/// The descriptors of the directory, and as many may be on their way.
const DESCRIPTORS: usize = 128;

/// The first byte of the answer to a visit that has arrived.
const VISITING: u8 = 4;

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Asks, with these descriptors, and returns the first byte of the answer.
fn asked(socket: &OwnedFd, request: &[u8], files: &[impl AsFd]) -> u8 {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    assert!(files.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(socket, &[IoSlice::new(request)], &mut ancillary, SendFlags::NOSIGNAL).unwrap();
    let mut answer = [0; 8192];
    let (_, read) = recv(socket, &mut answer, RecvFlags::empty()).unwrap();
    assert!(read > 0, "the directory has hung up");
    answer[0]
}

fn connected(path: &Path) -> OwnedFd {
    let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

/// Enters a service of this name.
fn registered(path: &Path, name: &str) -> OwnedFd {
    let service = connected(path);
    let request = [&[0, name.len() as u8], name.as_bytes(), &[0]].concat();
    assert_eq!(asked(&service, &request, &[] as &[OwnedFd]), 0, "{name} is not entered");
    service
}

fn visited(client: &OwnedFd, name: &str) -> u8 {
    let (_own, others) = UnixStream::pair().unwrap();
    asked(client, &[&[2, 0, name.len() as u8], name.as_bytes(), &[7; 32]].concat(), &[others])
}

/// Not a test of its own: a user whose services read nothing, and are visited by the same user. A service that has hung up keeps its
/// socket.
#[test]
fn an_attacker() {
    let Ok(path) = std::env::var(SOCKET) else { return };
    let path = Path::new(&path);
    let client = connected(path);
    let mut kept = Vec::new();
    for round in 0..3 * DESCRIPTORS {
        let name = format!("deaf-{round}");
        let service = registered(path, &name);
        while visited(&client, &name) == VISITING {}
        rustix::net::shutdown(&service, rustix::net::Shutdown::Both).unwrap();
        kept.push(service);
    }
    println!("\nattacked");
    std::thread::sleep(Duration::from_secs(600));
}

#[tokio::test(flavor = "current_thread")]
async fn a_user_whose_services_read_nothing_keeps_no_visitor_from_other_services() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can be several users");
        return;
    }
    let folder = TempDir::new().unwrap();
    set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("directory.sock");
    // The programs have to be where other users can run them.
    let [program, attacker] = ["directory", "attacker"].map(|name| folder.path().join(name));
    copy(env!("CARGO_BIN_EXE_bertha-directory"), &program).unwrap();
    copy(std::env::current_exe().unwrap(), &attacker).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"")]).arg(&program);
    command.arg("--socket").arg(&path).arg("serve").uid(OWNER).gid(OWNER);
    let _directory = started(&mut command);
    // A client of its own each time, since a silence is remembered.
    while Directory::at(&path).patience(Duration::from_secs(60)).lookup("any").await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut command = Command::new(&attacker);
    command
        .args(["--exact", "in_flight::an_attacker", "--nocapture"])
        .env(SOCKET, &path)
        .uid(ATTACKER)
        .gid(ATTACKER);
    let mut attacker = started(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(attacker.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "attacked"), "the attack does not come to its end");
    let service = registered(&path, "cart");
    let client = connected(&path);
    for number in 0..10 {
        assert_eq!(visited(&client, "cart"), VISITING, "visit {number}");
        recv(&service, &mut [0; 8192], RecvFlags::empty()).unwrap();
    }
}

/// Starts a program that was just copied, and may still be open for writing in a process that another test starts meanwhile.
fn started(command: &mut Command) -> Killed {
    loop {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            started => return Killed(started.unwrap()),
        }
    }
}
