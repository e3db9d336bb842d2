//! The choices of an application: further identities, its own protocol, a log of the secrets.

use super::authority::{Authority, NAME, end, raw_key};
use super::scene::{ends, try_ends, works};
use crate::Tls;
use bertha_core::ErrorKind;
use std::process::Command;

#[tokio::test]
async fn a_server_shows_the_certificate_of_the_name_that_the_client_wants() {
    let authority = Authority::new("Example CA");
    let identity = |name| authority.issue(end(name)).identity();
    let client = |name| Tls::client(name, authority.trust()).unwrap();
    let server = Tls::server(identity("a.example")).unwrap();
    let server = server.also(identity("b.example")).also(identity("*.c.example"));
    for name in ["a.example", "b.example", "B.example", "one.c.example", "a.example"] {
        works(&ends(&client(name), &server).await).await;
    }
    // A client that wants another name gets the first certificate, and says which names that has.
    let (refused, _) = try_ends(&client("d.example"), &server).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert!(error.to_string().contains("a.example") && error.to_string().contains("d.example"), "{error}");
}

#[tokio::test]
async fn certificates_and_raw_keys_do_not_mix() {
    let authority = Authority::new("Example CA");
    let server = Tls::server(authority.identity()).unwrap().also(raw_key().0);
    let (_, refused) = try_ends(&Tls::client(NAME, authority.trust()).unwrap(), &server).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("raw public keys or certificates, and not both"), "{error}");
}

#[tokio::test]
async fn ends_of_one_protocol_agree_and_others_are_refused_with_its_name() {
    let authority = Authority::new("Example CA");
    let client = || Tls::client(NAME, authority.trust()).unwrap();
    let server = Tls::server(authority.identity()).unwrap().protocol("store/2").unwrap();
    works(&ends(&client().protocol("store/2").unwrap(), &server).await).await;
    for (client, own) in [(client().protocol("store/1").unwrap(), "store/1"), (client(), "bertha/3")] {
        let (here, there) = try_ends(&client, &server).await;
        for (error, protocol) in [(here.unwrap_err(), own), (there.unwrap_err(), "store/2")] {
            assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
            assert!(error.to_string().contains(&format!("another protocol than {protocol}")), "{error}");
        }
    }
    for name in [String::new(), "x".repeat(256)] {
        assert_eq!(client().protocol(&name).unwrap_err().kind(), ErrorKind::Invalid);
    }
    client().protocol(&"x".repeat(255)).unwrap();
}

/// The variable of the environment is that of a process, so the connection is made in another process.
#[tokio::test]
async fn secrets_are_logged_on_request_alone() {
    const FILE: &str = "SSLKEYLOGFILE";
    const REQUEST: &str = "BERTHA_TEST_LOGS_KEYS";
    if let Ok(is_requested) = std::env::var(REQUEST) {
        let authority = Authority::new("Example CA");
        let client = Tls::client(NAME, authority.trust()).unwrap();
        let client = if is_requested == "yes" { client.log_keys() } else { client };
        return works(&ends(&client, &Tls::server(authority.identity()).unwrap()).await).await;
    }
    for (request, count) in [("yes", 1), ("no", 0)] {
        let file = std::env::temp_dir().join(format!("bertha-keys-{}-{request}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let test = "tls::tests::choices::secrets_are_logged_on_request_alone";
        let connection = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact"])
            .envs([(FILE, file.as_os_str()), (REQUEST, request.as_ref())])
            .output()
            .unwrap();
        assert!(connection.status.success(), "{connection:?}");
        let log = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        for secret in ["CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 "] {
            assert_eq!(log.lines().filter(|line| line.starts_with(secret)).count(), count, "{log}");
        }
    }
}
