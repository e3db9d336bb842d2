//! Ends that refuse each other, each with its reason.

use super::authority::{Authority, NAME, end, raw_key};
use super::scene::{Raw, TRANSCRIPT, ends, try_ends, wire, works};
use crate::{Tls, TlsIdentity, Trust};
use bertha_core::{Error, ErrorKind};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, date_time_ymd};

/// Two ends that must not connect, and parts of the texts of their errors.
struct Case {
    name: &'static str,
    client: Tls,
    server: Tls,
    at_client: &'static [&'static str],
    at_server: &'static [&'static str],
}

const LEAF: &str = "the server's certificate CN=store.example (serial 0bad, issued by ";
const CLIENT_LEAF: &str = "the client's certificate CN=store.example (serial 0bad, issued by ";

fn client(trust: Trust) -> Tls {
    Tls::client(NAME, trust).unwrap()
}

fn server(identity: TlsIdentity) -> Tls {
    Tls::server(identity).unwrap()
}

fn changed(change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let mut params = end(NAME);
    change(&mut params);
    params
}

fn expired(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2021, 2, 3);
}

fn not_yet_valid(params: &mut CertificateParams) {
    params.not_before = date_time_ymd(2095, 1, 1);
}

fn only(usage: ExtendedKeyUsagePurpose) -> impl FnOnce(&mut CertificateParams) {
    move |params| params.extended_key_usages = vec![usage]
}

/// Returns the cases in which the server's certificate is refused.
fn servers() -> Vec<Case> {
    let (authority, other) = (Authority::new("Example CA"), Authority::new("Other CA"));
    let issued = |params| server(authority.issue(params).identity());
    let trusting = || client(authority.trust());
    let pinned = Authority::of(end(NAME));
    let (raw, _) = raw_key();
    let (_, other_raw) = raw_key();
    vec![
        Case {
            name: "wrong name",
            client: Tls::client("bank.example", authority.trust()).unwrap(),
            server: issued(end(NAME)),
            at_client: &[LEAF, "this end wants bank.example, and it has", "store.example"],
            at_server: &["client refused this server's certificate", "CN=store.example", "other names"],
        },
        Case {
            name: "expired",
            client: trusting(),
            server: issued(changed(expired)),
            at_client: &[LEAF, "CN=Example CA", "expired on 2021-02-03 00:00:00 UTC", "renew it"],
            at_server: &["client refused this server's certificate", "has expired"],
        },
        Case {
            name: "not yet valid",
            client: trusting(),
            server: issued(changed(not_yet_valid)),
            at_client: &[LEAF, "is not valid before 2095-01-01"],
            at_server: &["client refused this server's certificate", "not valid yet"],
        },
        Case {
            name: "unknown issuer",
            client: trusting(),
            server: server(other.identity()),
            at_client: &[LEAF, "CN=Other CA", "no certificate that this end trusts", "Trust::ca_pem"],
            at_server: &["client refused this server's certificate", "does not trust the issuer"],
        },
        Case {
            name: "revoked",
            client: client(authority.trust().revoked_by(authority.revocations()).unwrap()),
            server: issued(end(NAME)),
            at_client: &[LEAF, "was revoked"],
            at_server: &["client refused this server's certificate", "was revoked"],
        },
        Case {
            name: "wrong usage",
            client: trusting(),
            server: issued(changed(only(ExtendedKeyUsagePurpose::ClientAuth))),
            at_client: &[LEAF, "extended key usage has to allow", "ServerAuth"],
            at_server: &["client refused this server's certificate", "extended key usage"],
        },
        Case {
            name: "a pinned certificate has signed another",
            client: client(pinned.trust()),
            server: server(
                pinned
                    .issue(changed(|params| {
                        params.serial_number = Some(vec![0x77].into());
                    }))
                    .identity(),
            ),
            at_client: &["(serial 77, issued by ", "no certificate that this end trusts"],
            at_server: &["does not trust the issuer"],
        },
        Case {
            name: "unknown raw key",
            client: client(other_raw),
            server: server(raw),
            at_client: &["server's raw public key with SHA-256", "Trust::raw_public_keys"],
            at_server: &["client refused this server's raw public key with SHA-256", "does not trust it"],
        },
    ]
}

/// Returns the cases in which the client's certificate is refused.
fn clients() -> Vec<Case> {
    let (authority, other) = (Authority::new("Example CA"), Authority::new("Other CA"));
    let requiring = || server(authority.identity()).require_clients(authority.trust());
    let issued = |params| client(authority.trust()).identity(authority.issue(params).identity());
    vec![
        Case {
            name: "client certificate missing",
            client: client(authority.trust()),
            server: requiring(),
            at_client: &["server requires a certificate", "Tls::identity"],
            at_server: &["client showed no certificate", "Tls::identity"],
        },
        Case {
            name: "client untrusted",
            client: client(authority.trust()).identity(other.identity()),
            server: requiring(),
            at_client: &[
                "server refused this client's certificate CN=store.example",
                "does not trust the issuer",
            ],
            at_server: &[CLIENT_LEAF, "CN=Other CA", "no certificate that this end trusts"],
        },
        Case {
            name: "client expired",
            client: issued(changed(expired)),
            server: requiring(),
            at_client: &["server refused this client's certificate CN=store.example", "has expired"],
            at_server: &[CLIENT_LEAF, "expired on 2021-02-03"],
        },
        Case {
            name: "client revoked",
            client: issued(end(NAME)),
            server: server(authority.identity())
                .require_clients(authority.trust().revoked_by(authority.revocations()).unwrap()),
            at_client: &["server refused this client's certificate", "was revoked"],
            at_server: &[CLIENT_LEAF, "was revoked"],
        },
        Case {
            name: "client of wrong usage",
            client: issued(changed(only(ExtendedKeyUsagePurpose::ServerAuth))),
            server: requiring(),
            at_client: &["server refused this client's certificate", "extended key usage"],
            at_server: &[CLIENT_LEAF, "extended key usage has to allow", "ClientAuth"],
        },
    ]
}

fn check(case: &str, error: &Error, texts: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{case}: {error}");
    for text in texts {
        assert!(error.to_string().contains(text), "{case}: {error:?}\nlacks {text}");
    }
}

#[tokio::test]
async fn each_end_says_which_certificate_is_refused_and_why() {
    for case in servers().into_iter().chain(clients()) {
        let (here, there) = try_ends(&case.client, &case.server).await;
        for (error, texts) in [(here.unwrap_err(), case.at_client), (there.unwrap_err(), case.at_server)] {
            check(case.name, &error, texts);
            assert_eq!(error.chunnel(), Some("Tls"));
        }
    }
}

/// QUIC has the same errors.
#[cfg(feature = "quic")]
#[test]
fn each_end_of_quic_says_the_same() {
    use crate::Quic;
    for case in servers().into_iter().chain(clients()) {
        let (here, there) = super::quic::try_ends(&Quic::of(case.client.side), &Quic::of(case.server.side));
        for (error, texts) in [(here.unwrap_err(), case.at_client), (there.unwrap_err(), case.at_server)] {
            check(case.name, &error, texts);
            assert_eq!(error.chunnel(), Some("Quic"));
        }
    }
}

#[tokio::test]
async fn identities_that_are_trusted_connect() {
    let authority = Authority::new("Example CA");
    let plain = server(authority.identity());
    works(&ends(&client(authority.trust()), &plain).await).await;
    let mutual = client(authority.trust()).identity(authority.identity());
    works(&ends(&mutual, &server(authority.identity()).require_clients(authority.trust())).await).await;
    // An identity that the other end does not require does no harm.
    works(&ends(&mutual, &plain).await).await;
    let ((raw_server, server_trust), (raw_client, client_trust)) = (raw_key(), raw_key());
    let server = Tls::server(raw_server).unwrap().require_clients(client_trust);
    works(&ends(&client(server_trust).identity(raw_client), &server).await).await;
    // The list does not name the certificate.
    let (revoking, other) = (Authority::new("Revoking CA"), authority.trust());
    let trust = other.revoked_by(revoking.revocations()).unwrap();
    works(&ends(&client(trust), &plain).await).await;
}

#[tokio::test]
async fn a_pinned_certificate_is_accepted_for_itself() {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
    works(&ends(&client(Trust::ca_pem(made.cert.pem()).unwrap()), &server(identity)).await).await;
}

#[tokio::test]
async fn ends_with_different_kinds_of_proof_are_refused() {
    let authority = Authority::new("Example CA");
    let ((raw, trust), client_of_authority) = (raw_key(), client(authority.trust()));
    for (client, server) in [
        (client_of_authority.clone(), server(raw.clone())),
        (client(trust.clone()), server(authority.identity())),
        (client_of_authority.identity(raw), server(authority.identity()).require_clients(authority.trust())),
    ] {
        let (here, there) = try_ends(&client, &server).await;
        for error in [here.unwrap_err(), there.unwrap_err()] {
            let text = match error.kind() {
                ErrorKind::Unauthenticated => "the other expects raw public keys (RFC 7250)",
                _ => "kind of certificate",
            };
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}

#[tokio::test]
async fn another_protocol_or_none_is_refused_by_both_ends() {
    let authority = Authority::new("Example CA");
    let (client, server) = (client(authority.trust()), server(authority.identity()));
    for protocols in [&[&b"h2"[..], b"http/1.1"][..], &[]] {
        let (here, there) = wire();
        let connecting = Raw::new(client.side.speaking(protocols).config().unwrap(), here);
        let (raw, refused) = tokio::join!(connecting, super::scene::end(&server, there, Some(TRANSCRIPT)));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("another protocol than bertha/3"), "{error}");
        assert!(matches!(raw.failure(), Some(rustls::Error::AlertReceived(_))), "{:?}", raw.failure());
    }
    // A server that speaks another protocol refuses with an alert; a server that names no protocol is refused
    // by the client.
    for (protocols, text) in [(&[&b"h2"[..]][..], "another protocol than bertha/3"), (&[], "did not confirm")]
    {
        let (here, there) = wire();
        let accepting = Raw::new(server.side.speaking(protocols).config().unwrap(), there);
        let (raw, refused) = tokio::join!(accepting, super::scene::end(&client, here, Some(TRANSCRIPT)));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(raw.failure().is_some(), !protocols.is_empty());
    }
}

#[tokio::test]
async fn an_end_that_speaks_something_else_is_refused() {
    let authority = Authority::new("Example CA");
    let (here, there) = wire();
    let speaking = async {
        use bertha_core::{Buf, Connection};
        here.send(Buf::copy_of(b"GET / HTTP/1.1\r\n\r\n", 0).unwrap()).await.unwrap();
        here
    };
    let server = server(authority.identity());
    let (_here, refused) = tokio::join!(speaking, super::scene::end(&server, there, None));
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[tokio::test]
async fn a_value_for_the_other_end_is_invalid() {
    use bertha_core::{Chunnel, ConnectContext};
    let authority = Authority::new("Example CA");
    let (_here, there) = wire();
    let context = ConnectContext::none().with_transcript(Some(TRANSCRIPT));
    let error = server(authority.identity()).connect_wrap(there, context).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("Tls::client"), "{error}");
}
