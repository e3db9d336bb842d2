//! This process as a program that is observed.

use bertha::chunnels::Reliable;
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha::{Addr, Buf};
use bertha_observe::Observer;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A server and two clients of this process, which is observed under the name `scene`.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) server: Addr,
    _observer: Observer,
    _ends: Vec<Box<dyn std::any::Any + Send>>,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let observer = Observer::at(folder.path(), "scene").unwrap();
        let stack = || make_stack!(Reliable::new());
        let mut incoming = stack().listen(Udp::default(), ([127, 0, 0, 1], 0)).await.unwrap();
        let server = incoming.local_addr();
        let mut ends: Vec<Box<dyn std::any::Any + Send>> = Vec::new();
        for _ in 0..2 {
            let stack = stack();
            let connecting = stack.connect(Udp::default(), server.clone()).into_future();
            let (client, served) = tokio::join!(connecting, incoming.next());
            let (client, served) = (client.unwrap(), served.unwrap());
            client.send(Buf::copy_of(b"hello", 0).unwrap()).await.unwrap();
            served.recv().await.unwrap();
            ends.push(Box::new((client, served)));
        }
        ends.push(Box::new(incoming));
        Self { folder, server, _observer: observer, _ends: ends }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The command with the folder of a scene.
pub(crate) fn top(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha"));
    command.args(["top", "--folder"]).arg(folder);
    command
}
