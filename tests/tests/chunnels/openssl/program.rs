//! Programs that run beside a test.

use bertha_tests::skip;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a program has failed to do its work.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Returns true if the program is installed, and reports that the test is skipped if not.
pub(crate) fn is_there(program: &str, version: &str) -> bool {
    let found = Command::new(program).arg(version).output().is_ok_and(|output| output.status.success());
    if !found {
        skip(&format!("{program} is not installed; scripts/test installs it"));
    }
    found
}

/// Returns the output of a program that ends by itself.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// A running `openssl`, which ends with this value.
pub(crate) struct OpenSsl {
    child: Child,
    input: ChildStdin,
    said: Arc<Mutex<Vec<u8>>>,
}

impl OpenSsl {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let (output, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        listen(output, said.clone());
        listen(errors, said.clone());
        let input = child.stdin.take().unwrap();
        Self { child, input, said }
    }

    /// Sends these bytes through TLS.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
        self.input.flush().unwrap();
    }

    /// Waits until the program has written this text.
    pub(crate) fn says(&self, text: &str) {
        let deadline = Instant::now() + TIME_LIMIT;
        while !self.has_said(text) {
            let said = String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned();
            assert!(Instant::now() < deadline, "openssl did not say {text:?}, but {said}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.said.lock().unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(mut from: impl Read + Send + 'static, said: Arc<Mutex<Vec<u8>>>) {
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            said.lock().unwrap().extend_from_slice(&bytes[..read]);
        }
    });
}

/// Makes a blocking call on a thread outside of the runtime.
pub(crate) async fn aside<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(call).await.unwrap()
}
