//! Network namespaces, of which each has its own connections with the same addresses.

use crate::machine::Machine;
use crate::needs::{has, has_root};
use crate::strangers::{answer, hand_over};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A namespace, which is removed when the value is dropped.
pub(crate) struct Namespace(pub(crate) String);

impl Namespace {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let namespace = Self(format!("bsd-{}-{number}", std::process::id()));
        assert!(ip(&["netns", "add", &namespace.0]));
        namespace
    }

    /// Returns the command of a program in the namespace, whose environment has some more variables.
    pub(crate) fn command(&self, program: impl AsRef<Path>, more: &[String]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, "env"]).args(more).arg(program.as_ref());
        command
    }

    /// Does something in the namespace.
    fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let name = File::open(Path::new("/run/netns").join(&self.0)).unwrap();
        let acting = || {
            // Of this thread alone.
            move_into_link_name_space(name.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            what()
        };
        std::thread::scope(|scope| scope.spawn(acting).join().unwrap())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.0]);
    }
}

pub(crate) fn ip(arguments: &[&str]) -> bool {
    Command::new("ip").args(arguments).status().unwrap().success()
}

/// Returns the ends of a connection with these ports.
fn ends() -> (OwnedFd, OwnedFd) {
    let [from, to] = [7001, 7000].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let listener = TcpListener::bind(to).unwrap();
    let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&client, &from).unwrap();
    connect(&client, &to).unwrap();
    (client, listener.accept().unwrap().0.into())
}

/// Each end gets the memory of its own connection, in any order of asking.
#[test]
fn connections_of_two_namespaces_with_equal_addresses_are_not_mixed() {
    if !has_root() || !has("ip") {
        return;
    }
    let machine = Machine::start();
    let connections = [(); 2].map(|()| {
        let namespace = Namespace::new();
        assert!(ip(&["-n", &namespace.0, "link", "set", "lo", "up"]));
        let ends = namespace.within(ends);
        (namespace, ends)
    });
    let [(_first, (client, server)), (_second, (its_client, its_server))] = connections;
    let early = hand_over(&machine, client.as_fd());
    let its_early = hand_over(&machine, its_server.as_fd());
    // These are the ends of no connection.
    early.set_nonblocking(true).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!((&early).read(&mut [0]).is_err());
    early.set_nonblocking(false).unwrap();
    let its_late = hand_over(&machine, its_client.as_fd());
    let late = hand_over(&machine, server.as_fd());
    let answers = [&early, &late, &its_early, &its_late].map(answer);
    assert_eq!(answers.each_ref().map(|(code, _)| *code), [1, 2, 1, 2]);
    let [memory, same, its_memory, its_same] = answers.map(|(_, memory)| memory.unwrap());
    memory.write_all_at(b"here", 8192).unwrap();
    its_memory.write_all_at(b"over", 8192).unwrap();
    for (memory, word) in [(same, b"here"), (its_same, b"over")] {
        let mut seen = [0; 4];
        memory.read_exact_at(&mut seen, 8192).unwrap();
        assert_eq!(&seen, word);
    }
}
