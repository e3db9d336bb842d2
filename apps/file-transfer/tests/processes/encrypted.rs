//! TLS from the command line, and the refusal of plaintext.

use crate::program::{Receiver, Scene, content, failure, program, sending, sha256, success};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::path::Path;

const LEN: usize = 300_001;

/// The files of an authority and of a certificate that it has signed.
pub(crate) struct Certified {
    pub(crate) authority: String,
    certificate: String,
    key: String,
}

impl Certified {
    /// Writes the files, for this name, with prefixed file names.
    pub(crate) fn write(directory: &Path, prefix: &str, name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, format!("authority of the {prefix}"));
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let signed = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
        let write = |file: &str, text: String| {
            let path = directory.join(format!("{prefix}-{file}"));
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        Self {
            authority: write("ca.pem", authority.pem()),
            certificate: write("cert.pem", signed.pem()),
            key: write("key.pem", key.serialize_pem()),
        }
    }

    pub(crate) fn shown(&self) -> [&str; 4] {
        ["--tls-cert", &self.certificate, "--tls-key", &self.key]
    }
}

fn arrives(scene: &Scene, receiver: &mut Receiver, sender: &[&str], name: &str, agreed: &str) {
    let path = scene.file(name, LEN, 1);
    let said = success(&sending(program(), &path, &receiver.addr, sender).output().unwrap());
    let digest = sha256(&content(LEN, 1));
    assert!(said.contains(&digest), "{said}");
    let kept = receiver.line();
    assert!(kept.contains(&digest) && kept.contains(agreed), "{kept}");
    assert!(std::fs::read(scene.received(name)).unwrap() == content(LEN, 1));
}

#[test]
fn a_file_travels_over_tls_on_each_datapath() {
    let scene = Scene::new();
    let server = Certified::write(&scene.here, "server", "127.0.0.1");
    let socket = format!("unix:{}", scene.here.join("socket").display());
    for (datapath, addr, agreed) in [
        ("udp", "127.0.0.1:0", "/ Tls / Ordered / Reliable, agreed"),
        ("tcp", "127.0.0.1:0", "/ Tls, agreed"),
        ("unix", &socket, "/ Tls / Ordered / Reliable, agreed"),
    ] {
        let common = ["--datapath", datapath, "--require-encryption"];
        let mut receiver = scene.receiver(addr, &[&server.shown()[..], &common].concat());
        let mut sender = vec!["--tls-ca", &server.authority];
        sender.extend(common);
        if datapath == "unix" {
            sender.extend(["--tls-name", "127.0.0.1"]);
        }
        arrives(&scene, &mut receiver, &sender, datapath, agreed);
    }
}

#[test]
fn plaintext_is_refused_when_told_to_and_taken_otherwise() {
    let scene = Scene::new();
    let server = Certified::write(&scene.here, "server", "127.0.0.1");
    let path = scene.file("plain", LEN, 1);
    let plain = ["--persistence", "0"];

    let strict = [&server.shown()[..], &["--require-encryption"]].concat();
    let receiver = scene.receiver("127.0.0.1:0", &strict);
    let refused = failure(&sending(program(), &path, &receiver.addr, &plain).output().unwrap());
    assert!(refused.contains("no stack suits both ends") && refused.contains("Tls"), "{refused}");

    let receiver = scene.receiver("127.0.0.1:0", &[]);
    let strict = ["--tls-ca", &server.authority, "--require-encryption", "--persistence", "0"];
    let refused = failure(&sending(program(), &path, &receiver.addr, &strict).output().unwrap());
    assert!(refused.contains("no stack suits both ends") && refused.contains("Tls"), "{refused}");

    let mut receiver = scene.receiver("127.0.0.1:0", &server.shown());
    arrives(&scene, &mut receiver, &plain, "both", "/ Reliable, agreed");
    let willing = ["--tls-ca", &server.authority];
    arrives(&scene, &mut receiver, &willing, "encrypted", "/ Tls / Ordered / Reliable, agreed");
}

#[test]
fn who_is_not_known_is_refused_with_the_reason() {
    let scene = Scene::new();
    let server = Certified::write(&scene.here, "server", "127.0.0.1");
    let client = Certified::write(&scene.here, "client", "alice");
    let path = scene.file("secret", LEN, 1);
    let receiver = [&server.shown()[..], &["--tls-ca", &client.authority, "--require-encryption"]].concat();
    let mut receiver = scene.receiver("127.0.0.1:0", &receiver);
    let send = |options: &[&str]| {
        let options = [options, &["--require-encryption", "--persistence", "0"]].concat();
        sending(program(), &path, &receiver.addr, &options).output().unwrap()
    };

    let stranger = failure(&send(&["--tls-ca", &client.authority]));
    assert!(stranger.contains("issuer") || stranger.contains("authority"), "{stranger}");
    let misnamed = failure(&send(&["--tls-ca", &server.authority, "--tls-name", "elsewhere.example"]));
    assert!(misnamed.contains("elsewhere.example"), "{misnamed}");
    let nameless = failure(&send(&["--tls-ca", &server.authority]));
    assert!(nameless.contains("certificate"), "{nameless}");

    let known = [&client.shown()[..], &["--tls-ca", &server.authority]].concat();
    success(&send(&known));
    assert!(receiver.line().contains("/ Tls / Ordered / Reliable, agreed"));
}
