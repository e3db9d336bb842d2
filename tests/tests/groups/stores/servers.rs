//! The stores in real servers.

#[cfg(feature = "redis")]
#[tokio::test]
async fn redis() {
    use bertha_negotiation::rendezvous::RedisStore;
    let Some(url) = bertha_tests::service("BERTHA_REDIS") else { return };
    passes(&RedisStore::new(&url).unwrap()).await;
}

/// The watches of a store share a channel of the server, and the server hears when the last watch is gone.
#[cfg(feature = "redis")]
#[tokio::test]
async fn watches_in_redis_come_and_go() {
    use bertha_negotiation::rendezvous::{Name, RedisStore, RendezvousStore, Transaction, Watch};
    let Some(url) = bertha_tests::service("BERTHA_REDIS") else { return };
    let store = RedisStore::new(&url).unwrap();
    let name = Name::new(format!("watches-{}", std::process::id())).unwrap();
    let write = Transaction::new().put_for("a", vec![1], std::time::Duration::from_secs(1));
    let mut kept = store.watch(&name).await.unwrap();
    for _ in 0..50 {
        let mut other = store.watch(&name).await.unwrap();
        let revision = store.transact(&name, &write).await.unwrap().snapshot.revision;
        for watch in [&mut kept, &mut other] {
            while watch.changed().await.unwrap() < revision {}
        }
        // There is no watch for a moment, and the next watch begins while the server hears of the end of the
        // last.
        drop((kept, other));
        kept = store.watch(&name).await.unwrap();
    }
    assert_eq!(subscribers(&url, &name), 1);
    drop(kept);
    while subscribers(&url, &name) > 0 {
        tokio::task::yield_now().await;
    }
    let mut again = store.watch(&name).await.unwrap();
    let revision = store.transact(&name, &write).await.unwrap().snapshot.revision;
    while again.changed().await.unwrap() < revision {}
}

/// Returns the number of connections to the server that are subscribed to the changes of `name`.
#[cfg(feature = "redis")]
fn subscribers(url: &str, name: &bertha_negotiation::rendezvous::Name) -> usize {
    use std::io::{Read, Write};
    let address = url.trim_start_matches("redis://").trim_end_matches('/');
    let mut server = std::net::TcpStream::connect(address).unwrap();
    let ask = format!("PUBSUB NUMSUB bertha:rendezvous:{{{name}}}:changes\r\nQUIT\r\n");
    server.write_all(ask.as_bytes()).unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    let count = answer.lines().rev().find_map(|line| line.strip_prefix(':'));
    count.unwrap().parse().unwrap()
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn etcd() {
    use bertha_negotiation::rendezvous::EtcdStore;
    let Some(url) = bertha_tests::service("BERTHA_ETCD") else { return };
    passes(&EtcdStore::new(&url).unwrap()).await;
}

#[cfg(any(feature = "redis", feature = "etcd"))]
async fn passes(server: &impl bertha_negotiation::rendezvous::RendezvousStore) {
    use bertha_conformance::stores::{StoreSite, store};
    let runtime = bertha_datapath_kernel::TokioRuntime;
    store(&StoreSite { store: server, runtime: &runtime }).await;
}

/// Reports the names of stores that were not tested.
#[test]
fn features() {
    for (feature, on) in [("redis", cfg!(feature = "redis")), ("etcd", cfg!(feature = "etcd"))] {
        if !on {
            bertha_tests::skip(&format!("the store in {feature}: built without the feature `{feature}`"));
        }
    }
}

/// A missing server is an error of its own kind, and no wait without end.
#[cfg(feature = "redis")]
#[tokio::test]
async fn no_redis() {
    use bertha_negotiation::rendezvous::RedisStore;
    unreachable(&RedisStore::new(&format!("redis://{}", NOBODY)).unwrap()).await;
}

#[cfg(feature = "etcd")]
#[tokio::test]
async fn no_etcd() {
    use bertha_negotiation::rendezvous::EtcdStore;
    unreachable(&EtcdStore::new(&format!("etcd://{}", NOBODY)).unwrap()).await;
}

/// The address of a port that no program gets by chance, and where no server listens.
#[cfg(any(feature = "redis", feature = "etcd"))]
const NOBODY: &str = "127.0.0.1:1";

#[cfg(any(feature = "redis", feature = "etcd"))]
async fn unreachable(store: &impl bertha_negotiation::rendezvous::RendezvousStore) {
    use bertha_core::ErrorKind::Unreachable;
    use bertha_negotiation::rendezvous::{Name, Transaction};
    use std::time::Duration;
    let name = Name::new("nobody").unwrap();
    let ttl = Duration::from_secs(1);
    assert_eq!(store.read(&name).await.map(drop).unwrap_err().kind(), Unreachable);
    let write = Transaction::new().put_for("a", vec![1], ttl);
    assert_eq!(store.transact(&name, &write).await.map(drop).unwrap_err().kind(), Unreachable);
    assert_eq!(store.renew(&name, "a", ttl).await.map(drop).unwrap_err().kind(), Unreachable);
    assert_eq!(store.names(1).await.map(drop).unwrap_err().kind(), Unreachable);
    assert_eq!(store.watch(&name).await.map(drop).unwrap_err().kind(), Unreachable);
}
