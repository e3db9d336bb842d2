//! Notes of Chunnels about a connection, as `explain` shows them.

use super::program::{Server, json, output};
use bertha::local::directory::Rules;
use bertha::local::directory::server::DirectoryServer;

/// Starts a directory, which runs as long as the test.
fn directory(path: std::path::PathBuf) {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = DirectoryServer::listen(path, Rules::new()).unwrap();
            tell.send(()).unwrap();
            server.serve().await
        })
    });
    told.recv().unwrap();
}

#[test]
fn explain_says_whether_memory_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("directory.sock");
    directory(socket.clone());
    let socket = socket.to_str().unwrap();
    let shared = ["--stack", "maybe-local", "--directory", socket];
    let server = Server::start("127.0.0.1:0", &shared);
    let explained = output(&[&["explain", &server.address][..], &shared].concat());
    assert!(explained.contains("noted:            MaybeLocal: shared memory\n"), "{explained}");
    let nowhere = folder.path().join("nowhere.sock");
    let alone = ["--stack", "maybe-local", "--directory", nowhere.to_str().unwrap(), "--json"];
    let explained = json(&output(&[&["explain", &server.address][..], &alone].concat()));
    let note = &explained["notes"][0];
    assert_eq!(note["chunnel"], "MaybeLocal", "{explained}");
    assert!(note["note"].as_str().unwrap().starts_with("no shared memory: "), "{explained}");
}
