//! A connection that outlives its runtime: every call fails, with an error that states the cause.

use bertha_chunnels::{Batch, Fault, Reliable};
use bertha_core::{Base, Buf, Chunnel, Connection, Datapath, Error, ErrorKind, Listener, Wrap};
use bertha_datapath_kernel::{Udp, UdpConnection};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Time after which a call counts as hanging.
const HANGS: Duration = Duration::from_secs(20);

/// Returns the client's end over UDP, whose runtime has ended since, and the server's end, whose runtime goes
/// on.
fn survivor<S>(stack: &S, goes_on: &Runtime) -> (S::Connection, UdpConnection)
where
    S: Chunnel<UdpConnection, Connection: Connection<Data = Buf>>,
{
    let ended = Runtime::new().unwrap();
    let listener = goes_on.block_on(Udp::new().listen(([127, 0, 0, 1], 0).into())).unwrap();
    let here = ended.block_on(async {
        let base = Udp::new().connect(listener.local_addr()).await.unwrap();
        base.send(base.base().buffer(1).unwrap()).await.unwrap();
        stack.wrap(base).await.unwrap()
    });
    let there = goes_on.block_on(listener.accept()).unwrap();
    drop(ended);
    (here, there)
}

fn assert_says_why(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert!(error.to_string().contains("runtime") && error.to_string().contains("has ended"), "{error}");
}

/// Checks that sending and receiving fail with the reason, and that no call hangs.
async fn fails(connection: &impl Connection<Data = Buf>) {
    let message = || connection.base().buffer(10).unwrap();
    let sent = timeout(HANGS, async {
        // A message that was on its way may still be taken.
        connection.send(message()).await.and(connection.send(message()).await)
    });
    assert_says_why(&sent.await.expect("send hangs").unwrap_err());
    assert_says_why(&timeout(HANGS, connection.recv()).await.expect("recv hangs").unwrap_err());
    let _ = timeout(HANGS, connection.drain()).await.expect("drain hangs");
    let _ = timeout(HANGS, connection.close()).await.expect("close hangs");
}

#[test]
fn reliable_fails_when_its_runtime_has_ended() {
    let goes_on = Runtime::new().unwrap();
    let (here, _there) = survivor(&Reliable::new(), &goes_on);
    goes_on.block_on(async {
        fails(&here).await;
    });
    let (here, _there) = survivor(&Reliable::new(), &goes_on);
    goes_on.block_on(async {
        let closed = timeout(HANGS, here.close()).await.expect("close hangs");
        assert_says_why(&closed.unwrap_err());
    });
}

#[test]
fn batch_fails_when_its_runtime_has_ended() {
    let goes_on = Runtime::new().unwrap();
    let (here, _there) = survivor(&Batch::new(), &goes_on);
    goes_on.block_on(fails(&here));
}

#[test]
fn fault_fails_when_its_runtime_has_ended() {
    let goes_on = Runtime::new().unwrap();
    let (here, _there) = survivor(&Fault::new(1), &goes_on);
    goes_on.block_on(fails(&here));
}
