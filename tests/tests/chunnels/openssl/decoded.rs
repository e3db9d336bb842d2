//! tshark decodes a connection of Bertha's.

use crate::openssl::capture::Relay;
use crate::openssl::certificates::{Authority, Folder, NAME, argument};
use crate::openssl::program::{OpenSsl, aside, is_there, output};
use crate::openssl::with_client::{framed, listening, message};
use bertha_chunnels::Tls;
use bertha_core::{Connection, Listener, Wrap};

const SECRET: &str = "a secret that passed";

#[tokio::test(flavor = "multi_thread")]
async fn tshark_decodes_it_and_decrypts_it_with_the_key_log_alone() {
    if !is_there("openssl", "version") || !is_there("tshark", "--version") {
        return;
    }
    let (folder, authority) = (Folder::new(), Authority::new("Example CA"));
    let (ca, files) = (authority.file(&folder), authority.issue(&folder, NAME));
    let (listener, address) = listening().await;
    let (relay, keys) = (Relay::to(address.parse().unwrap()), folder.path("keys"));
    let through = relay.address.to_string();
    let mut client = OpenSsl::start(&[
        "s_client",
        "-connect",
        &through,
        "-alpn",
        "bertha/3",
        "-servername",
        NAME,
        "-CAfile",
        argument(&ca),
        "-keylogfile",
        argument(&keys),
    ]);
    let connection =
        Tls::server(files.identity()).unwrap().wrap(listener.accept().await.unwrap()).await.unwrap();
    client.send(&framed(SECRET.as_bytes()));
    assert_eq!(&*connection.recv().await.unwrap(), SECRET.as_bytes());
    connection.send(message(&connection, SECRET.as_bytes())).await.unwrap();
    aside(move || {
        client.says(SECRET);
        drop(client);
    })
    .await;
    drop(connection);
    let captured = folder.path("captured.pcap");
    let written = captured.clone();
    aside(move || relay.write(&written)).await;
    let read = |arguments: &[&str]| {
        let output = output("tshark", &[&["-r", argument(&captured)], arguments].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // tshark shows the handshake, the name and the protocol, and no malformed packet.
    let hello = read(&[
        "-Y",
        "tls.handshake.type == 1",
        "-T",
        "fields",
        "-e",
        "tls.handshake.extensions_server_name",
    ]);
    assert_eq!(hello.trim(), NAME);
    let protocol =
        ["-Y", "tls.handshake.type == 1", "-T", "fields", "-e", "tls.handshake.extensions_alpn_str"];
    assert_eq!(read(&protocol).trim(), "bertha/3");
    assert_eq!(read(&["-Y", "_ws.malformed"]), "");
    let version =
        ["-Y", "tls.handshake.type == 2", "-T", "fields", "-e", "tls.handshake.extensions.supported_version"];
    assert_eq!(read(&version).trim(), "0x0304");
    // tshark shows the content with the keys of the connection, and does not show it without them.
    let follow = ["-q", "-z", "follow,tls,ascii,0"];
    assert!(!read(&follow).contains(SECRET));
    let log = format!("tls.keylog_file:{}", argument(&keys));
    let decrypted = read(&[&["-o", &log], &follow[..]].concat());
    assert_eq!(decrypted.matches(SECRET).count(), 2, "{decrypted}");
}
