//! `openssl s_server` as the server of Bertha's client.

use crate::openssl::certificates::{Authority, Files, Folder, NAME, argument};
use crate::openssl::program::{OpenSsl, aside, is_there};
use crate::openssl::with_client::{framed, message};
use bertha_chunnels::Tls;
use bertha_core::{Addr, Chunk, Connection, Datapath, Error, ErrorKind, Wrap};
use bertha_datapath_kernel::{Tcp, TcpConnection};
use std::time::Duration;

/// Starts `openssl s_server` with these files and arguments, and connects to it.
async fn started(files: &Files, more: &[&str]) -> (OpenSsl, TcpConnection<Chunk>) {
    // The port is free for a moment between the two uses.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let accept = format!("127.0.0.1:{port}");
    let own = ["-cert", argument(&files.certificate), "-key", argument(&files.key)];
    let server = OpenSsl::start(&[&["s_server", "-accept", &accept, "-tls1_3"], &own[..], more].concat());
    let to: Addr = accept.parse().unwrap();
    for _ in 0..1_000 {
        if let Ok(connection) = Tcp::new().bytes().connect(to.clone()).await {
            return (server, connection);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("openssl s_server does not accept");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_accepts_it_and_exchanges_messages() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, authority) = (Folder::new(), Authority::new("Example CA"));
    let (mut server, plain) = started(&authority.issue(&folder, NAME), &["-alpn", "bertha/3"]).await;
    let connection = Tls::client(NAME, authority.trust()).unwrap().wrap(plain).await.unwrap();
    connection.send(message(&connection, b"hello from bertha")).await.unwrap();
    server.send(&framed(b"hello from openssl"));
    assert_eq!(&*connection.recv().await.unwrap(), b"hello from openssl");
    let server = aside(move || {
        server.says("hello from bertha");
        server
    })
    .await;
    connection.close().await.unwrap();
    // `openssl` takes the close_notify for an orderly end.
    aside(move || {
        server.says("DONE");
        assert!(!server.has_said("ERROR"));
    })
    .await;
}

/// Returns the client's error, in the handshake or with the first message.
async fn refused(client: &Tls, files: &Files, more: &[&str], says: &'static str) -> Error {
    let (server, plain) = started(files, &[&["-alpn", "bertha/3"], more].concat()).await;
    let refused = match client.wrap(plain).await {
        Ok(connection) => connection.recv().await.map(drop),
        Err(error) => Err(error),
    };
    aside(move || server.says(says)).await;
    refused.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_refuses_its_wrong_certificates_and_tells_it() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, authority, other) =
        (Folder::new(), Authority::new("Example CA"), Authority::new("Other CA"));
    let client = Tls::client(NAME, authority.trust()).unwrap();
    for (files, says, texts) in [
        (other.issue(&folder, NAME), "unknown ca", ["CN=Other CA", "no certificate that this end trusts"]),
        (
            authority.issue(&folder, "bank.example"),
            "bad certificate",
            ["wants store.example", "bank.example"],
        ),
        (
            authority.issue_until(&folder, "old.example", 2000),
            "certificate expired",
            ["CN=old.example", "expired on 2000-01-01"],
        ),
    ] {
        let error = refused(&client, &files, &[], says).await;
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
        for text in texts {
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_client_hears_that_it_needs_a_certificate() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, authority) = (Folder::new(), Authority::new("Example CA"));
    let (ca, files) = (authority.file(&folder), authority.issue(&folder, NAME));
    let client = Tls::client(NAME, authority.trust()).unwrap();
    let requiring = ["-Verify", "1", "-verify_return_error", "-CAfile", argument(&ca)];
    let error = refused(&client, &files, &requiring, "peer did not return a certificate").await;
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert!(error.to_string().contains("requires a certificate"), "{error}");
    let client = client.identity(authority.issue(&folder, "client.example").identity());
    let (_server, plain) = started(&files, &[&["-alpn", "bertha/3"], &requiring[..]].concat()).await;
    client.wrap(plain).await.unwrap();
}
