//! The interface of Gymnasium in lines of JSON: `reset` and `step` in, observations and rewards out.
//!
//! ```text
//! > {"reset": {"seed": 1}}
//! < {"observation": {"throughput": 0.0, "queue": 0.0, "lost": 0, "window": 10.0}}
//! > {"step": {"action": 120.0}}
//! < {"observation": {..}, "reward": 0.1, "terminated": false, "truncated": false}
//! ```
//!
//! An episode never terminates by itself; it is truncated after [`STEPS`]. The answer to a line that can't be
//! understood is `{"error": ".."}`, and the line changes nothing.

use crate::episode::episode;
use crate::observation::Observation;
use crate::path::STEPS;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    /// Begins an episode.
    Reset { seed: u64 },
    /// Sets the window to the action, in packets, and lets a step pass.
    Step { action: f64 },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Reply<'a> {
    Reset { observation: &'a Observation },
    Step { observation: &'a Observation, reward: f64, terminated: bool, truncated: bool },
    Error { error: String },
}

/// Serves until the end of the input.
///
/// # Errors
/// The errors of input and output, and of a simulated connection.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut lines = Lines { input, output };
    let mut next = lines.next()?;
    while let Some(request) = next {
        next = match request {
            Request::Reset { seed } => play(&mut lines, seed)?,
            Request::Step { .. } => lines.complain("no episode has begun: reset first")?,
        };
    }
    Ok(())
}

/// Plays an episode, and returns the request after it.
fn play<I: BufRead, O: Write>(lines: &mut Lines<I, O>, seed: u64) -> io::Result<Option<Request>> {
    let mut next = Ok(None);
    let mut steps = 0;
    let last = episode(seed, STEPS, |observation| {
        next = lines.answer(observation, steps);
        steps += 1;
        match next {
            Ok(Some(Request::Step { action })) if action.is_finite() => Some(action),
            _ => None,
        }
    });
    let last = last.map_err(io::Error::other)?;
    // An action that is no number ends the episode as well.
    match next {
        Ok(Some(Request::Step { action })) if action.is_finite() => lines.answer(&last, steps),
        other => other,
    }
}

struct Lines<I, O> {
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Lines<I, O> {
    /// Answers the last reset or step, and reads the next request.
    fn answer(&mut self, observation: &Observation, steps: usize) -> io::Result<Option<Request>> {
        let reward = observation.reward();
        self.write(&match steps {
            0 => Reply::Reset { observation },
            _ => Reply::Step { observation, reward, terminated: false, truncated: steps == STEPS },
        })?;
        self.next()
    }

    fn complain(&mut self, error: impl Into<String>) -> io::Result<Option<Request>> {
        self.write(&Reply::Error { error: error.into() })?;
        self.next()
    }

    fn write(&mut self, reply: &Reply<'_>) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }

    fn next(&mut self) -> io::Result<Option<Request>> {
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            match serde_json::from_str(&line) {
                Ok(request) => return Ok(Some(request)),
                Err(error) => self.write(&Reply::Error { error: error.to_string() })?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn replies(requests: &[&str]) -> Vec<Value> {
        let mut output = Vec::new();
        serve(requests.join("\n").as_bytes(), &mut output).unwrap();
        output.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    #[test]
    fn lines_reset_and_step() {
        let reset = r#"{"reset": {"seed": 1}}"#;
        let step = r#"{"step": {"action": 100.0}}"#;
        let requests = [step, "nonsense", reset, step, step, step, reset];
        let replies = replies(&requests);
        assert_eq!(replies.len(), requests.len(), "{replies:?}");
        assert!(replies[0]["error"].is_string() && replies[1]["error"].is_string());
        assert_eq!(replies[2]["observation"]["window"], 10.0);
        assert_eq!(replies[3]["observation"]["window"], 100.0);
        assert_eq!(replies[5]["observation"]["window"], 100.0);
        assert!(replies[5]["reward"].as_f64().unwrap() > replies[3]["reward"].as_f64().unwrap());
        assert_eq!(replies[2], replies[6], "an episode begins anew");
    }

    #[test]
    fn an_episode_is_truncated_at_its_end_and_then_needs_a_reset() {
        let mut requests = vec![r#"{"reset": {"seed": 1}}"#];
        requests.extend(std::iter::repeat_n(r#"{"step": {"action": 1.0}}"#, STEPS + 1));
        let replies = replies(&requests);
        assert_eq!(replies[STEPS - 1]["truncated"], false);
        assert_eq!(replies[STEPS]["truncated"], true);
        assert!(replies[STEPS + 1]["error"].is_string());
    }
}
