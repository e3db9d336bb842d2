//! The screen.

use crate::top::scene::{Scene, top};
use crate::top::terminal::Terminal;
use bertha_observe::Observer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_listed_sorted_filtered_and_shown_in_detail() {
    let Some(terminal) = Terminal::open() else { return };
    let scene = Scene::new().await;
    let mut command = top(scene.folder());
    terminal.run(command.args(["--interval", "0.1", "--sort", "peer"]));

    let server = scene.server.to_string();
    let listens = format!("scene listens at {server}: 2 open, 2 accepted, 0 refused");
    let list = terminal.shows_all(&["bertha top: 1 process, 4 connections", &listens, "q quit"]);
    let of_clients = list.lines().filter(|line| line.contains("Reliable") && line.contains(&server));
    assert_eq!(of_clients.count(), 2, "{list}");
    // After the second look there are rates.
    terminal.until(|screen| screen.lines().any(|line| line.contains("Reliable") && line.contains(" 0 ")));

    terminal.key("/");
    for key in ["n", "o", "n", "e"] {
        terminal.key(key);
    }
    terminal.until(|screen| {
        screen.contains("filter: none_") && screen.contains("0 shown") && !screen.contains("Reliable")
    });
    for _ in 0..4 {
        terminal.key("BSpace");
    }
    terminal.until(|screen| screen.contains("filter: _") && screen.contains("Reliable"));
    terminal.key("Enter");

    terminal.key("Down");
    terminal.key("Enter");
    terminal.shows_all(&["agreed as", "of scene (process", "peer        ", "Reliable", "packets sent"]);
    for _ in 0..12 {
        terminal.key("j");
    }
    terminal.until(|screen| screen.contains("Link") && !screen.contains("of scene (process"));
    terminal.key("Escape");
    terminal.shows("bertha top: 1 process");
    // Any size of the terminal will do.
    for (columns, lines) in [(20, 3), (1, 1), (200, 50)] {
        terminal.resize(columns, lines);
    }
    terminal.shows("s sort");
    terminal.key("p");
    terminal.shows("stopped");
    terminal.key("q");
    // The shell has a new line, and obeys. Keys that are pressed before may be lost with the program that ends. The news of
    // the last size may reach the shell in its place, which then writes its prompt once more.
    terminal.until(|screen| {
        let last = screen.trim_end().lines().last().unwrap_or_default();
        last.starts_with('$') && last.split(' ').all(|word| matches!(word, "$" | ""))
    });
    terminal.run(std::process::Command::new("echo").arg("back again"));
    terminal.until(|screen| screen.lines().any(|line| line.trim_start_matches("$ ") == "back again"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_a_program_moves_no_cursor_and_an_end_is_shown() {
    let Some(terminal) = Terminal::open() else { return };
    let folder = tempfile::tempdir().unwrap();
    let observer = Observer::at(folder.path(), "evil\u{1b}[2J\u{9b}31m\n").unwrap();
    let incoming = {
        use bertha::prelude::*;
        bertha::chunnels::Nothing.listen(bertha::kernel::Udp::default(), ([127, 0, 0, 1], 0)).await.unwrap()
    };
    terminal.run(top(folder.path()).args(["--interval", "0.1"]));
    terminal.shows_all(&[r"evil\u{1b}[2J\u{9b}31m\n listens at", "1 process"]);
    drop((incoming, observer));
    terminal.shows("0 processes, 0 connections; start a program with --observe");
    terminal.key("C-c");
    terminal.until(|screen| !screen.contains("bertha top: "));
}
