//! The document for scripts.

use crate::top::scene::{Scene, top};
use std::os::unix::net::UnixListener;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_state_of_all_processes_is_printed_once() {
    let scene = Scene::new().await;
    let _silent = UnixListener::bind(scene.folder().join("silent-1.sock")).unwrap();
    let told = top(scene.folder()).arg("--json").output().unwrap();
    assert!(told.status.success(), "{told:?}");
    let document: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let [process] = &document["processes"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(
        (process["program"].as_str(), process["pid"].as_u64()),
        (Some("scene"), Some(std::process::id().into()))
    );
    let of_clients = process["connections"].as_array().unwrap().iter();
    let of_clients: Vec<_> = of_clients.filter(|it| it["peer"] == scene.server.to_string()).collect();
    assert_eq!(of_clients.len(), 2);
    assert_eq!(of_clients[0]["stack"], "Reliable");
    let reliable = &of_clients[0]["layers"][0];
    let sent = reliable["values"].as_array().unwrap().iter().find(|it| it["name"] == "packets_sent").unwrap();
    assert!(sent["kind"] == "total" && sent["value"].as_u64() >= Some(1), "{sent}");
    let unknown = &document["unknown"][0];
    assert!(unknown["reason"].as_str().unwrap().contains("silent-1.sock"), "{unknown}");
}

#[test]
fn without_a_terminal_the_screen_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = top(folder.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let log = String::from_utf8_lossy(&refused.stderr);
    assert!(log.contains("needs a terminal") && log.contains("--json"), "{log}");
    let empty = top(&folder.path().join("nothing")).arg("--json").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&empty.stdout), "{\"processes\":[],\"unknown\":[]}\n");
}
