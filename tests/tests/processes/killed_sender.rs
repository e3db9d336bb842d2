//! Senders that are killed amid their messages: the receiver gets the messages before the kill, and then an end
//! that is not a close.

use crate::child::Child;
use crate::{SHORT, idle};
use bertha_chunnels::{Batch, Nothing, Ordered, Quic, Reliable, Serialize, Tls, TlsIdentity};
use bertha_core::{Addr, Connection, ErrorKind, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_datapath_shm::Shm;
use bertha_negotiation::{Negotiate, Runs};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Number of messages after which the sender is killed, of 5,000.
const BEFORE: u32 = 1_000;

/// Receives from a sender over this stack, and kills it.
async fn kill_a_sender<D, S>(name: &str, datapath: D, on: Addr, stack: S, trust: &str)
where
    D: Runs<S, Out: Connection<Data = u32>>,
    S: Negotiate + 'static,
{
    let mut incoming = stack.listen(datapath, on).settings(idle(SHORT)).await.unwrap();
    let mut sender = Child::send(name, &incoming.local_addr(), SHORT, trust);
    let connection = incoming.next().await.unwrap();
    let mut count = 0;
    let end = loop {
        let received = tokio::time::timeout(Duration::from_secs(60), connection.recv()).await;
        match received.expect("a message or an end") {
            Ok(number) => assert_eq!(number, count, "{name}: lost, repeated or out of order"),
            Err(error) if error.ends_connection() => break error,
            Err(_) => continue,
        }
        count += 1;
        if count == BEFORE {
            sender.kill();
        }
    };
    assert!(count >= BEFORE, "{name}: after {count} messages, {end}");
    assert!(matches!(end.kind(), ErrorKind::Reset | ErrorKind::TimedOut), "{name}: {end}");
}

fn anywhere() -> Addr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_reliable_transport() {
    let stack = make_stack!(Serialize::<u32>::new(), Ordered::new(), Reliable::new());
    kill_a_sender("reliable", Udp::new(), anywhere(), stack, "").await;
}

/// The sender changes its stack all the time, so it is killed amid a change, or between two changes.
#[tokio::test(flavor = "multi_thread")]
async fn amid_changes_of_stacks() {
    for _ in 0..5 {
        let choice = select!(Nothing, Batch::new());
        let stack = make_stack!(Serialize::<u32>::new(), choice, Ordered::new(), Reliable::new());
        kill_a_sender("changing", Udp::new(), anywhere(), stack.upgradable(), "").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tcp() {
    kill_a_sender("tcp", Tcp::new(), anywhere(), Serialize::<u32>::new(), "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_shared_memory() {
    let on = format!("unix:@bertha-killed-sender-{}", std::process::id()).parse().unwrap();
    kill_a_sender("shm", Shm::new(), on, Serialize::<u32>::new(), "").await;
}

/// Returns a server's identity, and the certificate that its clients trust.
fn certificate() -> (TlsIdentity, String) {
    let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    (identity, made.cert.pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls() {
    let (identity, trust) = certificate();
    let stack = make_stack!(Serialize::<u32>::new(), Tls::server(identity).unwrap());
    kill_a_sender("tls", Tcp::new(), anywhere(), stack, &trust).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn over_quic() {
    let (identity, trust) = certificate();
    let quic = Quic::server(identity).unwrap().idle_timeout(SHORT);
    kill_a_sender("quic", Udp::new(), anywhere(), make_stack!(Serialize::<u32>::new(), quic), &trust).await;
}
