//! Files that arrive at once.

use crate::program::{Scene, content, failure, offset, program, sending, sha256, success};

fn transfer(len: usize, addr: &str, options: &[&str]) {
    let scene = Scene::new();
    let path = scene.file("a file", len, 1);
    let mut receiver = scene.receiver(addr, options);
    let said = success(&sending(program(), &path, &receiver.addr, options).output().unwrap());
    let digest = sha256(&content(len, 1));
    assert!(said.contains(&digest) && offset(&said) == 0, "{said}");
    assert!(receiver.line().contains(&digest));
    assert!(std::fs::read(scene.received("a file")).unwrap() == content(len, 1));
    assert!(!scene.unfinished("a file").exists());
}

#[test]
fn over_udp() {
    for len in [0, 1, 131_072, 3_000_001] {
        transfer(len, "127.0.0.1:0", &["--datapath", "udp"]);
    }
}

#[test]
fn over_udp_with_each_congestion_control() {
    for congestion in ["cubic", "newreno", "bbr"] {
        transfer(1_000_001, "127.0.0.1:0", &["--congestion", congestion]);
    }
}

#[test]
fn over_tcp() {
    transfer(3_000_001, "127.0.0.1:0", &["--datapath", "tcp"]);
}

#[test]
fn over_unix_sockets() {
    let directory = tempfile::tempdir().unwrap();
    let addr = format!("unix:{}", directory.path().join("socket").display());
    transfer(3_000_001, &addr, &["--datapath", "unix"]);
}

/// Another user has put a link to a file of the receiver's user where the part of the file would be.
#[test]
fn a_link_in_the_place_of_a_part_is_not_followed() {
    let scene = Scene::new();
    let path = scene.file("file", 3_000, 1);
    let other = scene.here.join("other");
    std::fs::write(&other, "a file of the receiver's user").unwrap();
    std::os::unix::fs::symlink(&other, scene.unfinished("file")).unwrap();
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    let told = failure(&sending(program(), &path, &receiver.addr, &["--persistence", "0"]).output().unwrap());
    assert_eq!(std::fs::read(&other).unwrap(), b"a file of the receiver's user", "{told}");
    assert!(!scene.received("file").exists());
    // Without the link the file arrives.
    std::fs::remove_file(scene.unfinished("file")).unwrap();
    success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
}

#[test]
fn several_at_once() {
    let scene = Scene::new();
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    let names: Vec<_> = (0..6).map(|number| format!("file {number}")).collect();
    let senders: Vec<_> = (1..)
        .zip(&names)
        .map(|(seed, name)| {
            let path = scene.file(name, 500_000, seed);
            sending(program(), &path, &receiver.addr, &[]).spawn().unwrap()
        })
        .collect();
    for sender in senders {
        success(&sender.wait_with_output().unwrap());
    }
    for (seed, name) in (1..).zip(&names) {
        assert!(std::fs::read(scene.received(name)).unwrap() == content(500_000, seed), "{name}");
    }
}

#[test]
fn a_file_that_is_there_is_not_sent_again_and_another_of_its_name_is_refused() {
    let scene = Scene::new();
    let path = scene.file("file", 300_000, 1);
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    let again = success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert_eq!(offset(&again), 300_000);
    for len in [300_000, 300_001] {
        let path = scene.file("file", len, 2);
        let refused = failure(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
        assert!(refused.contains("another file of this name"), "{refused}");
    }
    assert!(std::fs::read(scene.received("file")).unwrap() == content(300_000, 1));
    drop(receiver);
    let receiver = scene.receiver("127.0.0.1:0", &["--replace"]);
    success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert!(std::fs::read(scene.received("file")).unwrap() == content(300_001, 2));
}

#[test]
fn what_cannot_be_sent_is_refused_with_a_reason() {
    let scene = Scene::new();
    let path = scene.file("file", 10, 1);
    let receiver = scene.receiver("127.0.0.1:0", &["--max", "9"]);
    let too_long = failure(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert!(too_long.contains("at most 9 bytes"), "{too_long}");
    let nothing = failure(&sending(program(), &scene.here, &receiver.addr, &[]).output().unwrap());
    assert!(nothing.contains("is a directory; only files are sent"), "{nothing}");
    let pipe = scene.here.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = scene.here.join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, is) in
        [(&*pipe, "a pipe"), (&*socket, "a socket"), (std::path::Path::new("/dev/null"), "a device")]
    {
        let refused = failure(&sending(program(), path, &receiver.addr, &[]).output().unwrap());
        assert!(refused.contains(&format!("is {is}; only files are sent")), "{refused}");
    }
}
