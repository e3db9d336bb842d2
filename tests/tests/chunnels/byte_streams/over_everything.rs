//! The conformance suites of streams over each datapath and stack.

use crate::byte_streams::place::{datagrams, dpdk, loopback, over_dpdk, tcp, tls, unix};
use bertha_chunnels::LengthFramed;
use bertha_conformance::{self as conformance, Bufs, byte_stream};
use bertha_core::{Addr, Buf, Chunk, Connection, Datapath, ErrorKind, Listener, Wrap, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_io::{ByteStream, from_stream};

/// Puts the adapter around both ends of a connection.
async fn streams<A, B>(connected: impl Future<Output = (A, B)>) -> (ByteStream<A>, ByteStream<B>)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let (a, b) = connected.await;
    (ByteStream::new(a), ByteStream::new(b))
}

/// The suite passes over tokio's streams, which are correct.
#[tokio::test]
async fn tokio_streams_pass() {
    byte_stream::byte_stream(async || tokio::io::duplex(10_000)).await;
    byte_stream::byte_stream(async || {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kernel_tcp() {
    byte_stream::byte_stream(async || streams(tcp()).await).await;
}

#[tokio::test]
async fn over_kernel_tcp_on_one_thread() {
    byte_stream::byte_stream(async || streams(tcp()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_unix_sockets() {
    byte_stream::byte_stream(async || streams(unix()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls() {
    conformance::bytes(tls).await;
    byte_stream::byte_stream(async || streams(tls()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_datagrams() {
    conformance::bytes(datagrams).await;
    byte_stream::byte_stream(async || streams(datagrams()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_dpdk_tcp() {
    let Some(ports) = dpdk() else { return };
    conformance::bytes(async || over_dpdk(&ports).await).await;
    byte_stream::byte_stream(async || streams(over_dpdk(&ports)).await).await;
}

/// A stream is made a connection of bytes, and the connection a stream again.
#[tokio::test]
async fn over_a_stream_of_others() {
    conformance::bytes(async || {
        let (a, b) = tokio::io::duplex(10_000);
        (from_stream(a), from_stream(b))
    })
    .await;
    byte_stream::byte_stream(async || {
        let (a, b) = streams(tcp()).await;
        (ByteStream::new(from_stream(a)), ByteStream::new(from_stream(b)))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn framed_by_lengths() {
    let framed = async || {
        let (a, b) = tcp().await;
        let stack = make_stack!(LengthFramed::new());
        (stack.wrap(a).await.unwrap(), stack.wrap(b).await.unwrap())
    };
    conformance::connection(framed, &Bufs).await;
    conformance::base_connection(framed).await;
    // An end that has received its peer's end may go on sending, since the peer may have closed its own half
    // alone.
    let (a, b) = framed().await;
    a.inner().send(Chunk::end()).await.unwrap();
    assert_eq!(b.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    b.send(Buf::copy_of(b"still heard", 4).unwrap()).await.unwrap();
    assert_eq!(&*a.recv().await.unwrap(), b"still heard");
}

/// The framing Chunnel and the datapath that frames by itself speak the same format.
#[tokio::test]
async fn frames_of_the_chunnel_and_of_the_datapath_are_the_same() {
    let listener = Tcp::new().listen(loopback()).await.unwrap();
    let to: Addr = listener.local_addr();
    let bytes = Tcp::new().bytes().connect(to).await.unwrap();
    let here = make_stack!(LengthFramed::new()).wrap(bytes).await.unwrap();
    let there = listener.accept().await.unwrap();
    for len in [0, 1, 100, 70_000, 1 << 20] {
        let message = || Buf::copy_of(&vec![len as u8; len], 0).unwrap();
        let sending = async {
            here.send(message()).await.unwrap();
            there.send(message()).await.unwrap();
        };
        let receiving = async {
            assert_eq!(*there.recv().await.unwrap(), *message());
            assert_eq!(*here.recv().await.unwrap(), *message());
        };
        futures_util::future::join(sending, receiving).await;
    }
}
