//! Clients of Redis, written by others, against whole stores.

#![allow(clippy::unwrap_used)]

mod any_bytes;
mod bytes;
mod clients;
mod corpus;
mod crowds;
#[cfg(feature = "dpdk")]
mod dpdk;
mod foreign;
mod large;
mod like_redis;
mod metrics;
mod odd_bytes;
mod program;
mod programs;
mod redis_server;
mod shards;
mod starting;
mod strangers;

use bertha_kvstore::resp::{RespAddr, Settings};
use bertha_kvstore::{Options, Server, Shards};
use std::net::SocketAddr;

/// A store that serves RESP over TCP and over a Unix socket.
struct Store {
    server: Server,
    folder: tempfile::TempDir,
}

impl Store {
    fn start(shards: u16) -> Self {
        Self::with(shards, Settings::default())
    }

    fn with(shards: u16, resp_settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let unix = format!("unix:{}/store.sock", folder.path().display());
        let resp = vec!["127.0.0.1:0".parse().unwrap(), unix.parse().unwrap()];
        let shards = Shards::Local(shards);
        let server = Server::start(Options { shards, resp, resp_settings, ..Options::default() }).unwrap();
        Self { server, folder }
    }

    fn tcp(&self) -> SocketAddr {
        match &self.server.resp_addrs()[0] {
            RespAddr::Kernel(addr) => addr.ip("test").unwrap(),
            other => panic!("{other}"),
        }
    }

    /// Returns the path of the Unix socket.
    fn unix(&self) -> String {
        format!("{}/store.sock", self.folder.path().display())
    }
}

/// Prints that a test did not take place.
#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
}
