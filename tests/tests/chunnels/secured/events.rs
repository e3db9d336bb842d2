//! The events of handshakes, paths and certificates.

use super::scene::{Subject, over_datagrams, over_streams};
use crate::lines::Lines;
use bertha_chunnels::{Noise, Quic, Tls, TlsIdentity, Trust};
use bertha_core::{Connection, make_stack};
use bertha_negotiation::Settings;
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

#[test]
fn noise_tells_handshakes_with_the_peers_address() {
    let (lines, _guard) = Lines::capture();
    over_datagrams(async |hosts| {
        let stack = make_stack!(Noise::shared(&[1; 32]));
        hosts.connect(stack.clone(), stack).await;
    });
    let told = |texts: &[&str]| lines.expect(&[&["DEBUG", "bertha::noise: "], texts].concat());
    for peer in ["peer=10.0.0.1:", "peer=10.0.0.2:"] {
        told(&["the handshake is done", peer]);
    }
}

#[test]
fn quic_tells_handshakes_and_ends() {
    let (lines, _guard) = Lines::capture();
    let subject = Subject::new("localhost");
    over_datagrams(async |hosts| {
        let server = make_stack!(subject.server());
        let (client, _served) = hosts.connect(make_stack!(subject.client()), server.clone()).await;
        drop(client);
        let stranger = Trust::ca_pem(other_certificate("localhost", 2099).0).unwrap();
        let stranger = make_stack!(Quic::client("localhost", stranger).unwrap());
        assert!(hosts.try_connect(stranger, server, Settings::default()).await.0.is_err());
    });
    let told = |texts: &[&str]| lines.expect(&[&["DEBUG", "bertha::quic: "], texts].concat());
    for peer in ["peer=10.0.0.1:", "peer=10.0.0.2:"] {
        told(&["the handshake is done", "mtu=1352", peer]);
        told(&["the handshake failed", peer]);
    }
    told(&["the connection ends", "peer=10.0.0.2:", "lost=0", "mtu=1352"]);
}

#[test]
fn tls_tells_handshakes_and_a_certificate_that_expires_soon_once() {
    let (lines, _guard) = Lines::capture();
    let subject = Subject::new("localhost");
    let (expired, key) = other_certificate("expired.example", 2020);
    let identity = || TlsIdentity::from_pem(&expired, &key).unwrap();
    over_streams(async |hosts| {
        let server = make_stack!(Tls::server(subject.identity.clone()).unwrap());
        let client = make_stack!(Tls::client("localhost", subject.trust.clone()).unwrap());
        let (client, server) = hosts.connect(client, server).await;
        futures_util::future::join(client.close(), server.close()).await.0.unwrap();
        for _ in 0..3 {
            let server = make_stack!(Tls::server(identity()).unwrap());
            let client = make_stack!(Tls::client("localhost", subject.trust.clone()).unwrap());
            hosts.try_connect(client, server, Settings::default()).await.0.unwrap_err();
        }
    });
    let told = |texts: &[&str]| lines.expect(&[&["DEBUG", "bertha::tls: "], texts].concat());
    for peer in ["peer=10.0.0.1:", "peer=10.0.0.2:"] {
        told(&["the handshake is done", "resumed=false", peer]);
        told(&["the handshake failed", peer]);
    }
    let warned = lines.with(&["WARN", "bertha::certificates", "expires soon or has expired"]);
    assert_eq!(warned.len(), 1, "{warned:#?}");
    assert!(warned[0].contains("CN=expired.example") && warned[0].contains("end=2020-01-01"), "{warned:#?}");
}

/// The peers' certificates are valid for one more hour.
#[test]
fn a_peers_certificate_that_expires_soon_is_told_with_its_name_and_its_end() {
    let (lines, _guard) = Lines::capture();
    let soon = std::time::SystemTime::now() + std::time::Duration::from_secs(3_600);
    let ends = |name: &str| {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = soon.into();
        let day = params.not_after.date().to_string();
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        (TlsIdentity::from_pem(&pem, key.serialize_pem()).unwrap(), Trust::ca_pem(&pem).unwrap(), day)
    };
    let far = Subject::new("far.example");
    let (server, trust, day) = ends("server.example");
    let (client, trust_in_client, _) = ends("client.example");
    over_streams(async |hosts| {
        // Twice: the second connection is silent.
        for _ in 0..2 {
            let server = Tls::server(server.clone()).unwrap().require_clients(trust_in_client.clone());
            let client = Tls::client("server.example", trust.clone()).unwrap().identity(client.clone());
            hosts.connect(make_stack!(client), make_stack!(server)).await;
        }
        let server = Tls::server(far.identity.clone()).unwrap();
        let client = Tls::client("far.example", far.trust.clone()).unwrap();
        hosts.connect(make_stack!(client), make_stack!(server)).await;
    });
    let (server, trust, _) = ends("quic.example");
    over_datagrams(async |hosts| {
        let server = make_stack!(Quic::server(server.clone()).unwrap());
        let client = make_stack!(Quic::client("quic.example", trust.clone()).unwrap());
        hosts.connect(client, server).await;
    });
    let told = |texts: &[&str]| {
        lines.with(&[&["WARN", "bertha::certificates: the peer's certificate"], texts].concat())
    };
    for (peer, name) in [("10.0.0.2", "server"), ("10.0.0.1", "client"), ("10.0.0.2", "quic")] {
        let texts =
            [format!("peer={peer}:"), format!("CN={name}.example"), format!("end={day} "), "untold=0".into()];
        let found = told(&texts.each_ref().map(String::as_str));
        assert_eq!(found.len(), 1, "{texts:?}: {:#?}", told(&[]));
    }
    assert_eq!(told(&[]).len(), 3, "{:#?}", told(&[]));
}

/// Returns a certificate that ends with the beginning of a year, and its private key, in PEM.
fn other_certificate(name: &str, end: i32) -> (String, String) {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    (params.not_before, params.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(end, 1, 1));
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}
