//! A terminal by tmux.

use std::process::{Command, Output};
use std::time::Duration;
use tempfile::TempDir;

/// A terminal of 120 columns and 24 lines, which ends with the value.
pub(crate) struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// Opens a terminal with a shell; `None` if tmux is missing.
    ///
    /// # Panics
    /// Panics if tmux is missing and `CI` is `true`.
    pub(crate) fn open() -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "tmux is missing");
            eprintln!("SKIPPED: tests of the screen, since tmux is not installed");
            return None;
        }
        let terminal = Self { folder: tempfile::tempdir().unwrap() };
        terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "24", "env PS1='$ ' sh"]);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        let socket = self.folder.path().join("tmux");
        // Programs run by tmux get this environment, and no user's configuration.
        let output = tmux.arg("-S").arg(socket).args(["-f", "/dev/null"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Starts a command in the shell.
    pub(crate) fn run(&self, command: &Command) {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
        self.tmux(&["send-keys", "-l", &words.join(" ")]);
        self.key("Enter");
    }

    /// Presses a key, by tmux's name of it.
    pub(crate) fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Changes the size.
    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    /// Returns the text on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// Returns the text on the screen once it is as wanted.
    pub(crate) fn until(&self, wanted: impl Fn(&str) -> bool) -> String {
        for _ in 0..600 {
            let screen = self.screen();
            if wanted(&screen) {
                return screen;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the screen does not become as wanted:\n{}", self.screen());
    }

    /// Waits for a text. The rest of the screen may be drawn later.
    pub(crate) fn shows(&self, text: &str) {
        self.until(|screen| screen.contains(text));
    }

    /// Waits until all texts are on the screen at once: one that stands further up may be drawn before the others.
    pub(crate) fn shows_all(&self, texts: &[&str]) -> String {
        self.until(|screen| texts.iter().all(|text| screen.contains(text)))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ =
            Command::new("tmux").arg("-S").arg(self.folder.path().join("tmux")).arg("kill-server").output();
    }
}
