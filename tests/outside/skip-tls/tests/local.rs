//! Local and remote clients of a server with the pass.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::Tls;
use bertha_chunnels::{TlsIdentity, Trust};
use bertha_core::{Addr, Buf, Connection, Describe, Error, ErrorKind, make_stack, optimize};
use bertha_datapath_kernel::Tcp;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_local::{Directory, MaybeLocal};
use bertha_negotiation::Negotiate;
use bertha_pass_skip_tls::SkipTlsWhenLocal;
use std::path::Path;
use tempfile::TempDir;

type Made = rcgen::CertifiedKey<rcgen::KeyPair>;

fn certificate() -> Made {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

fn client(trusted: &Made) -> Tls {
    Tls::client("localhost", Trust::ca_pem(trusted.cert.pem()).unwrap()).unwrap()
}

fn server(made: &Made) -> Tls {
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    Tls::server(identity).unwrap()
}

/// Makes the stack with the pass.
macro_rules! optimised {
    ($tls:expr, $directory:expr) => {
        optimize!(make_stack!($tls, MaybeLocal::new($directory)), SkipTlsWhenLocal accepting (Encrypted))
    };
}

fn started(folder: &TempDir) -> std::path::PathBuf {
    let path = folder.path().join("directory.sock");
    let server = DirectoryServer::listen(&path, Rules::new()).unwrap();
    tokio::spawn(async move { server.serve().await });
    path
}

/// Starts a server that echoes to all clients, and registers it if `registers` is true. Returns its address.
async fn echo(made: &Made, directory: &Path, registers: bool) -> Addr {
    let directory = Directory::at(directory);
    let on: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = optimised!(server(made), directory.clone()).listen(Tcp::new(), on).await.unwrap();
    let addr = incoming.local_addr();
    if registers {
        std::mem::forget(directory.try_register("echo", std::slice::from_ref(&addr)).await.unwrap());
    }
    tokio::spawn(async move {
        while let Some(connection) = incoming.next().await {
            tokio::spawn(async move {
                while let Ok(message) = connection.recv().await {
                    connection.send(message).await.unwrap();
                }
            });
        }
    });
    addr
}

async fn ask(trusted: &Made, directory: &Path, addr: &Addr) -> Result<Vec<u8>, Error> {
    let stack = optimised!(client(trusted), Directory::at(directory));
    let connection = stack.connect(Tcp::new(), addr.clone()).await?;
    connection.send(Buf::copy_of(b"hello", 0)?).await?;
    Ok(connection.recv().await?.to_vec())
}

/// A client that trusts another authority fails in a TLS handshake. It does not fail here, so there is no
/// handshake.
#[tokio::test]
async fn a_local_peer_needs_no_handshake() {
    let (folder, made, other) = (TempDir::new().unwrap(), certificate(), certificate());
    let directory = started(&folder);
    let local = echo(&made, &directory, true).await;
    assert_eq!(ask(&made, &directory, &local).await.unwrap(), b"hello");
    assert_eq!(ask(&other, &directory, &local).await.unwrap(), b"hello");
    let remote = echo(&made, &directory, false).await;
    assert_eq!(ask(&made, &directory, &remote).await.unwrap(), b"hello");
    let error = ask(&other, &directory, &remote).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
}

#[tokio::test]
async fn an_end_without_the_pass_is_refused() {
    let (folder, made) = (TempDir::new().unwrap(), certificate());
    let directory = started(&folder);
    let addr = echo(&made, &directory, true).await;
    let stack = make_stack!(client(&made), MaybeLocal::new(Directory::at(&directory)));
    let error = stack.connect(Tcp::new(), addr).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[test]
fn the_stack_says_what_became_of_it() {
    let stack = optimised!(client(&certificate()), Directory::at("/nowhere"));
    let text = stack.explain().to_string();
    assert!(text.starts_with("TlsUnlessLocal") && text.contains("Tls / MaybeLocal became"), "{text}");
}
