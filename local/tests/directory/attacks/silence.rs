//! Ends that say nothing.

use crate::attacks::packets::{HELD_UP, NONE, PATIENCE, Raw, started};
use bertha_core::ErrorKind;
use bertha_local::Directory;
use bertha_local::directory::Rules;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use tempfile::TempDir;
use tokio::time::timeout;

/// The kernel takes the connection, and nobody answers.
#[tokio::test]
async fn a_directory_that_says_nothing_holds_no_client_up() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let silent = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    bind(&silent, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&silent, 64).unwrap();
    let client = Directory::at(&path);
    // Many at once: none waits for the others to end.
    let asked = (0..64).map(|number| {
        let client = client.clone();
        tokio::spawn(async move { client.lookup(&*format!("service {number}")).await })
    });
    let asked: Vec<_> = asked.collect();
    for asked in asked {
        let answer = timeout(HELD_UP, asked).await.expect("a client is held up").unwrap();
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::TimedOut);
    }
    let registered = timeout(HELD_UP, client.try_register("cart", &[])).await.expect("a service is held up");
    assert_eq!(registered.unwrap_err().kind(), ErrorKind::TimedOut);
    let registered = timeout(HELD_UP, client.register("cart", &[])).await.expect("a service is held up");
    assert!(!registered.is_entered());
}

/// Connections that never say anything are ended, and the oldest ones of a user make room for new ones.
#[tokio::test]
async fn silent_clients_are_ended() {
    let (_folder, path) = started(Rules::new());
    let silent: Vec<_> = (0..100).map(|_| Raw::connect(&path)).collect();
    let registered = Raw::register(&path, "cart");
    // Waits for the end of each; those that may stay for a while are ended for their silence.
    tokio::task::spawn_blocking(move || {
        for (number, client) in silent.iter().enumerate() {
            assert!(client.recv().0.is_empty(), "client {number} is told something");
        }
    })
    .await
    .unwrap();
    let found = Directory::at(&path).patience(PATIENCE).lookup("cart").await.unwrap();
    assert!(found.is_some(), "a registered service stays");
    drop(registered);
}

/// A user has at most 64 connections without a registration; one more ends the oldest, and never fails itself.
#[tokio::test]
async fn a_user_has_few_connections() {
    let (_folder, path) = started(Rules::new());
    let first = Raw::connect(&path);
    let ask = |client: &Raw| {
        client.send(&[1, 0, 1, b'x'], NONE).unwrap();
        client.recv().0
    };
    assert_eq!(ask(&first), [3], "an unknown service");
    let rest: Vec<_> = (0..64)
        .map(|_| {
            let client = Raw::connect(&path);
            assert_eq!(ask(&client), [3]);
            client
        })
        .collect();
    assert!(first.recv().0.is_empty(), "the oldest makes room");
    assert_eq!(ask(&rest[63]), [3]);
}
