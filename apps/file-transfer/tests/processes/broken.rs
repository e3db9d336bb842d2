//! Connections that break: either end is killed in the middle of a file, and restarted.

use crate::program::{Scene, content, offset, program, sending, success};
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

const LEN: usize = 48 << 20;

/// Position at which the connection breaks.
const PART: u64 = 4 << 20;

/// Options that make the transfer slow enough to be interrupted in the middle.
const SLOW: &[&str] = &["--delay", "10"];

#[test]
fn a_killed_sender_goes_on_when_it_is_started_again() {
    let scene = Scene::new();
    let path = scene.file("file", LEN, 1);
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    let mut sender = sending(program(), &path, &receiver.addr, SLOW).spawn().unwrap();
    scene.wait_for("file", PART);
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert!(!scene.received("file").exists());
    // The new sender comes at once, while the receiver still waits for the first.
    let said = success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert!((PART..LEN as u64).contains(&offset(&said)), "{said}");
    assert!(std::fs::read(scene.received("file")).unwrap() == content(LEN, 1));
}

#[test]
fn a_sender_connects_again_to_a_receiver_that_was_killed() {
    let scene = Scene::new();
    let path = scene.file("file", LEN, 1);
    let mut receiver = scene.receiver("127.0.0.1:0", &[]);
    let sender = sending(program(), &path, &receiver.addr, SLOW).spawn().unwrap();
    scene.wait_for("file", PART);
    receiver.kill();
    let part = std::fs::metadata(scene.unfinished("file")).unwrap().len();
    let _receiver = scene.receiver(&receiver.addr, &[]);
    let said = success(&sender.wait_with_output().unwrap());
    assert_eq!(offset(&said), part);
    assert!(std::fs::read(scene.received("file")).unwrap() == content(LEN, 1));
}

#[test]
fn what_is_there_of_another_file_is_not_gone_on_with() {
    let scene = Scene::new();
    let path = scene.file("file", 1 << 20, 1);
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    std::fs::write(scene.unfinished("file"), content(1 << 19, 1)).unwrap();
    let part = OpenOptions::new().write(true).open(scene.unfinished("file")).unwrap();
    part.write_all_at(b"\0\0\0\0\0\0\0\0", 1000).unwrap();
    let said = success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert_eq!(offset(&said), 0);
    assert!(std::fs::read(scene.received("file")).unwrap() == content(1 << 20, 1));
    // A longer part can't be the beginning of this file.
    let path = scene.file("other", 1 << 20, 2);
    std::fs::write(scene.unfinished("other"), content((1 << 20) + 1, 2)).unwrap();
    let said = success(&sending(program(), &path, &receiver.addr, &[]).output().unwrap());
    assert_eq!(offset(&said), 0);
}

#[test]
fn a_sender_gives_up_when_nobody_is_there() {
    let scene = Scene::new();
    let path = scene.file("file", 10, 1);
    let mut receiver = scene.receiver("127.0.0.1:0", &[]);
    receiver.kill();
    let output = sending(program(), &path, &receiver.addr, &["--persistence", "0"]).output().unwrap();
    let said = crate::program::failure(&output);
    assert!(said.contains("refused") || said.contains("unreachable"), "{said}");
}
