//! Completions and manual pages.

use super::program::{failure, output};

#[test]
fn shells_get_completions_with_the_subcommands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = output(&["completion", shell]);
        for word in ["perf", "ping", "explain", "inspect", "parallel", "completion", "man"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn each_subcommand_has_a_manual_page() {
    assert!(output(&["man"]).contains(".TH bertha 1"));
    for subcommand in ["perf", "ping", "explain", "inspect"] {
        let page = output(&["man", subcommand]);
        assert!(page.contains(&format!(".TH bertha-{subcommand} 1")), "{page}");
        assert!(page.contains("Exit codes"), "{page}");
    }
    assert!(failure(&["man", "pong"]).contains("no subcommand `pong`"));
}
