//! A `send` beside the end that the same end of a stream makes.

use bertha_core::{Addr, Buf, Chunk, Connection, Datapath, Error, ErrorKind, Listener, Octets};
use bertha_datapath_kernel::{Tcp, TcpConnection, UnixStream, UnixStreamConnection};
use futures_util::future::join3;
use futures_util::{FutureExt, poll};
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// The bytes of a message, of which few fit into the buffers of the kernel.
const LONG: usize = 64 << 10;

fn here() -> Addr {
    "127.0.0.1:0".parse().unwrap()
}

fn name(of: &str) -> Addr {
    format!("unix:@bertha-own-end-{of}-{}", std::process::id()).parse().unwrap()
}

fn message<Data: Octets>() -> Data {
    Buf::new(LONG, 0).unwrap().into()
}

/// Returns the error of a `send` that waits for room in a stream when `end` ends it, which waits for room as well and gets it first.
async fn error_beside<D, Data>(
    datapath: &D,
    on: Addr,
    end: impl AsyncFn(&D::Connection) -> Result<(), Error>,
) -> Error
where
    Data: Octets,
    D: Datapath<Data>,
{
    let listener = datapath.listen(on).await.unwrap();
    let client = datapath.connect(listener.local_addr()).await.unwrap();
    let server = listener.accept().await.unwrap();
    // The last of them is given up, and the stream has taken a part of it.
    while let Some(sent) = client.send(message()).now_or_never() {
        sent.unwrap();
    }
    let mut sending = pin!(client.send(message()));
    assert!(poll!(&mut sending).is_pending());
    let mut ending = pin!(end(&client));
    assert!(poll!(&mut ending).is_pending());
    let reading = async {
        while let Ok(read) = server.recv().await {
            if !Data::HAS_BOUNDS && read.into().is_empty() {
                break;
            }
        }
    };
    let all = timeout(SOON, join3(ending, sending, reading)).await;
    let (ended, sent, ()) = all.expect("a call waits for a stream that has ended");
    ended.unwrap();
    sent.unwrap_err()
}

#[tokio::test]
async fn a_send_beside_the_own_end_says_closed() {
    let close = async |client: &TcpConnection| client.close().await;
    let tcp = error_beside(&Tcp::new(), here(), close).await;
    let close = async |client: &UnixStreamConnection| client.close().await;
    let unix = error_beside(&UnixStream::new(), name("whole"), close).await;
    let end = async |client: &TcpConnection<Chunk>| client.send(Chunk::end()).await;
    let half_of_tcp = error_beside(&Tcp::new().bytes(), here(), end).await;
    let end = async |client: &UnixStreamConnection<Chunk>| client.send(Chunk::end()).await;
    let half_of_unix = error_beside(&UnixStream::new().bytes(), name("half"), end).await;
    let errors = [("tcp", tcp), ("unix", unix), ("half of tcp", half_of_tcp), ("half of unix", half_of_unix)];
    let wrong =
        errors.iter().filter(|(_, error)| error.kind() != ErrorKind::Closed || !error.ends_connection());
    assert_eq!(wrong.map(|(over, error)| format!("{over}: {error}")).collect::<Vec<_>>(), [""; 0]);
}

/// To the system, that is the same.
#[tokio::test]
async fn a_send_to_a_peer_that_has_gone_says_reset() {
    let listener = UnixStream::new().listen(name("peer")).await.unwrap();
    let client = UnixStream::new().connect(listener.local_addr()).await.unwrap();
    drop(listener.accept().await.unwrap());
    let error = client.send(message()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
}
