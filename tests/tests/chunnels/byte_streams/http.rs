//! HTTP/1.1 by hyper, client and server, over Bertha's connections.

use crate::byte_streams::place::{datagrams, dpdk, over_dpdk, tcp, tls, unix};
use bertha_core::{Chunk, Connection};
use bertha_io::ByteStream;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;

const LARGE: usize = 1 << 20;

/// Answers with the path and the posted body.
async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(Response::new(Full::new([path.as_bytes(), &body].concat().into())))
}

/// Makes several requests over one connection, small and large. Then both ends close in order.
async fn requests(
    connected: impl Future<Output = (impl Connection<Data = Chunk>, impl Connection<Data = Chunk>)>,
) {
    let (client, server) = connected.await;
    let server = tokio::spawn(
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(ByteStream::new(server)), service_fn(echo)),
    );
    let (mut client, driver) =
        hyper::client::conn::http1::handshake(TokioIo::new(ByteStream::new(client))).await.unwrap();
    let driver = tokio::spawn(driver);
    for len in [0, 1, 1_000, LARGE, 10] {
        let body: Vec<u8> = (0..len).map(|at| (at * 31 + len) as u8).collect();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("/echo/{len}"))
            .header("host", "store.example")
            .body(Full::new(Bytes::from(body.clone())))
            .unwrap();
        client.ready().await.unwrap();
        let response = client.send_request(request).await.unwrap();
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(answer, [format!("/echo/{len}").as_bytes(), &body].concat());
    }
    // Neither end takes the close for a failure.
    drop(client);
    driver.await.unwrap().unwrap();
    server.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kernel_tcp() {
    requests(tcp()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_unix_sockets() {
    requests(unix()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls() {
    requests(tls()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_datagrams() {
    requests(datagrams()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_dpdk_tcp() {
    let Some(ports) = dpdk() else { return };
    requests(over_dpdk(&ports)).await;
}
