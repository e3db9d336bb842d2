//! Datapaths of bytes as datapaths of messages.

use crate::byte_streams::place::{dpdk, loopback, unix_name};
use bertha_chunnels::{LengthFramed, Serialize};
use bertha_conformance::{self as conformance, Site};
use bertha_core::{Addr, Connection, Datapath, make_stack};
use bertha_datapath_kernel::{Tcp, UnixStream};
use bertha_negotiation::{Negotiate, Runs};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_keep_the_promises_of_a_datapath() {
    let tcp = LengthFramed::new().over(Tcp::new().bytes());
    let site = Site { server: &tcp, client: &tcp, on: &loopback };
    conformance::datapath(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    let unix = LengthFramed::new().over(UnixStream::new().bytes());
    let site = Site { server: &unix, client: &unix, on: &unix_name };
    conformance::datapath(&site).await;
}

/// Agrees on a stack and exchanges a message.
async fn negotiates<S, C>(server: S, client: C, on: Addr)
where
    S: Datapath,
    C: Datapath,
    S: Runs<Strings, Out: Connection<Data = String>>,
    C: Runs<Strings, Out: Connection<Data = String>>,
{
    let mut incoming = strings().listen(server, on).await.unwrap();
    let to = incoming.local_addr();
    let accepting = tokio::spawn(async move {
        let client = incoming.next().await.unwrap();
        client.send(client.recv().await.unwrap()).await.unwrap();
        // `recv` fails once the client leaves.
        client.recv().await.unwrap_err()
    });
    let client = strings().connect(client, to).await.unwrap();
    client.send("hello".repeat(100_000)).await.unwrap();
    assert_eq!(client.recv().await.unwrap(), "hello".repeat(100_000));
    client.close().await.unwrap();
    accepting.await.unwrap();
}

type Strings = bertha_core::Stack<Serialize<String>, bertha_core::Bottom>;

fn strings() -> Strings {
    make_stack!(Serialize::<String>::new())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stacks_are_negotiated_over_them_and_with_those_that_frame_by_themselves() {
    let framed = || LengthFramed::new().over(Tcp::new().bytes());
    negotiates(framed(), framed(), loopback()).await;
    negotiates(framed(), Tcp::new(), loopback()).await;
    negotiates(Tcp::new(), framed(), loopback()).await;
    let unix = || LengthFramed::new().over(UnixStream::new().bytes());
    negotiates(unix(), UnixStream::new(), unix_name()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stacks_are_negotiated_over_dpdk() {
    let Some([server, client]) = dpdk() else { return };
    let framed = |bytes| LengthFramed::new().over(bytes);
    negotiates(framed(server), framed(client), "10.0.0.1:0".parse().unwrap()).await;
}
