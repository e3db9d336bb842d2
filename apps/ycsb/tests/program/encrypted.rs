//! A workload over TLS, from the command line, and the refusal of plaintext.

use bertha_kvstore::{Options, Server, Shards};
use bertha_program::tls::ServerOptions;
use clap::Parser;
use std::path::Path;
use std::process::{Command, Output};

#[derive(Parser)]
struct Store {
    #[command(flatten)]
    encryption: ServerOptions,
}

/// Starts a store with two shards and these options.
fn store(options: &[&str]) -> Server {
    let options = Store::parse_from([&["store"], options].concat());
    let encryption = options.encryption.encryption().unwrap();
    Server::start(Options { shards: Shards::Local(2), encryption, ..Options::default() }).unwrap()
}

fn ycsb(server: &Server, options: &[&str]) -> Output {
    let workload = concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/workloada");
    let shards = server.map().shards().iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ycsb"));
    command.args(["run", "-P", workload, "-p", "recordcount=200", "-p", "operationcount=400"]);
    command.args(["--connections", "2", "--server", &server.addr().to_string()]);
    command.args(shards.iter().flat_map(|shard| ["--shard", shard]));
    command.args(options).output().unwrap()
}

fn write(directory: &Path, file: &str, text: &str) -> String {
    let path = directory.join(file);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_workload_runs_over_tls_and_plaintext_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let certificate = write(directory.path(), "cert.pem", &made.cert.pem());
    let key = write(directory.path(), "key.pem", &made.signing_key.serialize_pem());
    let strict = store(&["--tls-cert", &certificate, "--tls-key", &key, "--require-encryption"]);

    let told = ycsb(&strict, &["--tls-ca", &certificate, "--require-encryption"]);
    let (table, log) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success() && table.contains("Tls"), "{table}{log}");

    let plain = ycsb(&strict, &[]);
    let log = String::from_utf8_lossy(&plain.stderr);
    assert!(
        !plain.status.success() && log.contains("no stack suits both ends") && log.contains("Tls"),
        "{log}"
    );
    strict.stop().unwrap();

    let open = store(&[]);
    let plain = ycsb(&open, &[]);
    let (table, log) = (String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&plain.stderr));
    assert!(plain.status.success() && table.contains("Checksum"), "{table}{log}");
    let both = store(&["--tls-cert", &certificate, "--tls-key", &key]);
    for (options, chosen) in [(&["--tls-ca", &certificate][..], "Tls"), (&[], "Checksum")] {
        let told = ycsb(&both, options);
        let (table, log) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(told.status.success() && table.contains(chosen), "{table}{log}");
    }
    let strict = ycsb(&open, &["--tls-ca", &certificate, "--require-encryption"]);
    let log = String::from_utf8_lossy(&strict.stderr);
    assert!(
        !strict.status.success() && log.contains("no stack suits both ends") && log.contains("Tls"),
        "{log}"
    );
    let blind = ycsb(&open, &["--require-encryption"]);
    let log = String::from_utf8_lossy(&blind.stderr);
    assert!(!blind.status.success() && log.contains("--tls-ca"), "{log}");
}
