//! A process that registers what a client looks up and its service has not registered.

use crate::attacks::packets::{PATIENCE, Raw, VISITOR, started};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_datapath_shm::{Shm, ShmConnection};
use bertha_local::directory::Rules;
use bertha_local::{Directory, MaybeLocal};
use bertha_negotiation::Negotiate;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Hands on what the client and the service say through memory, and counts it: a man in the middle.
async fn relay(from: Arc<ShmConnection>, to: Arc<ShmConnection>, seen: Arc<AtomicUsize>) {
    while let Ok(message) = from.recv().await {
        seen.fetch_add(1, Ordering::Relaxed);
        if to.send(message).await.is_err() {
            return;
        }
    }
}

/// Takes the clients that visit the squatter, and visits `service` with that client's own token.
async fn squat(squatter: Arc<Raw>, path: PathBuf, service: &'static str, seen: Arc<AtomicUsize>) {
    loop {
        let waiting = squatter.clone();
        let (packet, mut files) = tokio::task::spawn_blocking(move || waiting.recv()).await.unwrap();
        if packet.first() != Some(&VISITOR) {
            return;
        }
        let token = *packet[1..].first_chunk().unwrap();
        let (own, others) = UnixStream::pair().unwrap();
        Raw::connect(&path).visit(service, token, &[others]).unwrap();
        let client = UnixStream::from(files.pop().unwrap());
        let seen = seen.clone();
        tokio::spawn(async move {
            let (shm, offering) = (Shm::new(), Shm::new());
            let Ok((client, service)) = tokio::try_join!(shm.take(client), offering.offer(own)) else {
                return;
            };
            let (client, service) = (Arc::new(client), Arc::new(service));
            tokio::join!(
                relay(client.clone(), service.clone(), seen.clone()),
                relay(service.clone(), client.clone(), seen)
            );
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_squatter_is_no_man_in_the_middle() {
    let (_folder, path) = started(Rules::new());
    let seen = Arc::new(AtomicUsize::new(0));
    let stack = |maybe| make_stack!(Serialize::<u64>::new(), maybe);
    let directory = || Directory::at(&path).patience(PATIENCE);
    let server = directory();
    let on: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = stack(MaybeLocal::new(server.clone())).listen(Tcp::new(), on).await.unwrap();
    let addr = incoming.local_addr();
    let _registration = server.try_register("echo", &[]).await.unwrap();
    tokio::spawn(async move {
        while let Some(accepted) = incoming.next_or_refusal().await {
            let connection = accepted.unwrap();
            tokio::spawn(async move {
                while let Ok(number) = connection.recv().await {
                    connection.send(number + 1).await.unwrap();
                }
            });
        }
    });
    let squatter = Arc::new(Raw::register(&path, "alias"));
    tokio::spawn(squat(squatter.clone(), path.clone(), "echo", seen.clone()));
    // The client reaches the service by the network, and looks for it under a name that the service has not registered.
    for round in 0..4_u64 {
        let maybe = MaybeLocal::new(directory()).service("alias");
        let connection = stack(maybe).connect(Tcp::new(), addr.clone()).await.unwrap();
        for number in 0..10 {
            connection.send(round * 100 + number).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), round * 100 + number + 1);
        }
        connection.close().await.unwrap();
    }
    assert_eq!(seen.load(Ordering::Relaxed), 0, "the squatter saw messages");
    squatter.hang_up();
}
