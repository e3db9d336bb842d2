//! Relays, asked for as the library does.

use crate::machine::{Machine, as_user};
use crate::needs::{has_descriptors, has_root};
use crate::strangers::{connection, hear, say};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::sockopt::set_socket_linger;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn memory() -> File {
    memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap().into()
}

/// Asks for a relay with some descriptors.
fn ask(machine: &Machine, files: &[BorrowedFd<'_>]) -> UnixStream {
    say(machine, b"bersock~", files)
}

/// Returns the socket that comes with the reply.
fn reply(daemon: &UnixStream) -> Option<TcpStream> {
    let (bytes, file) = hear::<8>(daemon);
    let stream = TcpStream::from(file?);
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(bytes[0], 1);
    Some(stream)
}

/// Has a socket take the place of another, before whose bytes these come.
fn relayed(machine: &Machine, carrier: TcpStream, unread: &[u8]) -> TcpStream {
    begun(machine, carrier, unread, unread.len() as u64)
}

fn begun(machine: &Machine, carrier: TcpStream, unread: &[u8], told: u64) -> TcpStream {
    let mut file = memory();
    let mut daemon = ask(machine, &[carrier.as_fd(), file.as_fd()]);
    let stream = reply(&daemon).unwrap();
    file.write_all(unread).unwrap();
    daemon.write_all(&told.to_le_bytes()).unwrap();
    stream
}

fn read(mut stream: &TcpStream, bytes: usize) -> Vec<u8> {
    let mut read = vec![0; bytes];
    stream.read_exact(&mut read).unwrap();
    read
}

#[test]
fn unread_bytes_come_before_those_of_the_socket_and_ends_pass() {
    let machine = Machine::start();
    let (mut client, server) = connection();
    client.write_all(b"third").unwrap();
    let mut program = relayed(&machine, server, b"first second ");
    assert_eq!(read(&program, 18), b"first second third");
    // More than all buffers hold, while nobody reads.
    let much: Vec<_> = (0..20_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| (&client).write_all(&much).unwrap());
        std::thread::sleep(Duration::from_millis(200));
        assert!(read(&program, much.len()) == much);
    });
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(program.read(&mut [0]).unwrap(), 0);
    program.write_all(b"goes on").unwrap();
    assert_eq!(read(&client, 7), b"goes on");
    let list = machine.list();
    assert!(list.len() == 1 && list[0][3] == "relay", "{list:?}");
    drop(program);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    for _ in 0..500 {
        if machine.list().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", machine.list());
}

/// The addresses are those of the connection, but for the ports.
#[test]
fn a_relay_has_the_addresses_of_its_connection() {
    let machine = Machine::start();
    let mut ends = vec![connection()];
    if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        ends.push((client, listener.accept().unwrap().0));
    }
    for (_client, server) in ends {
        let (local, peer) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
        let program = relayed(&machine, server, b"");
        assert_eq!(program.local_addr().unwrap().ip(), local.ip());
        assert_eq!(program.peer_addr().unwrap().ip(), peer.ip());
    }
}

fn is_reset(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    matches!(stream.read(&mut [0; 64]), Err(error) if error.kind() == ErrorKind::ConnectionReset)
}

#[test]
fn a_cut_passes_and_is_no_end() {
    let mut machine = Machine::start();
    for is_peer in [true, false] {
        let (client, server) = connection();
        let program = relayed(&machine, server, b"");
        let (cut, other) = if is_peer { (client, program) } else { (program, client) };
        set_socket_linger(&cut, Some(Duration::ZERO)).unwrap();
        drop(cut);
        assert!(is_reset(&other));
    }
    // One of which the program has heard already.
    let (client, server) = connection();
    let program = begun(&machine, server, b"before", 6 | 1 << 63);
    assert_eq!(read(&program, 6), b"before");
    assert!(is_reset(&program) && is_reset(&client));
    let (client, server) = connection();
    let program = relayed(&machine, server, b"");
    // So that the daemon has begun.
    (&client).write_all(b"x").unwrap();
    assert_eq!(read(&program, 1), b"x");
    machine.kill_daemon();
    assert!(is_reset(&program) && is_reset(&client));
}

#[test]
fn a_program_that_lies_loses_its_own_connection_alone() {
    let machine = Machine::start();
    let (unix, _other) = UnixStream::pair().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (client, server) = connection();
    let (file, file_of_a_disk) = (memory(), File::open("/proc/self/exe").unwrap());
    for files in [
        &[unix.as_fd(), file.as_fd()][..],
        &[listener.as_fd(), file.as_fd()],
        &[server.as_fd(), file_of_a_disk.as_fd()],
        &[file.as_fd(), server.as_fd()],
        &[server.as_fd()],
        &[server.as_fd(), file.as_fd(), file.as_fd()],
    ] {
        assert!(reply(&ask(&machine, files)).is_none());
    }
    // Nothing has happened to the socket.
    (&client).write_all(b"here").unwrap();
    assert_eq!(read(&server, 4), b"here");
    let (_, good) = connection();
    let good = relayed(&machine, good, b"good");
    for length in [5, (128 << 20) + 1, u64::MAX] {
        let (client, server) = connection();
        let mut daemon = ask(&machine, &[server.as_fd(), file.as_fd()]);
        let program = reply(&daemon).unwrap();
        daemon.write_all(&length.to_le_bytes()).unwrap();
        assert!(is_reset(&program) && is_reset(&client), "{length}");
    }
    // One that says nothing more, and one that has its socket wait.
    let (client, server) = connection();
    let program = reply(&ask(&machine, &[server.as_fd(), file.as_fd()])).unwrap();
    assert!(is_reset(&program) && is_reset(&client));
    let (_client, server) = connection();
    let copy = server.try_clone().unwrap();
    let _program = relayed(&machine, server, b"");
    copy.set_nonblocking(false).unwrap();
    assert_eq!(read(&good, 4), b"good");
}

/// One more relay than there are places costs one of the user who has most.
#[test]
fn a_user_with_many_relays_takes_none_from_others() {
    const RELAYS: usize = 1100;
    if !has_root() || !has_descriptors(4 * RELAYS as u64) {
        return;
    }
    let machine = Machine::start();
    machine.open_folder();
    let (client, server) = connection();
    let own = relayed(&machine, server, b"own");
    let many: Vec<_> = as_user(65534, || {
        let relay = |_| {
            let (client, server) = connection();
            (client, relayed(&machine, server, b""))
        };
        (0..RELAYS).map(relay).collect()
    });
    assert!(is_reset(&many[0].1) && is_reset(&many[0].0));
    let (client_of_last, last) = &many[RELAYS - 1];
    let mut writing = client_of_last;
    writing.write_all(b"last").unwrap();
    assert_eq!(read(last, 4), b"last");
    (&client).write_all(b" goes on").unwrap();
    assert_eq!(read(&own, 11), b"own goes on");
    assert!(as_user(65534, || machine.list()).len() <= 1023);
}

#[test]
fn an_idle_relay_takes_no_time() {
    let machine = Machine::start();
    let relays: Vec<_> = (0..20)
        .map(|_| {
            let (client, server) = connection();
            let program = relayed(&machine, server, b"x");
            assert_eq!(read(&program, 1), b"x");
            // A direction that has ended, too.
            client.shutdown(Shutdown::Write).unwrap();
            (client, program)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    let before = machine.time();
    std::thread::sleep(Duration::from_secs(2));
    let spent = machine.time() - before;
    assert!(spent <= 5, "{spent} ticks");
    drop(relays);
}
