//! Sessions that later connections resume.

use super::authority::{Authority, NAME, end as params};
use super::scene::{End, Records, TRANSCRIPT, end, ends, relay, try_ends, wire, works};
use crate::{Tls, TlsIdentity};
use bertha_core::{Connection, ErrorKind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

fn is_resumed((here, there): &(End, End)) -> bool {
    let [here, there] = [here, there].map(|end| end.machine.lock().is_resumed());
    assert_eq!(here, there);
    here
}

fn pair(authority: &Authority) -> (Tls, Tls) {
    let client = Tls::client(NAME, authority.trust()).unwrap().identity(authority.identity());
    (client, Tls::server(authority.identity()).unwrap().require_clients(authority.trust()))
}

#[tokio::test]
async fn the_second_connection_resumes_and_so_do_those_of_clones() {
    let (client, server) = pair(&Authority::new("Example CA"));
    for expected in [false, true, true, true] {
        let both = ends(&client.clone(), &server.clone()).await;
        assert_eq!(is_resumed(&both), expected);
        works(&both).await;
        let [here, there] = [&both.0, &both.1].map(|end| end.machine.lock().shown().len());
        assert_eq!((here, there), (1, 1), "the identities are known");
    }
}

#[tokio::test]
async fn another_trust_identity_or_name_resumes_nothing() {
    let authority = Authority::new("Example CA");
    let (client, server) = pair(&authority);
    works(&ends(&client, &server).await).await;
    // The other value has the same trust, as after an authority was withdrawn or a list was renewed.
    for (client, server) in [
        (client.clone(), server.clone().require_clients(authority.trust())),
        (client.clone().identity(authority.identity()), server.clone()),
        (pair(&authority).0, server.clone()),
        (client.clone(), pair(&authority).1),
    ] {
        assert!(!is_resumed(&ends(&client, &server).await));
    }
}

#[tokio::test]
async fn a_client_that_is_no_longer_trusted_can_not_come_back_by_its_session() {
    let authority = Authority::new("Example CA");
    let (client, server) = pair(&authority);
    works(&ends(&client, &server).await).await;
    let revoked = authority.trust().revoked_by(authority.revocations()).unwrap();
    let (here, there) = try_ends(&client, &server.require_clients(revoked)).await;
    assert_eq!(there.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(here.unwrap_err().kind(), ErrorKind::Unauthenticated);
}

/// Resumption proves the key of a session alone: the certificates of the session are checked again.
#[tokio::test]
async fn a_certificate_that_has_expired_since_is_refused() {
    let authority = Authority::new("Example CA");
    let plain = Tls::client(NAME, authority.trust()).unwrap();
    let connected = async || {
        let (mut soon, end) = (params(NAME), SystemTime::now() + Duration::from_secs(3));
        soon.not_after = end.into();
        let server = Tls::server(authority.issue(soon).identity()).unwrap();
        // The second connection resumes the first, and the third is not checked in full any more.
        let mut last = None;
        for _ in 0..3 {
            let (here, there) = try_ends(&plain, &server).await;
            last = Some((here.ok()?, there.ok()?));
        }
        Some((last?, server, end))
    };
    let (both, server, end) = loop {
        // On a busy machine the first certificate may have expired already.
        if let Some(connected) = connected().await {
            break connected;
        }
    };
    works(&both).await;
    while let Ok(left) = (end + Duration::from_secs(1)).duration_since(SystemTime::now()) {
        std::thread::sleep(left);
    }
    let (here, _there) = try_ends(&plain, &server).await;
    let error = here.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(error.to_string().contains("expired on"), "{error}");
}

#[tokio::test]
async fn a_reloaded_identity_serves_new_connections_and_the_old_go_on() {
    let authority = Authority::new("Example CA");
    let folder = std::env::temp_dir().join(format!("bertha-tls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    let write = |serial: u8| {
        let mut params = params(NAME);
        params.serial_number = Some(vec![serial].into());
        let [pem, secret] = authority.issue(params).pem();
        std::fs::write(&certificate, pem).unwrap();
        std::fs::write(&key, secret).unwrap();
    };
    write(1);
    let identity = TlsIdentity::from_pem_files(&certificate, &key).unwrap();
    let client = Tls::client(NAME, authority.trust()).unwrap();
    let server = Tls::server(identity.clone()).unwrap();
    let old = ends(&client, &server).await;
    works(&old).await;
    let shown = |both: &(End, End)| both.0.machine.lock().shown()[0].to_vec();
    write(2);
    std::fs::remove_file(&key).unwrap();
    let missing = identity.reload().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Invalid, "{missing}");
    assert!(missing.context().contains("key.pem: No such file"), "{missing}");
    let resumed = ends(&client, &server).await;
    assert!(is_resumed(&resumed), "a reload that fails changes nothing");
    works(&resumed).await;
    write(2);
    identity.reload().unwrap();
    let new = ends(&client, &server).await;
    assert!(!is_resumed(&new));
    assert_ne!(shown(&new), shown(&old));
    works(&new).await;
    works(&old).await;
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Returns the types of the extensions of the ServerHello in the first record (RFC 8446, section 4.1.3).
fn extensions(record: &[u8]) -> Vec<u16> {
    let hello = &record[5..];
    assert_eq!(hello[0], 2, "not a ServerHello");
    // The offset skips type and length, version, random, session id, suite, compression.
    let session = usize::from(hello[4 + 2 + 32]);
    let mut rest = &hello[4 + 2 + 32 + 1 + session + 2 + 1 + 2..];
    let mut types = Vec::new();
    while let Some(&[a, b, c, d]) = rest.first_chunk() {
        types.push(u16::from_be_bytes([a, b]));
        rest = &rest[4 + usize::from(u16::from_be_bytes([c, d]))..];
    }
    types
}

/// All long-term keys, and the key of the session, decrypt nothing: each connection agrees on new keys
/// (psk_dhe_ke). So the hello of a resumed connection has a key share beside the session.
#[tokio::test]
async fn a_resumed_connection_agrees_on_new_keys() {
    const PRE_SHARED_KEY: u16 = 41;
    const KEY_SHARE: u16 = 51;
    let (client, server) = pair(&Authority::new("Example CA"));
    for resumed in [false, true, true] {
        let (here, from_client) = wire();
        let (from_server, there) = wire();
        let (from_client, from_server) = (Arc::new(from_client), Arc::new(from_server));
        let seen = Arc::new(Mutex::new(Records::default()));
        let back = {
            let seen = seen.clone();
            relay(from_server.clone(), from_client.clone(), move |bytes| {
                seen.lock().unwrap().add(bytes);
                (bytes.to_vec(), false)
            })
        };
        let forth = relay(from_client, from_server, |bytes| (bytes.to_vec(), false));
        let relaying = [tokio::spawn(back), tokio::spawn(forth)];
        let (here, there) =
            tokio::join!(end(&client, here, Some(TRANSCRIPT)), end(&server, there, Some(TRANSCRIPT)));
        let both = (here.unwrap(), there.unwrap());
        assert_eq!(is_resumed(&both), resumed);
        let types = extensions(&seen.lock().unwrap().whole()[0]);
        assert!(types.contains(&KEY_SHARE), "{types:?}");
        assert_eq!(types.contains(&PRE_SHARED_KEY), resumed, "{types:?}");
        both.0.close().await.unwrap();
        relaying.iter().for_each(|task| task.abort());
    }
}
