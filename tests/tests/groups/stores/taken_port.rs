//! A server of tests does not start on a port that another program has taken.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

#[test]
fn a_server_does_not_start_on_a_port_that_is_taken() {
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let directory = std::env::temp_dir().join(format!("bertha-services-{}", std::process::id()));
    for (service, variable) in [("redis", "REDIS_PORT"), ("etcd", "ETCD_PORT")] {
        let output = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/services"))
            .args(["start", service])
            .env(variable, &port)
            .env("SERVICES_DIR", &directory)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("is taken by another program"), "{said}");
    }
}
