//! Names over sockets.

use bertha_chunnels::Serialize;
use bertha_core::backoff::Backoff;
use bertha_core::{Addr, Connection, Error, ErrorKind, make_stack};
use bertha_datapath_kernel::{Tcp, Udp, UnixStream};
use bertha_negotiation::names::Static;
use bertha_negotiation::{Negotiate, Received, Runs};
use std::net::SocketAddr;
use tokio::sync::oneshot;

/// Starts an echo of strings at `on`. Returns the address where it listens.
pub(crate) async fn echo<D>(datapath: D, on: impl Into<Addr>) -> Addr
where
    D: Runs<bertha_core::Stack<Serialize<String>, bertha_core::Bottom>, Out: Connection<Data = String>>,
{
    let mut incoming = make_stack!(Serialize::<String>::new()).listen(datapath, on).await.unwrap();
    let addr = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(connection) = incoming.next().await {
            tokio::spawn(async move {
                while let Ok(message) = connection.recv().await {
                    if connection.send(message).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    addr
}

pub(crate) async fn answers(connection: &impl Connection<Data = String>) {
    connection.send("hello".into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), "hello");
}

fn ip(addr: Addr) -> SocketAddr {
    addr.ip("test").unwrap()
}

/// The server listens at 127.0.0.1 alone, even if the system has further addresses for `localhost`.
#[tokio::test]
async fn localhost_is_reached_over_the_family_that_its_server_has() {
    let stack = make_stack!(Serialize::<String>::new());
    let tcp = ip(echo(Tcp::new(), ([127, 0, 0, 1], 0)).await);
    let connection = stack.connect(Tcp::new(), format!("localhost:{}", tcp.port())).await.unwrap();
    answers(&connection).await;
    let udp = ip(echo(Udp::new(), ([127, 0, 0, 1], 0)).await);
    let connection = stack.connect(Udp::new(), format!("localhost:{}", udp.port())).await.unwrap();
    answers(&connection).await;
}

/// A name has two addresses, and the first address has no server.
#[tokio::test]
async fn an_address_without_a_server_leaves_the_other_family() {
    let stack = make_stack!(Serialize::<String>::new());
    let both = |port: u16| {
        let dead: SocketAddr = format!("[::1]:{port}").parse().unwrap();
        let live = SocketAddr::from(([127, 0, 0, 1], port));
        Static::new().with("store".parse().unwrap(), [dead.into(), live.into()])
    };
    let tcp = ip(echo(Tcp::new(), ([127, 0, 0, 1], 0)).await);
    answers(&stack.connect(Tcp::new(), "store").resolver(both(tcp.port())).await.unwrap()).await;
    let udp = ip(echo(Udp::new(), ([127, 0, 0, 1], 0)).await);
    answers(&stack.connect(Udp::new(), "store").resolver(both(udp.port())).await.unwrap()).await;
}

#[tokio::test]
async fn text_that_is_an_address_asks_no_resolver() -> Result<(), Error> {
    let stack = make_stack!(Serialize::<String>::new());
    let addr = echo(Udp::new(), ([127, 0, 0, 1], 0)).await;
    let connection = stack.connect(Udp::new(), addr.to_string()).resolver(Static::new()).await?;
    answers(&connection).await;
    let path = format!(
        "unix:{}",
        std::env::temp_dir().join(format!("bertha-names-{}", std::process::id())).display()
    );
    echo(UnixStream::new(), path.parse::<Addr>()?).await;
    answers(&stack.connect(UnixStream::new(), path.as_str()).resolver(Static::new()).await?).await;
    drop(std::fs::remove_file(path.trim_start_matches("unix:")));
    Ok(())
}

#[tokio::test]
async fn a_host_without_a_port_and_one_that_does_not_exist_are_errors() {
    let stack = make_stack!(Serialize::<String>::new());
    let error = stack.connect(Udp::new(), "localhost").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("has no port"), "{error}");
    let error = stack.connect(Udp::new(), "a..b:80").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
}

/// The client runs as a task of its own, so its futures can move between threads.
#[tokio::test]
async fn a_server_that_comes_back_is_connected_to_again() {
    for number in 0..2 {
        let stack = || make_stack!(Serialize::<String>::new());
        let tcp = Tcp::new;
        let mut incoming = stack().listen(tcp(), ([127, 0, 0, 1], 0)).await.unwrap();
        let addr = incoming.local_addr();
        let (took, taken) = oneshot::channel();
        let to =
            if number == 0 { addr.to_string() } else { format!("localhost:{}", ip(addr.clone()).port()) };
        let client = tokio::spawn(async move {
            let stack = stack();
            let connection = stack.connect(tcp(), to).reconnecting(Backoff::default()).await.unwrap();
            assert_eq!(connection.send("first".into()).await.unwrap(), 0);
            assert_eq!(connection.recv().await.unwrap(), Received::Message("first".into()));
            connection.confirm(0);
            assert_eq!(connection.send("second".into()).await.unwrap(), 1);
            took.send(()).unwrap();
            let Received::Interrupted(loss) = connection.recv().await.unwrap() else {
                panic!("no answer is sent")
            };
            assert_eq!((loss.in_doubt, loss.lost), (1..2, 1));
            assert_eq!(connection.send("third".into()).await.unwrap(), 2);
            assert_eq!(connection.recv().await.unwrap(), Received::Message("third".into()));
            assert_eq!(connection.connections(), 2);
        });
        let served = incoming.next().await.unwrap();
        served.send(served.recv().await.unwrap()).await.unwrap();
        taken.await.unwrap();
        drop((served, incoming));
        echo(Tcp::new(), addr).await;
        client.await.unwrap();
    }
}

/// Without a runtime there is an error, and no panic.
#[test]
fn outside_of_a_runtime_names_are_not_resolved() {
    let stack = make_stack!(Serialize::<String>::new());
    let connecting = stack.connect(Udp::new(), "localhost:80").into_future();
    let error = futures_util::FutureExt::now_or_never(connecting).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_server_listens_where_a_client_connects() {
    let stack = make_stack!(Serialize::<String>::new());
    let folder = std::env::temp_dir().join(format!("bertha-names-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let unix = format!("unix:{}/store.sock", folder.display());
    let mut incoming = stack.clone().listen(UnixStream::new(), &unix).await.unwrap();
    let (connection, accepted) = futures_util::join!(
        stack.connect(UnixStream::new(), &unix).into_future(),
        incoming.next_or_refusal()
    );
    assert!(connection.is_ok() && accepted.unwrap().is_ok());
    std::fs::remove_dir_all(&folder).unwrap();

    let mut incoming = stack.clone().listen(Tcp::new(), "localhost:0").await.unwrap();
    let at = incoming.local_addr();
    assert!(ip(at.clone()).ip().is_loopback(), "{at}");
    let (connection, accepted) =
        futures_util::join!(stack.connect(Tcp::new(), at).into_future(), incoming.next_or_refusal());
    assert!(connection.is_ok() && accepted.unwrap().is_ok());

    for (nowhere, kind) in
        [("no-such-host.invalid:1", ErrorKind::Unreachable), ("::1:80x", ErrorKind::Invalid)]
    {
        let error = stack.clone().listen(Tcp::new(), nowhere).await.map(drop).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}
