//! Streams of bytes over stacks of messages.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha::core::Listener;
use bertha::kernel::{Tcp, Udp, Unix, UnixStream};
use bertha::shm::Shm;
use bertha::{Addr, Datapath};
use bertha_named::{Keys, Side, Stack, Transport};

#[test]
fn a_stack_under_a_stream_of_bytes_loses_and_reorders_nothing() {
    let check = |stack: &str, over| {
        let stack: Stack = stack.parse().unwrap();
        stack.check_byte_stream(over, &Keys::default(), Side::Server).map_err(|error| error.to_string())
    };
    let (udp, tcp) = (Transport::Udp, Transport::Tcp);
    for (stack, over) in [
        ("ordered,reliable", udp),
        ("checksum|(ordered,reliable)", udp),
        ("checksum,ordered,reliable|nothing", udp),
        ("", tcp),
        ("checksum", tcp),
        ("", Transport::Shm),
    ] {
        assert_eq!(check(stack, over), Ok(()), "{stack} over {over}");
    }
    for (stack, over, missing) in [
        ("", udp, "reliable"),
        ("checksum", udp, "reliable"),
        ("ordered", udp, "reliable"),
        ("reliable", udp, "ordered"),
        ("checksum|ordered", udp, "reliable"),
        ("", Transport::Unix, "reliable"),
    ] {
        let reason = check(stack, over).unwrap_err();
        assert!(reason.contains("has to be") && reason.contains(missing), "{stack} over {over}: {reason}");
    }
}

/// What a datapath promises by name is what its connections promise.
#[tokio::test]
async fn datapaths_promise_what_their_listeners_do() {
    async fn promises<D: Datapath>(over: Transport, datapath: D, on: &str) {
        let listener = datapath.listen(on.parse::<Addr>().unwrap()).await.unwrap();
        assert_eq!(listener.properties(), Some(over.properties()), "{over}");
    }
    let name = |kind: &str| format!("unix:@bertha-promises-{kind}-{}", std::process::id());
    promises(Transport::Udp, Udp::new(), "127.0.0.1:0").await;
    promises(Transport::Tcp, Tcp::new(), "127.0.0.1:0").await;
    promises(Transport::Unix, Unix::new(), &name("unix")).await;
    promises(Transport::UnixStream, UnixStream::new(), &name("stream")).await;
    promises(Transport::Shm, Shm::new(), &name("shm")).await;
}
