//! QUIC as the transport, and the agreement on it or on Bertha's own transport.

use crate::program::{Receiver, Scene, content, failure, program, sending, sha256, success};
use std::path::Path;

const LEN: usize = 3_000_001;

/// The options of a receiver that shows a certificate, and of senders that trust it.
struct Certified {
    receiver: [String; 4],
    sender: [String; 2],
}

/// Writes a certificate for the name that the program expects, and its key.
fn certify(directory: &Path) -> Certified {
    let made = rcgen::generate_simple_self_signed(["file-transfer".to_owned()]).unwrap();
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    Certified {
        receiver: ["--certificate".into(), certificate.clone(), "--key".into(), key],
        sender: ["--trust".into(), certificate],
    }
}

fn options<'a>(transport: &'a str, further: &'a [String]) -> Vec<&'a str> {
    ["--transport", transport].into_iter().chain(further.iter().map(String::as_str)).collect()
}

/// Checks that the file arrives whole, over the transport that both ends name.
fn arrives(scene: &Scene, receiver: &mut Receiver, sender: &[&str], name: &str, agreed: &str) {
    let path = scene.file(name, LEN, 1);
    let said = success(&sending(program(), &path, &receiver.addr, sender).output().unwrap());
    let digest = sha256(&content(LEN, 1));
    assert!(said.contains(&digest), "{said}");
    let kept = receiver.line();
    assert!(kept.contains(&digest) && kept.contains(agreed), "{kept}");
    assert!(std::fs::read(scene.received(name)).unwrap() == content(LEN, 1));
}

const BY_QUIC: &str = "/ Fragment / Quic, agreed";
const BY_RELIABLE: &str = "/ Fragment / Reliable, agreed";

#[test]
fn a_file_travels_over_quic() {
    let scene = Scene::new();
    let certified = certify(&scene.here);
    let mut receiver = scene.receiver("127.0.0.1:0", &options("quic", &certified.receiver));
    let sender = options("quic", &certified.sender);
    arrives(&scene, &mut receiver, &sender, "udp", BY_QUIC);
    let addr = format!("unix:{}", scene.here.join("socket").display());
    let unix = ["--datapath", "unix"];
    let mut receiver = scene.receiver(&addr, &[&options("quic", &certified.receiver)[..], &unix].concat());
    arrives(&scene, &mut receiver, &[&sender[..], &unix].concat(), "unix", BY_QUIC);
}

#[test]
fn over_a_bad_network() {
    let scene = Scene::new();
    let certified = certify(&scene.here);
    let bad = ["--lose", "0.02", "--delay", "2"];
    let at_receiver = [&options("either", &certified.receiver)[..], &bad].concat();
    let at_sender = [&options("either", &certified.sender)[..], &bad].concat();
    let mut receiver = scene.receiver("127.0.0.1:0", &at_receiver);
    arrives(&scene, &mut receiver, &at_sender, "file", "/ Fragment / Quic");
}

#[test]
fn two_ends_agree_on_what_both_have() {
    let scene = Scene::new();
    let certified = certify(&scene.here);
    let sender = options("either", &certified.sender);
    let mut receiver = scene.receiver("127.0.0.1:0", &options("either", &certified.receiver));
    arrives(&scene, &mut receiver, &sender, "both", BY_QUIC);
    arrives(&scene, &mut receiver, &options("quic", &certified.sender), "sender", BY_QUIC);
    // First the sender is without QUIC, and then the receiver.
    arrives(&scene, &mut receiver, &[], "sender without", BY_RELIABLE);
    let mut receiver = scene.receiver("127.0.0.1:0", &[]);
    arrives(&scene, &mut receiver, &sender, "receiver without", BY_RELIABLE);
    // A sender that insists on QUIC is refused.
    let path = scene.file("insists", 10, 1);
    let sender = options("quic", &certified.sender);
    let said = failure(&sending(program(), &path, &receiver.addr, &sender).output().unwrap());
    assert!(said.contains("refused"), "{said}");
}

#[test]
fn a_receiver_with_another_certificate_is_not_believed() {
    let scene = Scene::new();
    let certified = certify(&scene.here);
    let other = certify(&scene.there);
    let receiver = scene.receiver("127.0.0.1:0", &options("quic", &certified.receiver));
    let path = scene.file("file", 10, 1);
    let sender = options("quic", &other.sender);
    let said = failure(&sending(program(), &path, &receiver.addr, &sender).output().unwrap());
    assert!(said.contains("unauthenticated"), "{said}");
    assert!(!scene.received("file").exists());
}

#[test]
fn over_a_stream_there_is_no_choice() {
    let scene = Scene::new();
    let path = scene.file("file", 10, 1);
    let options = ["--datapath", "tcp", "--transport", "quic"];
    let said = failure(&sending(program(), &path, "127.0.0.1:1", &options).output().unwrap());
    assert!(said.contains("--transport is for datagrams"), "{said}");
}
