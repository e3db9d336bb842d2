//! `openssl s_client` as the client of Bertha's server.

use crate::openssl::certificates::{Authority, Files, Folder, NAME, argument};
use crate::openssl::program::{OpenSsl, aside, is_there};
use bertha_chunnels::Tls;
use bertha_core::{Addr, Base, Buf, Chunk, Connection, Datapath, Error, ErrorKind, Listener, Wrap};
use bertha_datapath_kernel::{Tcp, TcpListener};

/// Makes a listener for plain TCP, and returns its address as `openssl` writes it.
pub(crate) async fn listening() -> (TcpListener<Chunk>, String) {
    let listener = Tcp::new().bytes().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let Addr::Ip(addr) = listener.local_addr() else { panic!("not an IP address") };
    (listener, addr.to_string())
}

pub(crate) fn message(connection: &impl Connection, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

/// Puts a message behind its length.
pub(crate) fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_accepts_our_certificate_and_exchanges_messages() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, authority) = (Folder::new(), Authority::new("Example CA"));
    let (ca, files) = (authority.file(&folder), authority.issue(&folder, NAME));
    let (listener, address) = listening().await;
    let arguments = [
        "s_client",
        "-connect",
        &address,
        "-alpn",
        "bertha/3",
        "-tls1_3",
        "-servername",
        NAME,
        "-verify_hostname",
        NAME,
        "-verify_return_error",
        "-CAfile",
        argument(&ca),
    ];
    let mut client = OpenSsl::start(&arguments);
    let server = Tls::server(files.identity()).unwrap();
    let connection = server.wrap(listener.accept().await.unwrap()).await.unwrap();
    client.send(&framed(b"hello from openssl"));
    assert_eq!(&*connection.recv().await.unwrap(), b"hello from openssl");
    connection.send(message(&connection, b"hello from bertha")).await.unwrap();
    aside(move || {
        for text in [
            "hello from bertha",
            "CN = store.example",
            "Verify return code: 0 (ok)",
            "TLSv1.3",
            "ALPN protocol: bertha/3",
        ] {
            client.says(text);
        }
        // `openssl` sends a close_notify at the end of its input.
        drop(client);
    })
    .await;
    let kind = connection.recv().await.unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::Closed | ErrorKind::Reset), "{kind}");
}

/// Returns the error of Bertha's server, which requires clients' certificates, for `openssl` with these
/// further arguments. Checks that the output of `openssl` contains `says`.
async fn refused(more: &[&str], says: &'static str) -> Error {
    let (folder, authority) = (Folder::new(), Authority::new("Example CA"));
    let files = authority.issue(&folder, NAME);
    let (listener, address) = listening().await;
    let client = OpenSsl::start(&[&["s_client", "-connect", &address, "-tls1_3"], more].concat());
    let server = Tls::server(files.identity()).unwrap().require_clients(authority.trust());
    let refused = server.wrap(listener.accept().await.unwrap()).await;
    aside(move || client.says(says)).await;
    refused.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_refused_for_its_reason_and_told() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, other) = (Folder::new(), Authority::new("Other CA"));
    let Files { certificate, key } = other.issue(&folder, "stranger.example");
    let shown = ["-alpn", "bertha/3", "-cert", argument(&certificate), "-key", argument(&key)];
    let error = refused(&shown, "unknown ca").await;
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    for text in ["CN=stranger.example", "CN=Other CA", "no certificate that this end trusts"] {
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = refused(&["-alpn", "bertha/3"], "certificate required").await;
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert!(error.to_string().contains("showed no certificate"), "{error}");
    let error = refused(&["-alpn", "h2"], "no application protocol").await;
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let error = refused(&[], "access denied").await;
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("named none (ALPN)"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn its_certificate_is_known_and_its_refusal_of_ours_too() {
    if !is_there("openssl", "version") {
        return;
    }
    let (folder, authority, other) =
        (Folder::new(), Authority::new("Example CA"), Authority::new("Other CA"));
    let (ca, server) = (authority.file(&folder), authority.issue(&folder, NAME));
    let client = authority.issue(&folder, "client.example");
    let (listener, address) = listening().await;
    let common = ["s_client", "-connect", &address, "-alpn", "bertha/3", "-verify_return_error"];
    let shown =
        ["-CAfile", argument(&ca), "-cert", argument(&client.certificate), "-key", argument(&client.key)];
    let tls = Tls::server(server.identity()).unwrap().require_clients(authority.trust());
    let running = OpenSsl::start(&[&common[..], &shown].concat());
    tls.wrap(listener.accept().await.unwrap()).await.unwrap();
    drop(running);
    // The server does not know the other authority.
    let elsewhere = Folder::new();
    let unknown = other.file(&elsewhere);
    let running = OpenSsl::start(&[&common[..], &["-CAfile", argument(&unknown)]].concat());
    let error = tls.wrap(listener.accept().await.unwrap()).await.unwrap_err();
    drop(running);
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert!(
        error.to_string().contains("client refused this server's certificate CN=store.example"),
        "{error}"
    );
}
