//! The end of connections over the sockets of the system, and through memory that two processes share.

use bertha_core::{Addr, Buf, Connection, Datapath, ErrorKind, make_stack};
use bertha_datapath_kernel::{Tcp, UnixStream};
use bertha_datapath_shm::Shm;
use bertha_negotiation::{Negotiate, Settings};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// A time that is far longer than closing takes, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

/// Time without progress after which a stream counts as full.
const FULL: Duration = Duration::from_millis(500);

#[tokio::test]
async fn closing_a_stream_that_the_peer_does_not_read_ends() {
    let to: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = make_stack!().listen(Tcp::new(), to).await.unwrap();
    let server = incoming.local_addr();
    let (client, served) =
        tokio::join!(make_stack!().connect(Tcp::new(), server), incoming.next_or_refusal());
    let (client, _silent) = (client.unwrap(), served.unwrap().unwrap());
    let message = || Buf::new(60_000, 64).unwrap();
    let mut times_full = 0;
    while times_full < 3 {
        match timeout(FULL, client.send(message())).await {
            Ok(done) => {
                done.unwrap();
                times_full = 0;
            }
            Err(_) => times_full += 1,
        }
    }
    let closed = timeout(LONG, client.close()).await.expect("closing does not end");
    // The close succeeds if the system has found room for the rest of the last message after all.
    assert!(closed.is_ok() || closed.unwrap_err().kind() == ErrorKind::TimedOut);
}

/// What a close would wait for such a peer ends long after the test.
#[tokio::test]
async fn a_close_does_not_wait_for_a_peer_that_does_something_else() {
    async fn close<D: Datapath + Clone>(datapath: D, on: Addr) {
        let mut settings = Settings::default();
        settings.close_timeout = LONG * 60;
        settings.close_wait = Duration::from_millis(1);
        let mut incoming = make_stack!().listen(datapath.clone(), on).await.unwrap();
        let server = incoming.local_addr();
        let connecting = make_stack!().connect(datapath, server).settings(settings);
        let (client, served) = tokio::join!(connecting, incoming.next_or_refusal());
        let (client, served) = (client.unwrap(), served.unwrap().unwrap());
        client.send(message(1)).await.unwrap();
        // A message that this end never receives.
        served.send(message(2)).await.unwrap();
        timeout(LONG, client.close()).await.expect("the close waits").unwrap();
        assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        drop(client);
        assert_eq!(*served.recv().await.unwrap(), [1]);
        assert_eq!(served.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    }
    close(Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    close(UnixStream::new(), unix("busy-stream")).await;
    close(Shm::new(), unix("busy-shm")).await;
}

/// A program may end behind a close.
#[tokio::test]
async fn what_was_sent_before_a_close_arrives_although_the_runtime_ends() {
    async fn close<D: Datapath + Clone>(datapath: D, on: Addr) {
        let mut incoming = make_stack!().listen(datapath.clone(), on).await.unwrap();
        let server = incoming.local_addr();
        let program = tokio::task::spawn_blocking(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = make_stack!().connect(datapath, server).await.unwrap();
                for number in 0..100 {
                    client.send(message(number)).await.unwrap();
                }
                client.close().await.unwrap();
            });
        });
        let served = incoming.next().await.unwrap();
        program.await.unwrap();
        for number in 0..100 {
            assert_eq!(*served.recv().await.unwrap(), [number]);
        }
        assert_eq!(served.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    }
    close(Tcp::new(), "127.0.0.1:0".parse().unwrap()).await;
    close(UnixStream::new(), unix("ending-stream")).await;
    close(Shm::new(), unix("ending-shm")).await;
}

fn unix(name: &str) -> Addr {
    format!("unix:@bertha-close-{name}-{}", std::process::id()).parse().unwrap()
}

fn message(number: u8) -> Buf {
    let mut message = Buf::new(1, 64).unwrap();
    message[0] = number;
    message
}
