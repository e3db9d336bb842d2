//! The directory with its clients.

use bertha_core::{Addr, ErrorKind};
use bertha_local::Directory;
use bertha_local::directory::server::DirectoryServer;
use bertha_local::directory::{Key, Rules, Transport};
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;

fn started(rules: Rules) -> (TempDir, PathBuf, JoinHandle<()>) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("directory.sock");
    let server = DirectoryServer::listen(&path, rules).unwrap();
    let task = tokio::spawn(async move { server.serve().await.unwrap() });
    (folder, path, task)
}

/// A client that waits as long as a busy machine needs.
fn at(path: impl Into<PathBuf>) -> Directory {
    Directory::at(path).patience(Duration::from_secs(60))
}

fn addr(text: &str) -> Addr {
    text.parse().unwrap()
}

/// Waits until the directory knows of an end that the kernel has told it of.
async fn until_unknown(directory: &Directory, name: &str) {
    for _ in 0..1000 {
        // A directory of its own, which remembers nothing.
        if at(directory.path()).lookup(name).await.unwrap().is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("`{name}` is still known");
}

#[tokio::test]
async fn services_are_found_by_name_and_address_until_they_are_gone() {
    let (_folder, path, _task) = started(Rules::new().keep_address("", rustix::process::geteuid().as_raw()));
    let (service, client) = (at(&path), at(&path));
    assert_eq!(client.lookup("cart").await.unwrap(), None);
    let addresses = [addr("10.0.0.7:4000"), addr("unix:/run/cart.sock")];
    let registration = service.try_register("cart", &addresses).await.unwrap();
    let client = at(&path);
    let found = client.lookup("cart").await.unwrap().unwrap();
    assert_eq!(
        (found.name.as_str(), &found.addresses[..]),
        ("cart", &["10.0.0.7:4000".into(), "unix:/run/cart.sock".into()][..])
    );
    assert_eq!(found.user, rustix::process::geteuid().as_raw());
    assert_eq!(client.lookup(&addresses[0]).await.unwrap(), Some(found.clone()));
    let taken = service.try_register("cart", &[]).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AddrInUse, "{taken}");
    let taken = service.try_register("price", &addresses[1..]).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AddrInUse, "{taken}");
    drop(registration);
    until_unknown(&client, "cart").await;
    assert_eq!(client.lookup("cart").await.unwrap(), Some(found), "an answer counts for a second");
    let _again = service.try_register("cart", &addresses).await.unwrap();
}

#[tokio::test]
async fn without_a_directory_nobody_is_found() {
    let (folder, path, task) = started(Rules::new());
    let client = at(&path);
    assert_eq!(client.lookup("cart").await.unwrap(), None);
    task.abort();
    let _aborted = task.await;
    assert!(!path.exists(), "the socket's file is left");
    let error = client.lookup("price").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    // Started anew, at the same place: the client finds it again.
    let server = DirectoryServer::listen(&path, Rules::new()).unwrap();
    let taken = DirectoryServer::listen(&path, Rules::new()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::AddrInUse, "{taken}");
    let _task = tokio::spawn(async move { server.serve().await });
    assert_eq!(client.lookup("price").await.unwrap(), None);
    drop(folder);
}

#[tokio::test]
async fn a_directory_that_is_started_again_gets_its_services_again() {
    let (folder, path, task) = started(Rules::new());
    let _registration = at(&path).try_register("cart", &[]).await.unwrap();
    task.abort();
    let _aborted = task.await;
    let server = DirectoryServer::listen(&path, Rules::new()).unwrap();
    let _task = tokio::spawn(async move { server.serve().await });
    let is_back = async {
        // Each client is new, since a client remembers an answer.
        while at(&path).lookup("cart").await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_back).await.expect("the service does not come back");
    drop(folder);
}

#[tokio::test]
async fn packets_that_are_no_requests_harm_nobody() {
    use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketType, connect, send, socket};
    let (_folder, path, _task) = started(Rules::new());
    for len in [1, 2, 7, 100, 4096, 8192, 20_000] {
        let hostile = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        connect(&hostile, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        for byte in [0, 1, 2, 3, 255] {
            // It hangs up after the first.
            let _sent = send(&hostile, &vec![byte; len], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }
    let client = at(&path);
    let _registration = client.try_register("cart", &[]).await.unwrap();
    assert!(client.lookup("cart").await.unwrap().is_some());
}

/// The addresses of listening sockets are registered by the process that has them, and by no other.
#[tokio::test]
async fn an_address_is_registered_by_the_process_that_listens_there() {
    let (_folder, path, _task) = started(Rules::new().keep_address("10.", 1));
    let directory = at(&path);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind(listener.local_addr().unwrap()).ok();
    let own = [Addr::from(listener.local_addr().unwrap())];
    drop(listener);
    // TCP by a client that looks for streams, while the UDP port of the same number may be another's.
    let not_there = directory.try_register("cart", &[addr("127.0.0.1:1")]).await.unwrap_err();
    assert_eq!(not_there.kind(), ErrorKind::Unauthenticated, "{not_there}");
    let kept = directory.try_register("cart", &[addr("10.0.0.1:80")]).await.unwrap_err();
    assert_eq!(kept.kind(), ErrorKind::Unauthenticated, "{kept}");
    if udp.is_some() {
        let squatted = directory.try_register("squatter", &own).await.unwrap();
        let text = own[0].to_string();
        let found = |transport| directory.lookup(Key::At(transport, text.clone()));
        assert!(found(Transport::Datagram).await.unwrap().is_some());
        assert_eq!(found(Transport::Stream).await.unwrap(), None, "a UDP port is no TCP port");
        drop(squatted);
    }
}
