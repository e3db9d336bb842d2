//! Clients that say nothing, strangers, and paths of dead servers.

use bertha_core::{Addr, Connection, Datapath, ErrorKind, Listener};
use bertha_datapath_shm::{Shm, Users};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("bertha-shm-{name}-{}.sock", std::process::id()))
}

/// A client gives up after five seconds, so it fails if it has to wait until the others have had their time.
#[tokio::test]
async fn silent_clients_keep_nobody_out() {
    let path = path("silent");
    let listener = Shm::new().listen(Addr::Unix(path.clone())).await.unwrap();
    let silent: Vec<_> = (0..900).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let shm = Shm::new();
    let (client, server) = tokio::join!(shm.connect(Addr::Unix(path.clone())), listener.accept());
    client.unwrap();
    server.unwrap();
    drop(silent);
}

#[tokio::test]
async fn strangers_are_told_before_they_say_anything() {
    let path = path("strangers");
    let nobody = Shm::new().users(Users::Only(vec![u32::MAX - 1]));
    let listener = nobody.listen(Addr::Unix(path.clone())).await.unwrap();
    for _ in 0..100 {
        let error = Shm::new().connect(Addr::Unix(path.clone())).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    }
    // The answer comes although nothing is offered.
    let mut answer = [0; 16];
    let mut silent = UnixStream::connect(&path).unwrap();
    let read = tokio::task::spawn_blocking(move || std::io::Read::read(&mut silent, &mut answer));
    assert_eq!(read.await.unwrap().unwrap(), 9);
    drop(listener);
}

#[tokio::test]
async fn the_path_of_a_dead_server_is_taken_and_that_of_a_live_one_is_not() {
    let path = path("restart");
    let on = Addr::Unix(path.clone());
    // As a process that is killed leaves it.
    drop(UnixListener::bind(&path).unwrap());
    let listener = Shm::new().listen(on.clone()).await.unwrap();
    let error = Shm::new().listen(on.clone()).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
    let shm = Shm::new();
    let (client, server) = tokio::join!(shm.connect(on), listener.accept());
    assert_eq!(client.unwrap().mtu(), server.unwrap().mtu());
}
