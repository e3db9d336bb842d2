//! The conformance suites over shared memory.

use bertha_chunnels::Serialize;
use bertha_conformance::{self as conformance, Bufs, Site};
use bertha_core::Connection;
use bertha_core::{Addr, Datapath, Listener, make_stack};
use bertha_datapath_shm::{Shm, Waiting};
use bertha_negotiation::Negotiate;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Returns a name in the abstract namespace that no socket has.
fn name() -> Addr {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("unix:@bertha-conformance-shm-{}-{number}", std::process::id()).parse().unwrap()
}

async fn all(shm: Shm) {
    let site = Site { server: &shm, client: &shm, on: &name };
    conformance::datapath(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    conformance::a_listener_survives(&site, async |to| {
        let name = to.unix("test").unwrap().to_str().unwrap().strip_prefix('@').unwrap();
        let to = SocketAddr::from_abstract_name(name).unwrap();
        let silent: Vec<_> = (0..20).map(|_| UnixStream::connect_addr(&to).unwrap()).collect();
        for len in [1, 8, 16, 17, 100, 4096] {
            let mut stream = UnixStream::connect_addr(&to).unwrap();
            // The listener may have hung up already.
            let _written = stream.write(&vec![7; len]);
        }
        drop(silent);
    })
    .await;
    conformance::ends(async || site.connected().await, &Bufs).await;
}

#[tokio::test]
async fn parked() {
    all(Shm::new()).await;
}

#[tokio::test]
async fn parked_in_small_rings() {
    // The ring holds four messages of the suites, as they expect.
    all(Shm::new().ring(8 << 10)).await;
}

#[tokio::test]
async fn spinning() {
    all(Shm::new().waiting(Waiting::Spin)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adaptive_in_several_threads() {
    all(Shm::new().waiting(Waiting::Adaptive { spin_for: Duration::from_micros(50) })).await;
}

#[tokio::test]
async fn stacks_are_negotiated_over_it() {
    let stack = make_stack!(Serialize::<String>::new());
    let mut incoming = stack.clone().listen(Shm::new(), name()).await.unwrap();
    let addr = incoming.local_addr();
    let serve = async {
        let connection = incoming.next().await.unwrap();
        let message = connection.recv().await.unwrap();
        connection.send(message).await.unwrap();
        connection
    };
    let ask = async {
        let connection = stack.connect(Shm::new(), addr).await.unwrap();
        connection.send("hello".into()).await.unwrap();
        connection.recv().await.unwrap()
    };
    let (reply, _server) = tokio::join!(ask, serve);
    assert_eq!(reply, "hello");
}

#[tokio::test]
async fn a_listener_leaves_no_file() {
    let path = std::env::temp_dir().join(format!("bertha-conformance-shm-{}.sock", std::process::id()));
    let listener = Shm::new().listen(Addr::Unix(path.clone())).await.unwrap();
    assert!(path.exists() && listener.local_addr() == Addr::Unix(path.clone()));
    drop(listener);
    assert!(!path.exists());
}
