//! The end of connections over the sockets of the system.

use bertha_core::{Addr, Buf, Connection, ErrorKind, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::Negotiate;
use std::time::Duration;
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
