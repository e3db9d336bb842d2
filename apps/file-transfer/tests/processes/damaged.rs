//! Networks that damage bytes on their way, and compute the checksums of UDP and TCP anew.

use crate::encrypted::Certified;
use crate::program::{Scene, content, failure, program, sending, sha256, success};
use bertha_tests::DamagingProxy;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Lengths of the file for a stream, and of the file for datagrams, of which many have to be damaged.
const LEN: usize = 400_000;
const LONG: usize = 3_000_000;

/// Position of the damaged byte: behind the first chunk, within the second chunk.
const DAMAGED: usize = 200_000;

/// Sends a file through datagrams of which one in sixteen is damaged.
fn survives(receiver: &[&str], sender: &[&str], scene: &Scene, seed: u64) {
    let path = scene.file("file", LONG, seed);
    let receiver = scene.receiver("127.0.0.1:0", receiver);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let proxy = runtime.block_on(DamagingProxy::start(receiver.addr.parse().unwrap(), seed));
    let said = success(&sending(program(), &path, &proxy.addr().to_string(), sender).output().unwrap());
    assert!(said.contains(&sha256(&content(LONG, seed))), "seed {seed}: {said}");
    assert!(std::fs::read(scene.received("file")).unwrap() == content(LONG, seed), "seed {seed}");
    assert!(proxy.damaged() > 3, "seed {seed}: {}", proxy.damaged());
}

#[test]
fn damaged_datagrams_leave_the_file_whole() {
    survives(&[], &["--persistence", "0"], &Scene::new(), 1);
}

#[test]
fn damaged_datagrams_leave_the_file_whole_over_tls() {
    let scene = Scene::new();
    let server = Certified::write(&scene.here, "server", "127.0.0.1");
    let receiver = [&server.shown()[..], &["--require-encryption"]].concat();
    let sender = ["--tls-ca", &server.authority, "--require-encryption", "--persistence", "0"];
    survives(&receiver, &sender, &scene, 2);
}

/// Returns an address by which `server` is reached through a proxy that flips a bit of the first connection.
fn through_one_flip(server: &str) -> SocketAddr {
    let server: SocketAddr = server.parse().unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let at = (number == 0).then_some(DAMAGED);
            thread::spawn(move || forward(from, to, at));
            thread::spawn(move || forward(server, client, None));
        }
    });
    addr
}

/// Forwards bytes, with a bit of the byte at `damaged` flipped.
fn forward(mut from: TcpStream, mut to: TcpStream, damaged: Option<usize>) {
    let (mut piece, mut passed) = (vec![0; 64 << 10], 0);
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if let Some(byte) = damaged.and_then(|at| piece[..length].get_mut(at.checked_sub(passed)?)) {
            *byte ^= 1;
        }
        passed += length;
        if to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_file_that_a_stream_has_damaged_is_not_kept() {
    let scene = Scene::new();
    let path = scene.file("file", LEN, 3);
    let receiver = scene.receiver("127.0.0.1:0", &["--datapath", "tcp"]);
    let front = through_one_flip(&receiver.addr).to_string();
    let options = ["--datapath", "tcp", "--persistence", "0"];
    let said = failure(&sending(program(), &path, &front, &options).output().unwrap());
    assert!(said.contains("the hash is wrong"), "{said}");
    assert!(!scene.received("file").exists() && !scene.unfinished("file").exists());
    success(&sending(program(), &path, &front, &options).output().unwrap());
    assert!(std::fs::read(scene.received("file")).unwrap() == content(LEN, 3));
}

#[test]
fn nothing_of_a_damaged_record_of_tls_is_taken() {
    let scene = Scene::new();
    let server = Certified::write(&scene.here, "server", "127.0.0.1");
    let path = scene.file("file", LEN, 4);
    let common = ["--datapath", "tcp", "--require-encryption"];
    let receiver = scene.receiver("127.0.0.1:0", &[&server.shown()[..], &common].concat());
    let front = through_one_flip(&receiver.addr).to_string();
    let sender = [&common[..], &["--tls-ca", &server.authority, "--persistence", "0"]].concat();
    let said = failure(&sending(program(), &path, &front, &sender).output().unwrap());
    assert!(!said.contains("the hash is wrong") && !scene.received("file").exists(), "{said}");
    // The bytes before it are right, and the next connection continues there.
    success(&sending(program(), &path, &front, &sender).output().unwrap());
    assert!(std::fs::read(scene.received("file")).unwrap() == content(LEN, 4));
}
