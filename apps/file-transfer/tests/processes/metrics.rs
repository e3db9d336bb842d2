//! The metrics of a receiver.

use crate::program::{Scene, program, sending, success};
use bertha_tests::metrics::{Metered, judge, value};

#[test]
fn a_receiver_tells_the_files_and_bytes_that_it_has_received() {
    let scene = Scene::new();
    let path = scene.file("file", 100_000, 1);
    let mut command = program();
    command.arg("receive").arg(&scene.there).args(["--addr", "127.0.0.1:0"]);
    let mut receiver = Metered::start(&mut command);
    let ready = receiver.line();
    let addr = ready.trim().strip_prefix("file-transfer: ready at ").unwrap();
    success(&sending(program(), &path, addr, &[]).output().unwrap());
    receiver.value_becomes("bertha_connections_ended_total", 1);
    let metrics = receiver.scrape();
    judge(&metrics);
    let of = |series: &str| value(&metrics, series);
    assert_eq!(of("file_transfer_received_bytes_total"), Some(100_000.0));
    assert_eq!(
        (of("file_transfer_files_kept_total"), of("file_transfer_files_failed_total")),
        (Some(1.0), Some(0.0))
    );
    assert_eq!(of(&format!(r#"bertha_listener_accepted_total{{listener="{addr}"}}"#)), Some(1.0));
    assert!(of("bertha_reliable_packets_received_total") > Some(10.0), "{metrics}");
}
