//! The figure of a run.

use super::program::{Server, failure, output};
use std::path::Path;

const STACK: &str = "ordered,fragment,reliable";

/// Returns the arguments of a short run to `server` with a figure in `file`.
fn run<'a>(server: &'a Server, file: &'a str, stack: &'a str) -> Vec<&'a str> {
    vec!["perf", "-c", &server.address, "-u", "--stack", stack, "-t", "1", "--plot", file]
}

/// Returns the number of lines of a figure's quantities: axes are black, and lines of the legend are thicker.
fn drawn_lines(figure: &str) -> usize {
    let lines = figure.split("<polyline").skip(1).map(|line| line.split("/>").next().unwrap());
    lines.filter(|line| line.contains("stroke-width=\"1\"") && !line.contains("#000000")).count()
}

#[test]
fn the_window_of_each_connection_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flow.svg");
    let path = file.to_str().unwrap();
    // A longer file of an earlier run.
    std::fs::write(&file, "x".repeat(1 << 20)).unwrap();
    let server = Server::start("127.0.0.1:0", &["--udp", "--stack", STACK]);
    // The flows of an agent that is not there are controlled all the same.
    let control = format!("agent:copa@{}", folder.path().join("nobody").display());
    let arguments = [run(&server, path, STACK), vec!["-P", "2", "--congestion", &control]].concat();
    assert!(output(&arguments).contains(&format!("drawn: {path}")));
    let figure = std::fs::read_to_string(&file).unwrap();
    assert!(figure.starts_with("<svg") && figure.trim_end().ends_with("</svg>"), "{figure}");
    for text in ["Window (kB)", "Throughput (Mbit/s)", "Round-trip time (ms)", "connection 2", "agent:copa"] {
        assert!(figure.contains(text), "{text}: {figure}");
    }
    // The window, the throughput and the round-trip time of two connections.
    assert_eq!(drawn_lines(&figure), 6, "{figure}");
}

#[test]
fn a_figure_that_can_not_be_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start("127.0.0.1:0", &["--udp", "--stack", "nothing"]);
    let nowhere = failure(&run(&server, &path("nowhere/flow.svg"), STACK));
    assert!(nowhere.contains("--plot") && nowhere.contains("nowhere/flow.svg"), "{nowhere}");
    let bitmap = failure(&run(&server, &path("flow.png"), STACK));
    assert!(bitmap.contains("ends in .svg"), "{bitmap}");
    let flow = path("flow.svg");
    let receiver = failure(&[run(&server, &flow, STACK), vec!["--reverse"]].concat());
    assert!(receiver.contains("--plot") && receiver.contains("--reverse"), "{receiver}");
    let serves = failure(&["perf", "-s", "127.0.0.1:0", "--plot", &flow]);
    assert!(serves.contains("--plot") && serves.contains("--server"), "{serves}");
    assert!(!Path::new(&flow).exists(), "nothing was made for a wrong command line");
    let windowless = failure(&run(&server, &flow, "nothing"));
    assert!(windowless.contains("reliable") && windowless.contains("--plot"), "{windowless}");
}
